"""The form of a URL that two spellings of one page share; what deduplication compares.

``canonicalize`` takes a serialised http(s) URL, so scheme and host are lower case, a default port
is gone and dot segments are resolved. On top of that:

1. The fragment and the userinfo are dropped, and so is the root dot of the host ("a.com.").
2. Percent-encoding (RFC 3986 §6.2.2): hex digits are upper case, unreserved characters are
   decoded, and a "%" that starts no escape becomes "%25".
3. Characters RFC 3986 allows nowhere in a path or query ("|", "[", "]", "{", "}", "^", a
   backquote, a backslash), which browsers send raw, are percent-encoded.
4. Tracking and session parameters are dropped from the query, session parameters also from the
   path (";jsessionid=…"). Names are compared without case; "utm_*" means every name with that
   beginning. The defaults hold only names that mean nothing else: "sid" or "session" may name
   what the page shows.
5. Empty parameters ("?&a=1", "?a=1&") and an empty query ("?") are dropped.
6. With ``sort_query`` the parameters are ordered by name; equal names keep their order. Off by
   default, because some servers read the order.

Rules 1 to 3 and 5 are fixed. What may differ between two pages is kept: http and https, "www.",
a doubled or a final slash, "a=" and "a", "+" and "%20", reserved characters and their escapes,
letter case. The form is for comparing; what is requested is ``fetch_url``.
"""

import re
from dataclasses import dataclass
from functools import lru_cache
from string import ascii_letters, digits, hexdigits

from skitter.url.host import undotted
from skitter.url.parse import parse

TRACKING_PARAMS = (
    "utm_*",
    "gclid",
    "gclsrc",
    "gbraid",
    "wbraid",
    "dclid",
    "fbclid",
    "msclkid",
    "yclid",
    "ysclid",
    "twclid",
    "ttclid",
    "igshid",
    "li_fat_id",
    "mc_cid",
    "mc_eid",
    "mkt_tok",
    "srsltid",
    "_ga",
    "_gl",
    "_hsenc",
    "_hsmi",
    "_openstat",
    "oly_anon_id",
    "oly_enc_id",
    "vero_conv",
    "vero_id",
)
SESSION_PARAMS = ("phpsessid", "jsessionid", "aspsessionid*", "oscsid", "zenid")

_UNRESERVED = frozenset(f"{ascii_letters}{digits}-._~")
_ESCAPE = re.compile(r"%(?:[0-9A-Fa-f]{2})?")
_SETTLED = {"%": "%25"} | {
    f"%{high}{low}": char if char in _UNRESERVED else f"%{high}{low}".upper()
    for high in hexdigits
    for low in hexdigits
    for char in [chr(int(high + low, 16))]
}
# An escape that is not in its final form: stray, in lower case, or of an unreserved character.
_UNSETTLED = re.compile(
    r"%(?![0-9A-F]{2})|%(?:2[DE]|3[0-9]|[46][1-9A-F]|5[0-9AF]|7[0-9AE])", re.ASCII
)
_RAW_IN_QUERY = re.compile(r"[`{}^\\]")
_ENCODE_RAW = str.maketrans({char: f"%{ord(char):02X}" for char in "|[]{}^`\\"})
_VERDICTS_KEPT = 4096
_NAME_KEPT = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class CanonicalRules:
    """The configurable part of the canonical form."""

    tracking: tuple[str, ...] = TRACKING_PARAMS
    """Query parameters that say where a visitor came from; "name*" is a prefix."""
    session: tuple[str, ...] = SESSION_PARAMS
    """Parameters, in query or path, that name a visitor's session; "name*" is a prefix."""
    sort_query: bool = False
    """Order query parameters by name."""
    max_length: int = 4096
    """Characters of the longest URL that is followed; judged by ``Normaliser``."""


DEFAULT_RULES = CanonicalRules()


class Canonicaliser:
    """The rules made ready to run; call it with a serialised http(s) URL."""

    __slots__ = ("_exact", "_path_params", "_prefixes", "_sort", "_verdicts")

    def __init__(self, rules: CanonicalRules = DEFAULT_RULES) -> None:
        names = [name.lower() for name in (*rules.tracking, *rules.session)]
        self._exact = frozenset(name for name in names if not name.endswith("*"))
        self._prefixes = tuple(name[:-1] for name in names if name.endswith("*"))
        self._path_params = _path_params(rules.session)
        self._sort = rules.sort_query
        self._verdicts: dict[str, bool] = {}

    def __call__(self, href: str) -> str:
        """Return the canonical form of ``href``."""
        # Most links need nothing: a few substring searches tell, at a tenth of the price.
        if (
            "#" in href
            or "@" in href
            or ";" in href
            or "|" in href
            or "[" in href
            or "]" in href
            or "./" in href
            or ".:" in href
            or ("%" in href and _UNSETTLED.search(href))
        ):
            return self._rewrite(href)
        if "?" in href:
            query = href[href.find("?") + 1 :]
            if self._sort or _RAW_IN_QUERY.search(query) or self._drops_any(query):
                return self._rewrite(href)
        return href

    def _rewrite(self, href: str) -> str:
        head, _, query = href.partition("#")[0].partition("?")
        scheme, _, rest = head.partition("://")
        authority, _, path = rest.partition("/")
        authority = undotted(authority.rpartition("@")[2])
        path = self._clean_path(path)
        if query:
            query = self._clean_query(_settle(query))
        return f"{scheme}://{authority}/{path}{'?' if query else ''}{query}"

    def _clean_path(self, path: str) -> str:
        path = _settle(path)
        if self._path_params is None or ";" not in path:
            return path
        cleaned = self._path_params.sub("", path)
        if cleaned == path:
            return path
        # What is left of "..;jsessionid=1" is a dot segment; the parser resolves it.
        return parse(f"http://h/{cleaned}")[len("http://h/") :]

    def _clean_query(self, query: str) -> str:
        if self._drops_any(query):
            query = "&".join(part for part in query.split("&") if not self._drops(part))
        if self._sort:
            query = "&".join(sorted(query.split("&"), key=_name))
        return query

    def _drops_any(self, query: str) -> bool:
        verdicts = self._verdicts
        for part in query.split("&"):
            dropped = verdicts.get(part.partition("=")[0])
            if dropped or (dropped is None and self._drops(part)):
                return True
        return False

    def _drops(self, part: str) -> bool:
        """Judge one parameter by its name and remember the verdict."""
        name = _name(part)
        if not name:
            return not part
        lower = name.lower()
        verdict = lower in self._exact or lower.startswith(self._prefixes)
        if len(name) <= _NAME_KEPT:
            if len(self._verdicts) >= _VERDICTS_KEPT:
                self._verdicts.clear()
            self._verdicts[name] = verdict
        return verdict


@lru_cache(maxsize=16)
def _canonicaliser(rules: CanonicalRules) -> Canonicaliser:
    return Canonicaliser(rules)


def canonicalize(href: str, rules: CanonicalRules = DEFAULT_RULES) -> str:
    """Return the canonical form of a serialised http(s) URL."""
    return _canonicaliser(rules)(href)


def fetch_url(href: str) -> str:
    """Return what is requested: ``href`` without its fragment and userinfo."""
    href = href.partition("#")[0]
    if "@" not in href:
        return href
    scheme, _, rest = href.partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"


def _name(part: str) -> str:
    return part.partition("=")[0]


def _settle(text: str) -> str:
    if "%" in text and _UNSETTLED.search(text):
        text = _ESCAPE.sub(lambda escape: _SETTLED[escape[0]], text)
    return text.translate(_ENCODE_RAW)


def _path_params(session: tuple[str, ...]) -> re.Pattern[str] | None:
    if not session:
        return None
    names = (
        re.escape(name[:-1]) + "[^=;/]*" if name.endswith("*") else re.escape(name)
        for name in session
    )
    return re.compile(rf";(?:{'|'.join(names)})(?:=[^;/]*)?(?=[;/]|\Z)", re.IGNORECASE)
