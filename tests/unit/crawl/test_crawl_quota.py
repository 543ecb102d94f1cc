"""How far a run has got, and how much more it may take on."""

from typing import Any

import pytest
from crawl_rig import HOME, fake_lease

from skitter.crawl.quota import SETTLED, Quota
from skitter.crawl.trip import Visit
from skitter.crawl.works import EngineOptions
from skitter.frontier.model import Result
from skitter.observability.stats import CrawlStats
from skitter.pipeline.record import PageRecord
from skitter.types import Outcome, Role


def quota(before: CrawlStats | None = None, **options: Any) -> Quota:
    return Quota(before or CrawlStats(), EngineOptions(**options))


def page(**fields: Any) -> Visit:
    record = PageRecord(
        job="job",
        url=HOME,
        outcome=Outcome.OK,
        status=200,
        bytes=100,
        depth=0,
        page_class="data",
        fetched_at="2026-01-01T00:00:00Z",
        visit=1,
    )
    given: dict[str, Any] = {"lease": fake_lease(), "result": Result.DONE, "record": record}
    return Visit(**{**given, **fields})


def test_without_limits_everything_may_be_claimed() -> None:
    made = quota()
    assert (made.most(64, 10), made.most(-3, 10)) == (64, 0)
    assert made.reached(0) == ""


def test_a_limit_of_pages_counts_earlier_runs_others_and_what_is_under_way() -> None:
    made = quota(CrawlStats(pages=4), pages=10)
    assert made.most(64, 0) == 6
    assert made.most(64, 2) == 4
    made.others_have(pages=7, leased=2, live=2)
    assert made.most(64, 2) == 1, "three pages are those of others"
    made.ended(page())
    assert made.most(64, 1) == 1
    assert made.reached(0) == ""


def test_a_page_that_is_set_aside_counts_for_the_limits() -> None:
    made = quota(CrawlStats(pages=1, aside=1), pages=4, bytes=300)
    aside = page()
    assert aside.record is not None
    aside.record.outcome = Outcome.REJECTED
    made.ended(aside)
    assert (made.most(64, 0), made.reached(0)) == (1, "")
    made.ended(aside)
    assert (made.most(64, 0), made.reached(0)) == (0, "pages limit")
    made.ended(aside)
    assert made.reached(1) == "bytes limit"


@pytest.mark.parametrize(("leased", "reached"), [(0, "pages limit"), (1, "")])
def test_a_limit_is_reached_when_nothing_under_way_may_miss_it(leased: int, reached: str) -> None:
    made = quota(CrawlStats(pages=3), pages=5)
    made.others_have(pages=5 - leased, leased=leased, live=0)
    assert made.most(64, 0) == 0
    assert made.reached(0) == reached
    assert made.reached(1) == ""


def test_a_limit_of_bytes_counts_earlier_runs() -> None:
    made = quota(CrawlStats(bytes=150), bytes=300)
    made.ended(page())
    assert made.reached(5) == ""
    made.ended(page())
    assert made.reached(5) == "bytes limit"


def test_a_best_first_crawl_does_not_outrun_what_it_has_seen() -> None:
    assert quota(best_first=True).most(64, 1) == 1
    assert quota(CrawlStats(pages=10 * SETTLED), best_first=True).most(64, 3) == 7


def test_what_ended_is_counted_for_the_person_who_watches() -> None:
    stats = CrawlStats(pages=9, bytes=900)
    made = Quota(stats, EngineOptions())
    made.ended(page())
    made.ended(page(record=None, result=Result.RETRY, reason="timeout"))
    made.ended(page(record=None, result=Result.DEFER, reason="not now"))
    made.ended(page(lease=fake_lease(role=Role.SITEMAP), reason="status 404"))
    assert (stats.pages, stats.run_pages, stats.run_bytes) == (9, 1, 100)
    assert stats.status_codes == {200: 1}
    assert stats.errors == {"timeout": 1}
