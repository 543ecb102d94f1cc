"""WHATWG URL parsing and serialisation, on Servo's parser.

``parse`` takes any scheme; what is crawled goes through ``parse_http`` or a ``Base``. Where the
parser and the URL standard differ for http and https, the standard is followed here:

- more than two slashes or backslashes before a relative link's host are read as two (§4.4,
  special authority ignore slashes state);
- an ASCII host is taken as it stands, whatever its "xn--" labels decode to (§3.3);
- "^" is percent-encoded in a path (§1.3).

A lone surrogate reads as U+FFFD, as in the standard's scalar value strings.
"""

import re
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from url import URL, IdnaError, URLError

from skitter.errors import InvalidUrl, UnsupportedScheme
from skitter.url.host import host_key, origin
from skitter.url.query_encoding import encode_query, query_codec

_HTTP = ("http://", "https://")
_SPECIAL = frozenset(("http", "https", "ws", "wss", "ftp"))
_STRIPPED = "".join(map(chr, range(0x21)))
_REMOVED = str.maketrans("", "", "\t\n\r")
_MANY_SLASHES = re.compile(r"\A[/\\]{3,}")
_AUTHORITY = re.compile(
    r"((?:[A-Za-z][A-Za-z0-9+.-]*:)?[/\\]*(?:[^/\\?#]*@)?)([^/\\?#:@]+)(.*)", re.DOTALL
)
# Everything printable that is not a forbidden domain code point (WHATWG URL §3.2).
_ASCII_HOST = re.compile(r"[!\"$&'()*+,\-.0-9;=A-Z_`a-z{}~]+")
_PUNYCODE_LABEL = re.compile(r"(?<![^.])xn--")
_PATH_START = re.compile(r"[a-z][a-z0-9+.-]*:(?://[^/?#]*)?(?=/)")
_PATH_END = re.compile(r"[?#]|\Z")
_TRAILING_SPACE = re.compile(r"\A([^?#]*) (?=[?#])")


class _Mask(NamedTuple):
    """A host the parser refuses, and the stand-in it was given."""

    stand_in: str
    host: str

    def lift(self, href: str) -> str:
        """Put the real host back into a serialised URL if that has the stand-in."""
        scheme = href.partition(":")[0]
        if scheme not in _SPECIAL:
            return href
        start = len(scheme) + len("://")
        end = href.find("/", start)
        at = href.rfind("@", start, end) + 1 or start
        if not href.startswith(self.stand_in, at):
            return href
        return f"{href[:at]}{self.host}{href[at + len(self.stand_in) :]}"


def parse(text: str, base: str | None = None) -> str:
    """Return the WHATWG serialisation of ``text``, resolved against ``base``.

    Raises ``InvalidUrl`` when either cannot be parsed.
    """
    if base is None:
        return _serialise(*_read_or_refuse(text, None))
    base_url, base_mask = _read_or_refuse(base, None)
    parsed, mask = _read_or_refuse(text, base_url)
    return _serialise(parsed, mask or base_mask)


def parse_http(text: str, base: str | None = None) -> str:
    """Return the serialisation of an http or https URL; others raise ``UnsupportedScheme``."""
    return _http_only(text, parse(text, base))


class Base:
    """A parsed http(s) base URL that many links are joined to.

    ``encoding`` is the label of the page's encoding, which browsers use for the query of a link.
    """

    __slots__ = ("_codec", "_join", "_mask", "_parsed", "host", "prefix", "url")

    def __init__(self, url: str, encoding: str | None = None) -> None:
        self._parsed, self._mask = _read_or_refuse(url, None)
        self.url = _http_only(url, _serialise(self._parsed, self._mask))
        self.host = host_key(self.url)
        self.prefix = f"{origin(self.url)}/"
        self._codec = query_codec(encoding)
        self._join = self._parsed.join

    def join(self, href: str) -> str | None:
        """Return ``href`` resolved and serialised; None when it is no http or https URL."""
        if self._codec is not None and not href.isascii():
            href = encode_query(href, self._codec)
        try:
            joined = str(self._join(href))
        except (URLError, UnicodeEncodeError):
            return self._join_hard(href)
        if self._mask is not None or "^" in joined:
            return self._join_hard(href)
        return joined if joined.startswith(_HTTP) else None

    def _join_hard(self, href: str) -> str | None:
        try:
            parsed, mask = _read(href, self._parsed)
        except URLError:
            return None
        joined = _serialise(parsed, mask or self._mask)
        return joined if joined.startswith(_HTTP) else None


def _http_only(text: str, href: str) -> str:
    if not href.startswith(_HTTP):
        raise UnsupportedScheme(text, f"{href.partition(':')[0]} is not http or https")
    return href


def _read_or_refuse(text: str, base: URL | None) -> tuple[URL, _Mask | None]:
    try:
        return _read(text, base)
    except URLError as exc:
        raise InvalidUrl(text, str(exc)) from exc


def _read(text: str, base: URL | None) -> tuple[URL, _Mask | None]:
    """Parse ``text``, with a mask when its host had to be hidden from the parser."""
    if not text.isascii():
        text = _scalar(text)
    if base is not None and base.scheme in _SPECIAL and text.lstrip(_STRIPPED)[:1] in ("/", "\\"):
        text = _MANY_SLASHES.sub("//", text.strip(_STRIPPED).translate(_REMOVED), count=1)
    try:
        return URL.parse(text, base), None
    except IdnaError:
        masked = _masked(text)
        if masked is None:
            raise
        text, mask = masked
        return URL.parse(text, base), mask


def _scalar(text: str) -> str:
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _masked(text: str) -> tuple[str, _Mask] | None:
    """Give the ASCII host of ``text`` labels that the parser does not look into."""
    match = _AUTHORITY.fullmatch(text.strip(_STRIPPED).translate(_REMOVED))
    if match is None:
        return None
    before, raw, after = match.groups()
    host = unquote_to_bytes(raw).decode("latin-1")
    if not _ASCII_HOST.fullmatch(host):
        return None
    host = host.lower()
    stand_in = _PUNYCODE_LABEL.sub("xq--", host)
    return f"{before}{stand_in}{after}", _Mask(stand_in, host)


def _serialise(parsed: URL, mask: _Mask | None) -> str:
    href = str(parsed)
    if mask is not None:
        href = mask.lift(href)
    if parsed.cannot_be_a_base:
        # WHATWG URL §4.2, opaque path: a last space would be lost with the query or fragment.
        return _TRAILING_SPACE.sub(r"\1%20", href, count=1)
    return _encode_carets(href) if "^" in href else href


def _encode_carets(href: str) -> str:
    start = _PATH_START.match(href)
    if start is None:
        return href
    path_end = _PATH_END.search(href, start.end())
    end = path_end.start() if path_end else len(href)
    path = href[start.end() : end].replace("^", "%5E")
    return f"{href[: start.end()]}{path}{href[end:]}"
