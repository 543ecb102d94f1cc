"""Totals over all runs of a job."""

import msgspec
from crawl_rig import fake_lease
from hypothesis import given
from hypothesis import strategies as st

from skitter.crawl.summary import Totals
from skitter.crawl.trip import Visit
from skitter.frontier.model import Result
from skitter.observability.stats import CrawlStats
from skitter.pipeline.record import PageRecord
from skitter.types import Outcome, Role


def record(
    outcome: str, *, status: int | None = None, size: int | None = None, twin: str | None = None
) -> PageRecord:
    return PageRecord(
        job="job",
        url="http://site.test/",
        outcome=outcome,
        status=status,
        bytes=size,
        duplicate_of=twin,
        depth=0,
        page_class="data",
        fetched_at="2026-01-01T00:00:00.000Z",
        visit=1,
    )


def counted(*records: PageRecord, reason: str = "") -> Totals:
    totals = Totals()
    for one in records:
        totals.count(one, reason)
    return totals


def test_each_outcome_counts_in_one_column() -> None:
    totals = counted(*(record(outcome) for outcome in Outcome))
    assert totals.pages == len(Outcome)
    assert totals.ok == 2
    assert totals.refused == 2
    assert totals.failed == 2
    assert totals.duplicates == 1


def test_a_page_with_known_content_is_both_fine_and_a_duplicate() -> None:
    totals = counted(record("ok"), record("ok", twin="http://site.test/first"))
    assert (totals.pages, totals.ok, totals.duplicates) == (2, 2, 1)


def test_sizes_statuses_and_reasons_add_up() -> None:
    totals = counted(record("http_error", status=404, size=10), reason="status 404")
    totals.count(record("http_error", status=404, size=5), "status 404")
    totals.count(record("ok", status=200), "")
    assert totals.body_bytes == 15
    assert totals.status_codes == {404: 2, 200: 1}
    assert totals.errors == {"status 404": 2}


def test_two_totals_share_nothing() -> None:
    one, two = Totals(), Totals()
    one.count(record("ok", status=200), "why")
    assert (two.status_codes, two.errors) == ({}, {})


def test_nothing_kept_means_zeros() -> None:
    assert Totals.decode(None) == Totals()
    assert Totals.decode(b"") == Totals()


OUTCOMES = st.sampled_from(sorted(Outcome))
RECORDS = st.lists(
    st.tuples(OUTCOMES, st.none() | st.integers(100, 599), st.none() | st.integers(0, 10**9))
)


@given(RECORDS, st.text(max_size=20))
def test_what_is_kept_reads_back_and_every_page_is_in_one_column(
    rows: list[tuple[Outcome, int | None, int | None]], reason: str
) -> None:
    totals = counted(*(record(o, status=s, size=n) for o, s, n in rows), reason=reason)
    assert Totals.decode(totals.encode()) == totals
    own = sum(outcome is Outcome.DUPLICATE for outcome, _, _ in rows)
    assert totals.ok + totals.failed + totals.refused + own == totals.pages == len(rows)


def test_the_counts_a_person_watches_are_the_totals() -> None:
    totals = counted(record("ok"), record("failed"), record("refused"), record("duplicate"))
    stats = CrawlStats(run_pages=1)
    totals.show(stats)
    assert (stats.pages, stats.ok, stats.failed, stats.refused) == (4, 1, 1, 1)
    assert (stats.duplicates, stats.run_pages) == (1, 1)


def taken(*records: tuple[PageRecord | None, Role, str]) -> Totals:
    """Count visits given as record, role and referrer."""
    totals = Totals()
    for one, role, referrer in records:
        lease = fake_lease(role=role, referrer=referrer)
        totals.take(Visit(lease=lease, result=Result.DONE, reason="why", record=one))
    return totals


def test_sitemaps_have_columns_of_their_own() -> None:
    read, broken = record("ok", status=200, size=9), record("ok")
    read.n_links, broken.n_links, broken.error = 7, 3, "it is cut off"
    totals = taken(
        (read, Role.SITEMAP, "named"),
        (broken, Role.SITEMAP, "named"),
        (record("http_error", status=404), Role.SITEMAP, ""),
        (None, Role.SITEMAP, "named"),
        (record("ok"), Role.PAGE, ""),
        (None, Role.PAGE, ""),
    )
    assert (totals.sitemaps, totals.sitemap_urls, totals.sitemap_faults) == (2, 10, 1)
    assert (totals.pages, totals.body_bytes, totals.status_codes) == (1, 0, {})
    assert totals.errors == {"why": 1}


def test_totals_of_a_version_without_sitemaps_are_read() -> None:
    stored = msgspec.msgpack.encode({"pages": 3, "ok": 2})
    totals = Totals.decode(stored)
    assert (totals.pages, totals.ok, totals.sitemaps) == (3, 2, 0)
