"""Where a store is: its URL, taken apart.

``redis://[user[:password]@]host[:port][,host[:port]...][/db][?namespace=NAME&ca=FILE]``, and
``rediss://`` for TLS. Several hosts are nodes of one Cluster to start from. User and password are
percent-encoded. No message shows a password.
"""

import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple, Self
from urllib.parse import parse_qsl, unquote

from skitter.errors import ConfigError

LAYOUT_VERSION: Final = 1
"""The version of the keys and values in a store; another one is not touched."""
DEFAULT_NAMESPACE: Final = "skitter"
DEFAULT_PORT: Final = 6379

_SCHEMES = {"redis": False, "rediss": True}
_NAMESPACE = re.compile(r"[A-Za-z0-9._-]{1,64}")
_HOST = re.compile(r"[A-Za-z0-9._-]+")
_IPV6 = re.compile(r"[0-9A-Fa-f:.]+(%[A-Za-z0-9._-]+)?")
_WANTED = "redis://[user:password@]host[:port][/db][?namespace=NAME]"


class Place(NamedTuple):
    """Host and port of one server."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True, slots=True)
class StoreAddress:
    """One store: its servers, who asks them, and under which namespace."""

    places: tuple[Place, ...]
    user: str = ""
    password: str = field(default="", repr=False)
    db: int = 0
    tls: bool = False
    ca: str = ""
    """A file of certificates to trust beside those of the system."""
    namespace: str = DEFAULT_NAMESPACE

    @classmethod
    def parse(cls, url: str) -> Self:
        """Read a store's URL; raises ``ConfigError`` naming what is wrong with it."""
        try:
            return cls._read(url)
        except ValueError as error:
            raise ConfigError(f"store {without_password(url)!r}: {error}") from None

    @classmethod
    def _read(cls, url: str) -> Self:
        scheme, colon, rest = url.strip().partition("://")
        if not colon or scheme.lower() not in _SCHEMES:
            raise ValueError(f"not a store's URL; wanted {_WANTED}, or rediss:// for TLS")
        rest, _, query = rest.partition("?")
        authority, _, path = rest.partition("/")
        login, at, hosts = authority.rpartition("@")
        if "@" in path or "@" in query:
            raise ValueError("write @ as %40, / as %2F and ? as %3F within user and password")
        user, _, password = login.partition(":") if at else ("", "", "")
        options = _options(query)
        tls = _SCHEMES[scheme.lower()]
        if "ca" in options and not tls:
            raise ValueError("ca is for TLS; write rediss://")
        return cls(
            places=tuple(_place(host) for host in hosts.split(",")),
            user=unquote(user),
            password=unquote(password),
            db=_db(path),
            tls=tls,
            ca=options.get("ca", ""),
            namespace=options.get("namespace", DEFAULT_NAMESPACE),
        )

    @property
    def shown(self) -> str:
        """The URL without password, for messages."""
        login = f"{self.user}@" if self.user else ""
        hosts = ",".join(map(str, self.places))
        return f"{self._scheme}://{login}{hosts}/{self.db or ''}"

    def shown_at(self, place: Place) -> str:
        """Return how messages name one server of the store."""
        return self.shown if self.places == (place,) else f"{self._scheme}://{place}/"

    @property
    def _scheme(self) -> str:
        return "rediss" if self.tls else "redis"


def without_password(url: str) -> str:
    """Return a URL, however broken, without what may be a password."""
    before, at, hosts = url.rpartition("@")
    scheme, slashes, login = before.rpartition("://") if at else url.rpartition("://")
    user, colon, _ = login.partition(":")
    if at:
        return f"{scheme}{slashes}{user if colon else '***'}@{hosts}"
    return f"{scheme}{slashes}***" if colon and not user else url


def _place(text: str) -> Place:
    if text.startswith("["):
        host, bracket, port = text[1:].partition("]")
        if not bracket or not _IPV6.fullmatch(host) or (port and not port.startswith(":")):
            raise ValueError(f"{text!r} is not an IPv6 address in brackets, with or without port")
        port = port[1:]
    else:
        host, _, port = text.partition(":")
        if ":" in port:
            raise ValueError(f"put the IPv6 address in brackets: [{text}]")
        if not _HOST.fullmatch(host):
            raise ValueError(f"{host!r} is not a host" if host else "it names no host")
    return Place(host, _port(port) if port else DEFAULT_PORT)


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit()) or not 0 < int(text) < 65_536:
        raise ValueError(f"port {text!r} is not a number from 1 to 65535")
    return int(text)


def _db(path: str) -> int:
    if path and not (path.isascii() and path.isdigit()):
        raise ValueError(f"database {path!r} is not a number")
    return int(path or 0)


def _options(query: str) -> dict[str, str]:
    options = dict(parse_qsl(query, keep_blank_values=True))
    for name, value in options.items():
        if name not in {"namespace", "ca"}:
            raise ValueError(f"{name!r} is not an option; there are namespace and ca")
        if name == "namespace" and not _NAMESPACE.fullmatch(value):
            raise ValueError(
                f"namespace {value!r} is not 1 to 64 letters, digits, dots, dashes and underscores"
            )
        if not value:
            raise ValueError(f"{name} is empty")
    return options
