"""Which hosts a setting is for.

| pattern | hosts |
|---|---|
| ``www.a.com:8080`` | that host on that port |
| ``www.a.com`` | that host on any port |
| ``*.a.com`` | every host under a.com, but not a.com itself |
| ``.a.com`` | a.com and every host under it |
| ``*`` | all |

Of the patterns that cover a host the narrowest counts: of two, one always covers less than the
other. So they can be asked for one after the other, and none has to be searched.
"""

import re
from collections.abc import Iterator

from skitter.errors import ConfigError, UrlError
from skitter.types import HostKey
from skitter.url.domain import is_address
from skitter.url.host import host_key, host_name
from skitter.url.parse import parse_http

EVERY = "*"
_WANTED = 'wanted a host ("www.a.com"), the hosts under a domain ("*.a.com", ".a.com") or "*"'
_FOREIGN = re.compile(r"[\s/\\?#@%]")
_USUAL_PORT = re.compile(r":(80|443)$")


def parse_pattern(text: str) -> str:
    """Return a pattern in the one spelling it has in the table."""
    given = text.strip()
    if given == EVERY:
        return EVERY
    for sign in ("*.", "."):
        if given.startswith(sign):
            return sign + _domain(given, given[len(sign) :])
    return _host(given, given)


def _host(given: str, name: str) -> HostKey:
    if _FOREIGN.search(name):
        raise _bad(given, "that is no host")
    if "*" in name:
        raise _bad(given, 'a "*" stands alone, or before the first dot')
    # A usual port is not part of a host's name: http and https share it.
    name = _USUAL_PORT.sub("", name)
    try:
        host = host_key(parse_http(f"http://{name}/"))
    except UrlError as error:
        raise _bad(given, "that is no host") from error
    if "" in host_name(host).split("."):
        raise _bad(given, "that is no host")
    return host


def _domain(given: str, name: str) -> str:
    host = _host(given, name)
    if is_address(host_name(host)):
        raise _bad(given, "nothing is under an address")
    if host_name(host) != host:
        raise _bad(given, "a port goes with one host; without it, all ports are meant")
    return host


def _bad(given: str, why: str) -> ConfigError:
    return ConfigError(f"pattern {given!r}: {why}; {_WANTED}")


def patterns_of(host: HostKey) -> Iterator[str]:
    """Yield every pattern that covers a host, the narrowest first."""
    name = host_name(host)
    if name != host:
        yield host
    yield name
    if not is_address(name):
        yield f".{name}"
        at = name.find(".")
        while at >= 0:
            yield f"*{name[at:]}"
            yield name[at:]
            at = name.find(".", at + 1)
    yield EVERY


def wider_patterns(pattern: str) -> Iterator[str]:
    """Yield a pattern and those that cover all it covers, the narrowest first."""
    if pattern == EVERY:
        yield EVERY
    elif pattern.startswith("*."):
        # Any one host under the domain shows what covers them all.
        yield from _from(pattern, HostKey("x" + pattern[1:]))
    else:
        yield from _from(pattern, HostKey(pattern.removeprefix(".")))


def _from(first: str, host: HostKey) -> Iterator[str]:
    reached = False
    for pattern in patterns_of(host):
        reached = reached or pattern == first
        if reached:
            yield pattern


def covers(pattern: str, host: HostKey) -> bool:
    """Tell whether a pattern is for a host."""
    if pattern in (EVERY, host):
        return True
    name = host_name(host)
    if pattern.startswith("*."):
        return name.endswith(pattern[1:]) and not is_address(name)
    if pattern.startswith("."):
        return (name.endswith(pattern) or name == pattern[1:]) and not is_address(name)
    return pattern == name


def glob_of(pattern: str) -> str:
    """Return what all hosts of a pattern are like, and maybe some others, as Redis spells it."""
    if pattern == EVERY:
        return EVERY
    bare = re.sub(r"([\[\]?\\])", r"\\\1", pattern.lstrip("*."))
    return f"*{bare}*" if pattern[0] in "*." else f"{bare}*"
