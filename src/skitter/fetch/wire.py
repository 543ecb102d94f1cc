"""What goes over the wire as text: the origin of a URL, a request's head, a response's headers."""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import quote, quote_from_bytes

from multidict import CIMultiDictProxy

from skitter.errors import FetchError, UrlError
from skitter.url.parse import parse_http

_ORIGIN: Final = re.compile(
    r"(?P<scheme>https?)://(?:[^/]*@)?"
    r"(?P<authority>(?P<host>\[[0-9a-fA-F:.]+\]|[^\s/?#@:\[\]]+)(?::(?P<port>\d{1,5}))?)"
)
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_UNSENDABLE: Final = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]")
_ASCII: Final = "".join(map(chr, range(128)))
_MAX_ORIGINS: Final = 10_000


class Origin:
    """Scheme, host and port of a URL. One object stands for one origin while it is remembered."""

    __slots__ = ("authority", "host", "port", "tls")

    def __init__(self, *, tls: bool, host: str, port: int, authority: str) -> None:
        self.tls = tls
        self.host = host
        """Without the brackets of an IPv6 address."""
        self.port = port
        self.authority = authority.encode("ascii")
        """The Host header."""


class Origins:
    """Splits URLs, remembering the origins seen of late."""

    def __init__(self) -> None:
        self._known: dict[str, Origin] = {}

    def split(self, url: str) -> tuple[Origin, bytes]:
        """Return a URL's origin and request target; a URL that has none raises ``FetchError``."""
        end = url.find("/", 8)
        origin = self._known.get(url[:end]) if end > 0 else None
        if origin is None:
            try:
                plain = parse_http(url)
            except UrlError as exc:
                raise FetchError(url, exc.why) from exc
            end = plain.index("/", 8)
            origin = self._learn(plain[:end], url)
            url = plain
        target = url[end:]
        if "#" in target:
            target = target[: target.index("#")]
        if not (target.isascii() and target.isprintable()) or " " in target:
            target = quote(target, safe="%/:=&?~+!$,;'@()*[]")
        return origin, target.encode("ascii")

    def _learn(self, prefix: str, url: str) -> Origin:
        match = _ORIGIN.fullmatch(prefix)
        if match is None or not (prefix.isascii() and prefix.isprintable()):
            raise FetchError(url, "the host cannot be connected to")
        tls = match["scheme"] == "https"
        port = int(match["port"] or (443 if tls else 80))
        if not 0 < port < 65536:
            raise FetchError(url, f"port {port} cannot be connected to")
        if len(self._known) >= _MAX_ORIGINS:
            self._known.clear()
        origin = Origin(
            tls=tls, host=match["host"].strip("[]"), port=port, authority=match["authority"]
        )
        self._known[prefix] = origin
        return origin


class RequestHead:
    """Writes request heads from default headers and those of one request."""

    def __init__(self, defaults: Mapping[str, str]) -> None:
        self._defaults = dict(defaults)
        self._tail = _lines("", self._defaults)

    def write(self, origin: Origin, target: bytes, url: str, headers: Mapping[str, str]) -> bytes:
        """Return the bytes of a GET; a header that cannot be sent raises ``FetchError``."""
        tail = self._tail
        if headers:
            own = {name.lower() for name in headers}
            kept = {k: v for k, v in self._defaults.items() if k.lower() not in own}
            tail = _lines(url, {**kept, **headers})
            if "host" in own:
                return b"GET %b HTTP/1.1\r\n%b" % (target, tail)
        return b"GET %b HTTP/1.1\r\nHost: %b\r\n%b" % (target, origin.authority, tail)


def _lines(url: str, headers: Mapping[str, str]) -> bytes:
    lines = []
    for name, value in headers.items():
        # The value may be a secret: only the name may be told.
        if not _TOKEN.fullmatch(name):
            raise FetchError(url, f"the request header name {name[:40]!r} cannot be sent")
        if _UNSENDABLE.search(value):
            raise FetchError(url, f"the value of request header {name!r} cannot be sent")
        lines.append(f"{name}: {value}\r\n".encode())
    return b"".join(lines) + b"\r\n"


def plain_headers(raw: CIMultiDictProxy[str]) -> dict[str, str]:
    """Return headers by lower-case name, as text that can be written as UTF-8.

    The parser marks bytes that are not UTF-8 with lone surrogates, which no file takes.
    """
    plain: dict[str, str] = {}
    for name, value in raw.items():
        key = name.lower()
        if not value.isascii():
            value = _readable(key, value)
        if key in plain:
            if key != "location":
                plain[key] = f"{plain[key]}, {value}"
        elif key.isascii():
            plain[key] = value
    return plain


def _readable(key: str, value: str) -> str:
    if key == "location":
        return quote_from_bytes(value.encode("utf-8", "surrogateescape"), safe=_ASCII)
    return readable(value)


def readable(value: str) -> str:
    """Return a field value as text that can be written as UTF-8."""
    as_sent = value.encode("utf-8", "surrogateescape")
    try:
        return as_sent.decode("utf-8")
    except UnicodeDecodeError:
        # RFC 9110 §5.5: historically, field values were ISO-8859-1.
        return as_sent.decode("latin-1")
