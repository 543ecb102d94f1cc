"""Totals over all runs of a job."""

from collections import Counter

from crawl_rig import fake_lease
from hypothesis import given
from hypothesis import strategies as st

from skitter.crawl.fitted import Fitted, editions, unmatched, warnings_of
from skitter.crawl.summary import tally_of
from skitter.crawl.totals import Totals
from skitter.crawl.trip import Visit
from skitter.frontier.model import Result, Tally
from skitter.job.spec import check_job
from skitter.observability.stats import CrawlStats
from skitter.pipeline.record import TRAP_CLASS, PageRecord
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


def tallied(*tallies: Tally) -> Totals:
    """Read totals as a store that has added up tallies keeps them."""
    kept: Counter[str] = Counter()
    for tally in tallies:
        for name, n in tally:
            kept[name] += n
    return Totals.of(kept)


def counted(*records: PageRecord, reason: str = "") -> Totals:
    return tallied(*(tally_of(page_visit(one, reason)) for one in records))


def page_visit(one: PageRecord | None, reason: str) -> Visit:
    return Visit(lease=fake_lease(), result=Result.DONE, reason=reason, record=one)


def test_each_outcome_counts_in_one_column() -> None:
    totals = counted(*(record(outcome) for outcome in Outcome))
    assert totals.pages == len(Outcome) - 1
    assert totals.rejected == 1
    assert totals.ok == 2
    assert totals.refused == 2
    assert totals.failed == 2
    assert totals.duplicates == 1


def test_a_page_counts_as_what_it_was_at_its_last_visit() -> None:
    first, again = page_visit(record("rejected"), ""), page_visit(record("rejected"), "")
    passed = page_visit(record("ok"), "")
    again.was_aside = again.never_kept = passed.was_aside = passed.never_kept = True
    told = [tally_of(visit) for visit in (first, again, passed)]
    before, after = tallied(*told[:2]), tallied(*told)
    assert (before.pages, before.rejected, before.used) == (0, 1, 1)
    assert (after.pages, after.rejected, after.used) == (1, 0, 1)


def test_what_was_counted_of_other_rules_is_no_reason_to_warn() -> None:
    job = check_job({"detail": {"fields": {"title": "//h7"}}}, "test")
    mended = check_job({"detail": {"fields": {"title": "//h1"}}}, "test")
    visit = page_visit(record("ok"), "")
    visit.filled, visit.edition = ("detail",), editions(job)["detail"]
    totals = tallied(tally_of(visit))
    assert warnings_of(job, totals, ()) == ["rule detail.title found nothing on 1 page"]
    assert warnings_of(mended, totals, ()) == []


def test_rules_are_counted_with_what_they_found() -> None:
    visits = [page_visit(record("ok"), ""), page_visit(record("rejected"), "")]
    for visit, filled in zip(visits, (("detail", "title"), ("detail",)), strict=True):
        visit.filled = filled
    totals = tallied(*map(tally_of, visits))
    assert totals.filled == {"detail": 2, "detail.title": 1}
    job = check_job({"detail": {"fields": {"title": "//h1", "price": "//b"}}}, "test")
    assert unmatched(job, totals.filled) == {"detail.price": 2}
    assert unmatched(job, {}) == {}


def test_rules_of_a_list_are_told_one_by_one_once_there_are_items() -> None:
    rules = {"from": "//li", "detail_url": "a/@href", "next": "//b", "fields": {"day": "i"}}
    job = check_job({"kind": "list", "list": rules}, "test")
    assert unmatched(job, {"list": 4}) == {"list.from": 4}
    found = {"list": 4, "list.from": 3}
    assert unmatched(job, found) == dict.fromkeys(
        ("list.detail_url", "list.fields.day", "list.next"), 4
    )
    rest = {"list.detail_url": 3, "list.fields.day": 1, "list.next": 2}
    assert unmatched(job, found | rest) == {}
    alone = check_job({"kind": "list", "list": {"from": "//li", "continue": False}}, "test")
    assert unmatched(alone, found) == {}


def test_rules_for_links_that_fitted_nothing_are_told_with_the_pages_tried() -> None:
    said = {"links": [{"allow": ["/a"]}, {"allow": ["/b"]}], "jump": ["/to"], "article": ["/x"]}
    job = check_job({"kind": "news", **said}, "test")
    assert warnings_of(job, Totals(), ()) == []
    some = ("fitted:3:counted", "fitted:3:links[0]", "fitted:3:article")
    assert warnings_of(job, Totals(ok=1), some) == [
        "rule links[1] fits no link of 1 page",
        "rule jump fits no link of 1 page",
    ]
    # Nobody has looked at the links of its first pages.
    assert warnings_of(job, Totals(ok=1), some[1:]) == []
    every = {"fitted:3:counted", "fitted:3:links[0]", "fitted:3:links[1]", "fitted:3:jump"}
    assert warnings_of(job, Totals(ok=1_200), every) == ["rule article fits no link of 1,200 pages"]
    site = check_job(said, "test")
    assert warnings_of(site, Totals(ok=5), every) == ["article: only kind news uses it, not site"]


def test_a_page_with_known_content_is_both_fine_and_a_duplicate() -> None:
    totals = counted(record("ok"), record("ok", twin="http://site.test/first"))
    assert (totals.pages, totals.ok, totals.duplicates) == (2, 2, 1)


def test_sizes_statuses_and_reasons_add_up() -> None:
    totals = tallied(
        tally_of(page_visit(record("http_error", status=404, size=10), "status 404")),
        tally_of(page_visit(record("http_error", status=404, size=5), "status 404")),
        tally_of(page_visit(record("ok", status=200), "")),
    )
    assert totals.body_bytes == 15
    assert totals.status_codes == {404: 2, 200: 1}
    assert totals.errors == {"status 404": 2}


def test_two_totals_share_nothing() -> None:
    one, two = Totals(), Totals()
    one.status_codes[200] = one.errors["why"] = 1
    assert (two.status_codes, two.errors) == ({}, {})


def test_nothing_kept_means_zeros() -> None:
    assert Totals.of({}) == Totals()


OUTCOMES = st.sampled_from(sorted(set(Outcome) - {Outcome.REJECTED}))
RECORDS = st.lists(
    st.tuples(OUTCOMES, st.none() | st.integers(100, 599), st.none() | st.integers(0, 10**9))
)


@given(RECORDS, st.text(max_size=20))
def test_every_page_is_in_one_column_and_everything_of_it_is_found_again(
    rows: list[tuple[Outcome, int | None, int | None]], reason: str
) -> None:
    totals = counted(*(record(o, status=s, size=n) for o, s, n in rows), reason=reason)
    assert totals.status_codes == Counter(status for _, status, _ in rows if status is not None)
    assert totals.errors == ({reason: len(rows)} if reason and rows else {})
    assert totals.body_bytes == sum(size or 0 for _, _, size in rows)
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
    visits = [
        Visit(
            lease=fake_lease(role=role, referrer=referrer),
            result=Result.DONE,
            reason="why",
            record=one,
        )
        for one, role, referrer in records
    ]
    return tallied(*map(tally_of, visits))


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
    totals = Totals.of({"pages": 3, "ok": 2})
    assert (totals.pages, totals.ok, totals.sitemaps) == (3, 2, 0)


def test_a_visit_that_goes_on_adds_nothing() -> None:
    assert tally_of(page_visit(None, "status 503")) == ()


def test_a_page_cut_off_as_a_trap_is_in_no_total() -> None:
    trapped = record("refused")
    trapped.page_class = TRAP_CLASS
    assert tally_of(page_visit(trapped, "trap")) == ()


def test_what_a_later_version_counts_is_passed_over() -> None:
    assert Totals.of({"pages": 3, "moons": 2}) == Totals(pages=3)


def test_that_rules_are_counted_is_said_with_the_first_pages_of_a_job() -> None:
    fresh, old = Fitted(), Fitted()
    fresh.begin(Totals())
    old.begin(Totals(pages=1))
    assert (fresh.take(), fresh.take(), old.take()) == ({"counted"}, set(), set())
