"""Value types shared by every component; nothing here decides anything."""

from enum import IntEnum, StrEnum
from typing import NewType

HostKey = NewType("HostKey", str)
"""Politeness key of a URL: host, plus ``:port`` when it is not the scheme's default."""

Fingerprint = NewType("Fingerprint", int)
"""Keyed 64-bit hash of a canonical URL."""

JobNumber = NewType("JobNumber", int)
"""The store's own small number for a job id."""


class Role(IntEnum):
    """What a URL is asked for."""

    PAGE = 0
    SITEMAP = 1
    """A list of URLs: a sitemap or a feed; it has no record among the pages."""
    MEDIA = 2
    """A picture, film or sound that a page shows; it has no record among the pages either."""


class PageClass(IntEnum):
    """Navigation pages are refreshed on schedule; data pages are fetched once."""

    NAV = 0
    DATA = 1


class Outcome(StrEnum):
    """What came of one visit; the ``outcome`` field of a page record."""

    OK = "ok"
    NOINDEX = "noindex"
    DUPLICATE = "duplicate"
    REFUSED = "refused"
    HTTP_ERROR = "http_error"
    FAILED = "failed"
    SKIPPED = "skipped"
    REJECTED = "rejected"
