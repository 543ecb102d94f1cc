"""Ranks: which of the waiting URLs of one priority comes first. Lower is sooner."""

from skitter.frontier.model import SCORED_RANKS

_MOST = 0xFFFF_FFFF
LINK_RANK = 1 << 24
"""Breadth first: every link has the same rank, so the first found comes first."""
DOUBTFUL_RANK = _MOST
"""What may be part of a trap waits for everything else of its host."""
DOUBTFUL_SCORE = SCORED_RANKS - 1
"""The same in a best-first crawl, where ranks are scores and decide between hosts, too."""
_PER_PRIORITY = 1 << 22
_FRESH_HOURS = 1 << 20
_HOUR_MS = 3_600_000


def is_doubtful(rank: int) -> bool:
    """Tell whether a URL was queued as one that may be part of a trap."""
    return rank in (DOUBTFUL_RANK, DOUBTFUL_SCORE)


def depth_first_rank(depth: int) -> int:
    """Return the rank that lets deeper URLs go first."""
    return _MOST - 1 - depth


def sitemap_rank(priority: float | None, lastmod_ms: int | None, now_ms: int) -> int:
    """Return the rank of a URL that a sitemap lists.

    What the site calls important, and what it changed lately, goes before other links; what it
    calls unimportant goes after them.
    """
    rank = LINK_RANK
    if priority is not None:
        rank -= round((priority - 0.5) * 2 * _PER_PRIORITY)
    if lastmod_ms is not None:
        age_hours = max(0, now_ms - lastmod_ms) // _HOUR_MS
        rank -= max(0, _FRESH_HOURS - age_hours)
    return rank
