"""What becomes of a URL that somebody wants to know about: pure decisions on what is known of it.

A page that is known and young enough is told from the index, whatever else holds: nobody is asked
for it. Otherwise something may forbid to ask; else it is fetched.
"""

from typing import Final

from skitter.crawl.media import MEDIA_LABEL
from skitter.crawl.resolve.found import Kept, Page
from skitter.crawl.resolve.lane import LANE
from skitter.crawl.site_rules import SiteRules
from skitter.fetch.guard import AddressGuard
from skitter.types import HostKey, Outcome
from skitter.url.domain import is_address
from skitter.url.host import host_name

TARGET_MS: Final = 60_000
"""How long the page that a redirect led to may take to come by itself."""
_TRUE_ANYWHERE: Final = frozenset({Outcome.OK, Outcome.NOINDEX, Outcome.HTTP_ERROR})
"""Outcomes that say something of the page; the others may follow from what one job wants."""
_LOOPBACK: Final = "127.0.0.1"


def answers(page: Page, since_ms: int, media: str, now_ms: int) -> bool:
    """Tell whether a page is what was asked for: young enough, and with the files wanted."""
    kept, target = page
    if kept.fetched_ms() < since_ms or not _counts(kept):
        return False
    if kept.leads_on is not None and target is None:
        return now_ms - kept.fetched_ms() > TARGET_MS
    return _has_files(target or kept, media)


def _counts(kept: Kept) -> bool:
    if kept.job == LANE:
        return True
    return kept.outcome in _TRUE_ANYWHERE or kept.leads_on is not None


def _has_files(kept: Kept, media: str) -> bool:
    """Tell whether files of all kinds wanted were asked for with the page."""
    if not media or kept.outcome != Outcome.OK:
        return True
    return set(media.split(",")) <= set(kept.labels.get(MEDIA_LABEL, "").split(","))


def lacks_files(page: Page, at_ms: int, media: str) -> bool:
    """Tell whether a page came after it was asked for, yet without the files wanted on it."""
    kept = page.target or page.kept
    return bool(media) and kept.fetched_ms() >= at_ms and not _has_files(kept, media)


def is_blocked(page: Page) -> bool:
    """Tell whether something forbade to fetch a page."""
    return (page.target or page.kept).outcome == Outcome.REFUSED


def why_blocked(host: HostKey, sites: SiteRules, guard: AddressGuard) -> str | None:
    """Return what forbids to ask a host, as far as that is known without asking; None if nothing.

    A name may turn out to lead to a forbidden address: whoever fetches finds that out.
    """
    said = sites.explain(host, 0)
    if not said.allowed:
        return said.sentence
    name = host_name(host)
    if name == "localhost" or name.endswith(".localhost"):
        return _refused(guard, _LOOPBACK)
    return _refused(guard, name.strip("[]")) if is_address(name) else None


def _refused(guard: AddressGuard, address: str) -> str | None:
    why = guard.why_not(address)
    return None if why is None else f"{why}; the operator may allow it with --allow-private"
