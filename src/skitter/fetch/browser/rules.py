"""What a page in the browser may have: a pure judgement of each thing it asks for."""

from collections.abc import Mapping
from enum import Enum, auto
from typing import Final

from skitter.url.host import origin

MOST_REQUESTS: Final = 60
"""Scripts and data that one page may ask for."""
MOST_BYTES: Final = 16 * 1024 * 1024
"""Their size altogether, unpacked."""
MOST_EACH: Final = 8 * 1024 * 1024
"""The size of one of them."""

_FETCHED: Final = frozenset({"script", "xhr", "fetch"})
_EMPTY: Final = {"stylesheet": "text/css", "document": "text/html"}
"""What a script may wait for, and what nothing is read of: answered with an empty file."""
_PASSED_ON: Final = frozenset({"accept", "authorization", "origin", "referer"})
_TOLD: Final = ("access-control-", "x-")
_TOLD_NAMES: Final = frozenset({"content-type", "etag", "last-modified", "link"})
_READERS: Final = "access-control-allow-origin"


class Verdict(Enum):
    """What becomes of one thing that a page asks for."""

    SERVE = auto()
    """It is the page itself."""
    FETCH = auto()
    EMPTY = auto()
    STAY = auto()
    """The page wants to be another one."""
    REFUSE = auto()


class Allowance:
    """What one page has used of what it may have."""

    def __init__(self, requests: int = MOST_REQUESTS, most_bytes: int = MOST_BYTES) -> None:
        self.asked = 0
        self._requests = requests
        self._bytes = most_bytes

    def take(self) -> int:
        """Count one more request; answers how many bytes it may bring, 0 when it may not be."""
        if self.asked >= self._requests or self._bytes <= 0:
            return 0
        self.asked += 1
        return min(self._bytes, MOST_EACH)

    def spend(self, size: int) -> bool:
        """Count what a request has brought; answers whether that was still to be had.

        Several that are under way together may each have been told of the same rest.
        """
        fits = size <= self._bytes
        self._bytes -= size if fits else self._bytes
        return fits


def judge(kind: str, method: str, url: str, *, moves_page: bool, served: bool) -> Verdict:
    """Tell what becomes of a request of a page.

    ``kind`` is the browser's word for what it is for; ``moves_page`` says that the page itself
    would become what is there, and ``served`` that the page has been given.
    """
    if moves_page:
        return Verdict.STAY if served else Verdict.SERVE
    if method != "GET" or not url.startswith(("http://", "https://")):
        return Verdict.REFUSE
    if kind in _FETCHED:
        return Verdict.FETCH
    return Verdict.EMPTY if kind in _EMPTY else Verdict.REFUSE


def empty_type(kind: str) -> str:
    """Return the media type of an empty file in place of what is not fetched."""
    return _EMPTY[kind]


def passed_on(headers: Mapping[str, str]) -> dict[str, str]:
    """Return what of a page's own headers is sent: nothing that names or describes a browser."""
    return {
        name: value
        for name, value in headers.items()
        if name in _PASSED_ON or name.startswith("x-")
    }


def told(headers: Mapping[str, str]) -> dict[str, str]:
    """Return what of an answer's headers a page is told: nothing of its coding, no cookies."""
    return {
        name: value
        for name, value in headers.items()
        if name in _TOLD_NAMES or name.startswith(_TOLD)
    }


def closed_to_others(headers: Mapping[str, str], url: str) -> dict[str, str]:
    """Return an answer's headers, which say in any case who may read it: else nobody else may.

    Playwright opens every answer that says nothing to the page that asks for it.
    """
    return {_READERS: origin(url), **headers}


def may_be_read(headers: Mapping[str, str], reader: str, *, is_script: bool) -> bool:
    """Tell whether a page may have an answer to which another origin has led it.

    The browser cannot judge that: it is not told of redirects. ``reader`` is the origin of the
    page, or "null" after several.
    """
    if is_script:
        # Others would say in the words of an error what is in them.
        return headers.get("content-type", "").partition(";")[0].strip().endswith("script")
    return headers.get(_READERS, "") in ("*", reader)
