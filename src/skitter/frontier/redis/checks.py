"""What is checked before a store is used; each fault is one line that says what to do."""

import logging
import ssl
from typing import Any, Final

from redis.exceptions import InvalidResponse, ResponseError

from skitter.errors import ConfigError, SkitterError, StoreUnavailable
from skitter.frontier.redis.address import LAYOUT_VERSION, StoreAddress
from skitter.frontier.redis.keys import Keys
from skitter.frontier.redis.line import Line, Word, pack
from skitter.frontier.redis.outage import Means, judge, reason, said, tls_refusal
from skitter.frontier.redis.routes import Routes

OLDEST_VERSION: Final = 7
"""The first major version of Redis that has functions."""
_KEEPS_ALL = "noeviction"
_TOO_OLD = f"is older than Redis {OLDEST_VERSION}.0, which Skitter needs; update it"
_HAS_RIGHTS = ("ERR Missing library meta", "ERR Function not found")
_REFUSALS = {
    "DENIED": "is in protected mode and takes no clients from here; set a password there",
    "NOAUTH": "wants a password; write redis://user:password@host into the store's URL",
    "without any password configured": "has no password; leave it out of the store's URL",
    "WRONGPASS": "does not know this user and password; check the store's URL",
    "invalid password": "does not know this password; check the store's URL",
    "NOPERM": "does not let this user do what is needed; give it more rights there",
    "DB index is out of range": "does not have this database; check the end of the store's URL",
    "not allowed in cluster mode": "is a Cluster, which has no such database; name none",
    "unknown command": _TOO_OLD,
}
"""What to say by a part of what the server said."""

log = logging.getLogger(__name__)


async def check_store(address: StoreAddress, routes: Routes, *, warns: bool = True) -> None:
    """Find the servers of a store and refuse those that would lose or mix up what they are given.

    Raises ``StoreUnavailable`` when the store may be fine later, else ``ConfigError``. Unless it
    ``warns``, what may go wrong one day is not spoken of.
    """
    _check_ca(address)
    first, mode = await _first_answer(address, routes)
    shown = address.shown_at(first.place)
    if mode == "sentinel":
        raise ConfigError(f"store {shown} is a Sentinel; name the server it watches over")
    if mode == "cluster":
        await _find_cluster(address, routes)
    elif len(address.places) > 1:
        raise ConfigError(f"store {shown} is not part of a Cluster; name one host alone")
    safe = [await _check_server(address, line, warns=warns) for line in routes.masters()]
    if warns and not all(safe):
        log.warning(
            "store %s has neither an append-only file nor a replica: the crawl is lost when it"
            " stops; set appendonly yes there, or add a replica",
            address.shown,
        )
    await _check_contents(address, routes)


def _check_ca(address: StoreAddress) -> None:
    if not address.ca:
        return
    try:
        ssl.create_default_context(cafile=address.ca)
    except OSError as error:
        raise ConfigError(
            f"store {address.shown}: cannot read {address.ca} as a file of certificates"
            f" ({error.strerror or error}); check ?ca= in the store's URL"
        ) from None


async def _first_answer(address: StoreAddress, routes: Routes) -> tuple[Line, str]:
    """Return the line to the first server that answers, and in which mode it runs."""
    for place in address.places:
        line = routes.line(place)
        [answer] = await _ask(line, ["HELLO", 2])
        if not isinstance(answer, Exception):
            return line, _pairs(answer).get("mode", "")
        if judge(answer).means is not Means.WAIT:
            raise refusal(address.shown_at(place), answer)
    raise refusal(address.shown, answer)


async def _find_cluster(address: StoreAddress, routes: Routes) -> None:
    if address.db:
        raise ConfigError(
            f"store {address.shown} is a Cluster, which has no database {address.db};"
            " end the store's URL after the port"
        )
    routes.become_cluster()
    if not await routes.refresh() or not routes.whole():
        raise StoreUnavailable(
            f"store {address.shown} is a Cluster that does not serve all hash slots;"
            " see CLUSTER INFO there"
        )


async def _check_server(address: StoreAddress, line: Line, *, warns: bool) -> bool:
    """Refuse a server that cannot be used; tell whether it keeps what it has."""
    shown = address.shown_at(line.place)
    hello, config, info, *rights = await _ask(
        line,
        ["HELLO", 2],
        ["CONFIG", "GET", "maxmemory*"],
        ["INFO"],
        ["FUNCTION", "LOAD", ""],
        ["FCALL", "skitter_absent", 0],
    )
    if isinstance(hello, Exception):
        raise refusal(shown, hello)
    facts = _pairs(hello)
    major = facts.get("version", "").partition(".")[0]
    if major.isdigit() and int(major) < OLDEST_VERSION:
        raise ConfigError(f"store {shown} {_TOO_OLD}")
    if facts.get("role", "master") != "master":
        raise ConfigError(f"store {shown} is a read-only replica; name its master")
    for answer in rights:
        if not said(answer).startswith(_HAS_RIGHTS) and judge(answer).means is not Means.WAIT:
            raise refusal(shown, answer)
    memory = _facts(info) if isinstance(config, Exception) else _pairs(config)
    _check_memory(shown, memory, warns=warns)
    return isinstance(info, Exception) or keeps(info)


def _facts(info: bytes | Exception) -> dict[str, str]:
    """Return what INFO tells of a server, under the names of its settings.

    Who rents a server may not read its settings, but sees here what it does when it is full.
    """
    if isinstance(info, Exception):
        return {}
    rows = (line.partition(":") for line in info.decode(errors="replace").splitlines())
    return {name.replace("_", "-"): value for name, _, value in rows}


def _check_memory(shown: str, config: dict[str, str], *, warns: bool) -> None:
    policy = config.get("maxmemory-policy", _KEEPS_ALL)
    if policy == _KEEPS_ALL:
        return
    if config.get("maxmemory", "0") != "0":
        raise ConfigError(
            f"store {shown} throws keys away when it is full (maxmemory-policy {policy});"
            f" set maxmemory-policy {_KEEPS_ALL} there"
        )
    if warns:
        log.warning(
            "store %s has maxmemory-policy %s: with a maxmemory it would throw keys away;"
            " set maxmemory-policy %s there",
            shown,
            policy,
            _KEEPS_ALL,
        )


def keeps(info: bytes) -> bool:
    """Tell by its INFO whether a server keeps what it has when it stops."""
    lines = info.split()
    # A server that reads its file has not switched it on yet.
    return b"loading:1" in lines or b"aof_enabled:1" in lines or b"connected_slaves:0" not in lines


async def _check_contents(address: StoreAddress, routes: Routes) -> None:
    """Refuse a namespace whose data this version does not understand, or must not read."""
    meta = Keys(address.namespace).meta
    line = routes.line_for(meta)
    assert line is not None
    [version] = await _ask(line, ["HGET", meta, "version"])
    if isinstance(version, ResponseError) and said(version).startswith("WRONGTYPE"):
        version = b"?"
    elif isinstance(version, Exception):
        raise refusal(address.shown_at(line.place), version)
    if version not in {None, b"%d" % LAYOUT_VERSION}:
        raise ConfigError(
            f"store {address.shown} has data of version {version.decode(errors='replace')} under"
            f" namespace {address.namespace!r}, and this Skitter understands {LAYOUT_VERSION};"
            " use that version of Skitter, or another ?namespace="
        )


def refusal(shown: str, error: Exception) -> SkitterError:
    """Return the error to raise for a server that cannot be used, with what to do about it."""
    text = said(error)
    if why := tls_refusal(error):
        return ConfigError(f"store {shown} is not trusted ({why}); {_tls_advice(why)}")
    for part, words in _REFUSALS.items():
        if part in text:
            told = f" ({text})" if part == "NOPERM" else ""
            return ConfigError(f"store {shown} {words}{told}")
    if isinstance(error, InvalidResponse):
        return ConfigError(f"store {shown} does not speak Redis's language; check the address")
    verdict = judge(error)
    if verdict.means is not Means.WAIT:
        return ConfigError(f"store {shown}: {text}")
    if getattr(error, "status_code", None):
        return StoreUnavailable(f"store {shown} {verdict.words}; try again later")
    why = reason(error)
    hint = ""
    if "refused" not in why and "not known" not in why:
        other = "redis:// without" if shown.startswith("rediss:") else "rediss:// with"
        hint = f" (it is {other} TLS)"
    return StoreUnavailable(
        f"store {shown} {verdict.words} ({why}); start Redis there or check the address{hint}"
    )


def _tls_advice(why: str) -> str:
    if "WRONG_VERSION" in why or "RECORD_LAYER" in why:
        return "it may not speak TLS there; try redis://"
    return "name the file of its certificate authority with ?ca=FILE, or check the host's name"


async def _ask(line: Line, *commands: list[Word]) -> list[Any]:
    return await line.ask([pack(command) for command in commands])


def _pairs(answer: list[Any]) -> dict[str, str]:
    """Return a flat list of names and values as a mapping, but for values that are no texts."""
    pairs = zip(answer[::2], answer[1::2], strict=True)
    return {name.decode(): value.decode() for name, value in pairs if isinstance(value, bytes)}
