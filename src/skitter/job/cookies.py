"""Cookies of a file in Netscape's format, and which of them go to a URL."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from skitter.errors import ConfigError

HTTP_ONLY: Final = "#HttpOnly_"
"""Stands before the domain of a cookie that scripts do not see."""
_FIELDS: Final = 7


class Cookie(NamedTuple):
    """One line of such a file."""

    domain: str
    """In lower case, without a leading dot."""
    below: bool
    """Whether hosts below the domain get it, too."""
    path: str
    secure: bool
    expires_s: int
    """Seconds since the epoch; 0 for a cookie of a session, which is sent while the crawl runs."""
    name: str
    value: str

    def is_for(self, host: str, path: str, *, tls: bool, now_s: float) -> bool:
        """Tell whether it goes with a request."""
        if self.secure and not tls:
            return False
        if self.expires_s and self.expires_s <= now_s:
            return False
        below = self.below and host.endswith(f".{self.domain}")
        return (host == self.domain or below) and _is_under(path, self.path)


class CookieJar:
    """Cookies, and which go where. What servers set is not added."""

    def __init__(self, cookies: Iterable[Cookie]) -> None:
        # RFC 6265 §5.4: longer paths first; what is equal keeps its order.
        self._cookies = sorted(cookies, key=lambda one: -len(one.path))

    def header(self, url: str, now_s: float) -> str:
        """Return the Cookie header for a URL; "" where no cookie is for it."""
        parts = urlsplit(url)
        host, path = (parts.hostname or "").rstrip("."), parts.path or "/"
        tls = parts.scheme == "https"
        fitting = [one for one in self._cookies if one.is_for(host, path, tls=tls, now_s=now_s)]
        return "; ".join(f"{one.name}={one.value}" for one in fitting)


def parse_cookies(text: str, source: str) -> CookieJar:
    """Read a cookies.txt; raises ``ConfigError`` with the number of a line that is none."""
    return CookieJar(_cookies(text, source))


def has_controls(value: str) -> bool:
    """Tell whether a value cannot stand in a header."""
    return any((ord(char) < 0x20 and char != "\t") or char == "\x7f" for char in value)


def _cookies(text: str, source: str) -> Iterator[Cookie]:
    for number, line in enumerate(text.split("\n"), start=1):
        line = line.removesuffix("\r").removeprefix(HTTP_ONLY)
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split("\t")
        # The line holds a secret: only its number is told.
        if len(fields) != _FIELDS or has_controls(line) or ";" in fields[6]:
            raise ConfigError(
                f"{source}: line {number}: wanted the seven fields of a cookies.txt, with tabs"
                " between them"
            )
        domain, below, path, secure, expires, name, value = fields
        try:
            # Some browsers write -1 for a cookie of the session, or a fraction.
            expires_s = max(0, int(float(expires or 0)))
        except (ValueError, OverflowError):
            raise ConfigError(
                f"{source}: line {number}: wanted seconds since 1970 in the fifth field"
            ) from None
        bare = domain.lower().removeprefix(".")
        yield Cookie(
            bare, below.upper() == "TRUE", path or "/", secure.upper() == "TRUE", expires_s, name,
            value,
        )  # fmt: skip


def _is_under(path: str, parent: str) -> bool:
    """Tell whether a path is another or lies below it (RFC 6265 §5.1.4)."""
    if not path.startswith(parent):
        return False
    return parent.endswith("/") or path[len(parent) : len(parent) + 1] in ("", "/")
