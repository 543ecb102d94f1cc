"""Every error Skitter raises on purpose.

SkitterError
├─ ConfigError
│   ├─ NotFound
│   └─ Conflict
├─ UrlError
│   ├─ InvalidUrl
│   └─ UnsupportedScheme
├─ FetchError
│   ├─ DnsError
│   ├─ AddressRefused
│   ├─ ConnectError
│   ├─ TlsError
│   ├─ FetchTimeout
│   │   ├─ ConnectTimeout
│   │   ├─ ReadTimeout
│   │   └─ TotalTimeout
│   ├─ ProtocolError
│   ├─ HeadersTooLarge
│   ├─ BodyTooLarge
│   ├─ DecodingError
│   ├─ TypeRefused
│   ├─ TooManyRedirects
│   └─ RenderError
│       └─ RenderTimeout
├─ FrontierError
│   ├─ Fenced
│   ├─ LeaseLost
│   ├─ DataDirError
│   │   └─ DataDirInUse
│   └─ StoreUnavailable
├─ SinkError
└─ ApiError
    └─ ApiAway

What is expected (refused by robots, already seen, out of scope) is a value, not an error.
"""

import errno
from typing import ClassVar

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What the system says when there is no room: a limit of the environment, not bad input."""


class SkitterError(Exception):
    """Base of all errors below."""


class ConfigError(SkitterError):
    """Bad file, flag or value: names the thing, what it was and what was wanted."""


class NotFound(ConfigError):
    """Something was asked for by a name that nothing has."""


class Conflict(ConfigError):
    """What is wanted contradicts what is there."""


class UrlError(SkitterError):
    """A URL that cannot be used."""

    def __init__(self, url: str, why: str) -> None:
        super().__init__(f"{url!r}: {why}")
        self.url = url
        self.why = why


class InvalidUrl(UrlError):
    """Not a URL by the WHATWG rules."""


class UnsupportedScheme(UrlError):
    """A URL, but not http or https."""


class FetchError(SkitterError):
    """One request did not bring a usable response."""

    retryable: ClassVar[bool] = True
    host_fault: ClassVar[bool] = False
    """True when the fault says something about the whole host, not about this URL."""

    def __init__(self, url: str, why: str) -> None:
        super().__init__(f"{url}: {why}")
        self.url = url
        self.why = why


class DnsError(FetchError):
    """The name did not resolve."""

    host_fault = True


class AddressRefused(FetchError):
    """The host resolves to an address the operator has not allowed."""

    retryable = False


class ConnectError(FetchError):
    """No connection could be made."""

    host_fault = True


class TlsError(FetchError):
    """The TLS handshake or the certificate failed."""

    retryable = False


class FetchTimeout(FetchError):
    """A phase of the request took too long."""


class ConnectTimeout(FetchTimeout):
    """Connecting took too long."""

    host_fault = True


class ReadTimeout(FetchTimeout):
    """The first byte of the response took too long."""


class TotalTimeout(FetchTimeout):
    """The whole request took too long."""


class ProtocolError(FetchError):
    """The server broke HTTP or closed early."""


class HeadersTooLarge(FetchError):
    """The response headers passed the cap."""

    retryable = False


class BodyTooLarge(FetchError):
    """The body passed the cap, on the wire or decompressed."""

    retryable = False


class DecodingError(FetchError):
    """The content encoding is unknown or its data is broken."""

    retryable = False


class TypeRefused(FetchError):
    """The media type is not one the job asked for."""

    retryable = False

    def __init__(self, url: str, why: str, *, status: int, content_type: str) -> None:
        super().__init__(url, why)
        self.status = status
        self.content_type = content_type


class TooManyRedirects(FetchError):
    """The redirect chain passed the cap or met itself."""

    retryable = False


class RenderError(FetchError):
    """The browser did not start, or died with the page."""


class RenderTimeout(RenderError):
    """The scripts of a page never let it be read."""

    retryable = False


class FrontierError(SkitterError):
    """The frontier cannot do what was asked."""


class Fenced(FrontierError):
    """The caller's slot now has another owner; nothing was changed."""


class LeaseLost(FrontierError):
    """The right to fetch a URL has ended; whoever holds it now fetches it."""


class DataDirError(FrontierError):
    """The data directory is in use, of another job, or of a newer version."""


class DataDirInUse(DataDirError):
    """Another process has the data directory."""


class StoreUnavailable(FrontierError):
    """The store cannot be written now (disk full, connection lost); retry later."""


class SinkError(SkitterError):
    """Records could not be made safe."""


class ApiError(SkitterError):
    """A service did not do what it was asked: its status, a word for programs, a sentence."""

    def __init__(self, status: int, code: str, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.field = field


class ApiAway(ApiError):
    """Nobody has answered for a service, or something else than it; the status is 0 if nobody."""
