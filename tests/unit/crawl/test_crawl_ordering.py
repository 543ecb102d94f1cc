"""Ranks: lower is sooner."""

from hypothesis import given
from hypothesis import strategies as st

from skitter.crawl.ordering import DOUBTFUL_RANK, LINK_RANK, depth_first_rank, sitemap_rank

HOUR_MS = 3_600_000
NOW_MS = 1_800_000_000_000
PRIORITIES = st.none() | st.floats(0, 1)
TIMES = st.none() | st.integers(-(10**15), 10**15)


def test_deeper_goes_first_in_depth_first_and_all_go_before_the_doubtful() -> None:
    assert depth_first_rank(7) < depth_first_rank(1) < depth_first_rank(0) < DOUBTFUL_RANK


def test_a_sitemap_that_says_nothing_ranks_as_a_link() -> None:
    assert sitemap_rank(None, None, NOW_MS) == LINK_RANK == sitemap_rank(0.5, None, NOW_MS)


def test_priority_counts_more_than_age() -> None:
    assert sitemap_rank(0.8, 0, NOW_MS) < sitemap_rank(0.5, NOW_MS, NOW_MS) < LINK_RANK
    assert sitemap_rank(0.2, NOW_MS, NOW_MS) > LINK_RANK


def test_what_changed_later_goes_first_to_the_hour() -> None:
    older, newer = NOW_MS - 2 * HOUR_MS, NOW_MS - HOUR_MS
    assert sitemap_rank(None, newer, NOW_MS) < sitemap_rank(None, older, NOW_MS)


def test_a_date_in_the_future_is_no_better_than_today() -> None:
    future = NOW_MS + 10**13
    assert sitemap_rank(None, future, NOW_MS) == sitemap_rank(None, NOW_MS, NOW_MS)


@given(PRIORITIES, TIMES)
def test_every_rank_fits_into_a_key_and_goes_before_the_doubtful(
    priority: float | None, lastmod_ms: int | None
) -> None:
    assert 0 < sitemap_rank(priority, lastmod_ms, NOW_MS) < DOUBTFUL_RANK
