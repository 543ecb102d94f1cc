"""What the page index holds of a URL, cut to what a look-up tells.

A stored note is a whole record, with the text of the page in it. Only the fields that are told are
read, and the answer is written by the same library: at ten thousand URLs a second that counts.
"""

from datetime import datetime
from typing import NamedTuple

import msgspec

from skitter.types import Outcome


class Kept(msgspec.Struct, gc=False):
    """The part of a record that look-ups are about."""

    job: str
    url: str
    outcome: str
    fetched_at: str
    final_url: str | None = None
    redirects: list[str] = []
    status: int | None = None
    error: str | None = None
    title: str | None = None
    description: str | None = None
    image: str | None = None
    language: str | None = None
    content_type: str | None = None
    canonical: str | None = None
    visit: int = 1
    duplicate_of: str | None = None
    media: list[dict[str, str]] = []
    labels: dict[str, str] = {}

    @property
    def leads_on(self) -> str | None:
        """The URL under which the page itself is recorded, where this one only leads there."""
        return self.duplicate_of if self.outcome == Outcome.DUPLICATE else None

    def fetched_ms(self) -> int:
        """Return when it was fetched, in milliseconds since the epoch."""
        return round(datetime.fromisoformat(self.fetched_at).timestamp() * 1000)


read_note = msgspec.json.Decoder(Kept).decode
"""Read what is told of a stored note."""


class Found(msgspec.Struct, omit_defaults=False, gc=False):
    """The answer to one URL of a look-up; names as in ``client.pages.Found``."""

    url: str
    found: bool = False
    error: str | None = None
    job: str | None = None
    requested_url: str | None = None
    final_url: str | None = None
    redirects: list[str] = []
    status: int | None = None
    outcome: str | None = None
    title: str | None = None
    description: str | None = None
    image: str | None = None
    language: str | None = None
    content_type: str | None = None
    canonical: str | None = None
    fetched_at: str | None = None
    media: list[dict[str, str]] = []


class Page(NamedTuple):
    """A record, and that of the page it leads to where the two are apart."""

    kept: Kept
    target: Kept | None = None


def tell(found: Found, page: Page) -> None:
    """Fill in what is known of a page.

    What a redirect led to tells what is there; when the redirect was followed, and what came of
    it, the redirect itself.
    """
    kept, said = page.kept, page.target or page.kept
    found.found = True
    found.error = kept.error
    found.job = kept.job
    found.requested_url = kept.url
    found.final_url = said.final_url if page.target is not None else kept.final_url
    found.redirects = kept.redirects
    if page.target is not None and said.redirects:
        found.redirects = [*kept.redirects, *said.redirects]
    found.status = said.status
    found.outcome = said.outcome
    found.title = said.title
    found.description = said.description
    found.image = said.image
    found.language = said.language
    found.content_type = said.content_type
    found.canonical = said.canonical
    found.fetched_at = kept.fetched_at
    found.media = said.media
