from collections import Counter, deque

import pytest

from skitter.demo import traps
from skitter.demo.build import demo_web
from skitter.demo.html import encoded
from skitter.demo.model import Page, Target
from skitter.demo.server import Hit
from skitter.demo.truth import GroundTruth, Plan, ground_truth
from skitter.demo.verify import record_problems, request_problems, trap_problems
from skitter.demo.web import Web
from skitter.types import Outcome

WEB = demo_web().at_port(8123)
HOME = Target("maze", "/")


def truth_of(web: Web) -> GroundTruth:
    return ground_truth(web, Plan(entries=(HOME,), scope="host"))


TRUTH = truth_of(WEB)
TRAPS = {
    kind: next(
        link.to
        for target in TRUTH.expected
        for link in WEB.page(target).links()
        if WEB.trap(link.to) == kind
    )
    for kind in traps.KINDS
}


def deeper(page: Page, kind: str, met: set[Target]) -> Target:
    """Return a link of ``page`` that leads further into the trap."""
    return next(
        link.to for link in page.links() if WEB.trap(link.to) == kind and link.to not in met
    )


def test_there_are_about_as_many_real_pages_as_planned_and_more_on_a_larger_web() -> None:
    assert 120 <= len(TRUTH.pages) <= 150
    assert len(truth_of(demo_web(pages=1200).at_port(1)).pages) > 1.8 * len(TRUTH.pages)
    assert len(truth_of(demo_web(pages=200).at_port(1)).pages) >= 110


def test_every_link_of_a_real_page_leads_to_a_page() -> None:
    assert all(e.outcomes == {Outcome.OK} for e in TRUTH.expected.values())
    for target in TRUTH.expected:
        for link in WEB.page(target).links():
            assert WEB.page(link.to).answer.status == 200, (target, link.to)
            assert WEB.page(link.to).at == link.to


def test_real_pages_have_content_of_their_own() -> None:
    bodies = {encoded(WEB, WEB.page(target)) for target in TRUTH.expected}
    assert len(bodies) == len(TRUTH.expected)


@pytest.mark.parametrize("kind", traps.KINDS)
def test_a_trap_is_entered_from_real_pages_and_has_no_end(kind: str) -> None:
    here, met = TRAPS[kind], set[Target]()
    for _ in range(300):
        met.add(here)
        page = WEB.page(here)
        assert page.answer.status == 200
        assert encoded(WEB, page)
        here = deeper(page, kind, met)
    assert len(met) == 300


@pytest.mark.parametrize("kind", traps.KINDS)
def test_a_page_of_a_trap_is_the_same_every_time(kind: str) -> None:
    again = demo_web().at_port(8123)
    assert encoded(WEB, WEB.page(TRAPS[kind])) == encoded(again, again.page(TRAPS[kind]))


def test_every_page_of_a_session_begins_another_one() -> None:
    first = TRAPS["session"]
    page = WEB.page(first)
    sessions = {link.to.path.split("/")[2] for link in page.links()}
    assert len(sessions) == 1
    assert first.path.split("/")[2] not in sessions
    original = WEB.page(Target("maze", traps.within_session(first.path) or ""))
    assert page.title == original.title
    assert page.n_links == original.n_links


def test_the_calendar_goes_both_ways_and_most_months_are_empty() -> None:
    near = [WEB.page(Target("maze", traps.month_path((2030, month)))) for month in range(1, 13)]
    assert all("no events" in encoded(WEB, page).decode() for page in near)
    after = {link.to.path for link in near[0].links() if WEB.trap(link.to)}
    assert after == {"/calendar/2029/12/", "/calendar/2030/02/"}
    assert WEB.page(Target("maze", "/calendar/123456/07/")).answer.status == 200


def test_the_walk_grows_by_relative_links() -> None:
    page = WEB.page(Target("maze", "/walks/north/south/north/"))
    assert '<a href="south/">' in encoded(WEB, page).decode()


def test_filters_come_in_every_combination_and_order() -> None:
    for query in (
        "sort=price&colour=red&size=tall&page=3",
        "page=3&size=tall&colour=red&sort=name",
    ):
        target = Target("maze", f"/seeds?{query}")
        assert WEB.trap(target) == "facets"
        assert WEB.page(target).answer.status == 200


@pytest.mark.parametrize(
    "path",
    ["/seeds?colour=green", "/seeds?colour=red&colour=blue", "/seeds?shoe=7", "/seeds?page=99",
     "/seeds?page=1", "/seeds?page=0&sort=name", "/walks/south/", "/calendar/2025/13/",
     "/calendar/0000/05/", "/calendar/02025/05/", "/s/short/", "/s/0123456789abcdef01234567/none",
     "/beds/page/1/", "/beds/page/99/", "/beds/rose-0", "/events/nothing", "/seeds/999",
     "/seeds/01"],
)  # fmt: skip
def test_paths_that_nothing_leads_to_have_no_page(path: str) -> None:
    assert WEB.page(Target("maze", path)).answer.status == 404


def test_a_url_is_known_as_a_trap_or_not() -> None:
    assert all(TRUTH.is_trap(WEB.url(target)) for target in TRAPS.values())
    assert not any(map(TRUTH.is_trap, TRUTH.pages))
    assert not TRUTH.is_trap("http://elsewhere.test/")


def test_a_crawl_without_a_guard_meets_mostly_traps() -> None:
    met, queue, kinds = {HOME}, deque([HOME]), Counter[str | None]()
    for _ in range(3000):
        target = queue.popleft()
        kinds[WEB.trap(target)] += 1
        fresh = {link.to for link in WEB.page(target).links()} - met
        met |= fresh
        queue.extend(sorted(fresh))
    assert kinds[None] < 0.1 * kinds.total()


def test_the_home_page_leads_there_only_if_asked_to() -> None:
    assert not any(target.site == "maze" for target in ground_truth(WEB).expected)
    linked = ground_truth(demo_web(with_traps=True).at_port(8123))
    assert linked.pages >= TRUTH.pages
    assert not any(map(linked.is_trap, linked.pages | linked.never()))


def hits_of(*targets: Target) -> list[Hit]:
    asked = [Target("maze", "/robots.txt"), *TRUTH.expected, *targets]
    return [Hit(WEB.host_key("maze"), target.path, 200, 0.0) for target in asked]


def months(count: int) -> list[Target]:
    return [Target("maze", traps.month_path((3000 + n, 1))) for n in range(count)]


def test_a_few_trap_pages_are_accepted_and_too_many_are_named() -> None:
    few = int(len(TRUTH.expected) * 0.05)
    assert list(request_problems(TRUTH, hits_of(*months(few)))) == []
    (problem,) = request_problems(TRUTH, hits_of(*months(few + 3)))
    assert f"{few + 3} of {len(TRUTH.expected) + few + 3} fetched pages" in problem
    assert f"calendar {few + 3}" in problem


def test_a_real_page_must_not_be_missing_for_it() -> None:
    hits = [hit for hit in hits_of() if hit.path != "/walks/north/south/"]
    (problem,) = request_problems(TRUTH, hits)
    assert "asked for 0 times, at least 1" in problem


def test_how_many_are_too_many_is_said_by_the_plan() -> None:
    plan = Plan(entries=(HOME,), scope="host", trap_share=0.0)
    strict = ground_truth(WEB, plan)
    assert len(list(trap_problems(strict, [HOME, *months(1)]))) == 1
    assert list(trap_problems(strict, [HOME])) == []


def test_the_same_trap_page_is_not_to_be_fetched_twice() -> None:
    (problem,) = request_problems(TRUTH, hits_of(*months(1), *months(1)))
    assert "asked for 2 times, at most 1" in problem


def test_a_record_of_a_trap_page_is_not_wrong() -> None:
    records = [{"url": WEB.url(target), "outcome": "ok"} for target in TRAPS.values()]
    assert list(record_problems(TRUTH, records)) == list(record_problems(TRUTH, []))
