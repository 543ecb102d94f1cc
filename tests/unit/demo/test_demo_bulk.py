from statistics import median

import pytest

from skitter.demo.bulk import BulkPlan, bulk_page, bulk_web
from skitter.demo.html import encoded
from skitter.demo.model import Spelling
from skitter.demo.truth import GroundTruth, Plan, ground_truth
from skitter.demo.web import Web
from skitter.types import Outcome

PAGES = 700


def web_of(hosts: int) -> tuple[BulkPlan, Web, GroundTruth]:
    plan = BulkPlan(PAGES, hosts)
    web = bulk_web(plan, [f"127.0.0.{n + 2}" for n in range(hosts)], 8123)
    return plan, web, ground_truth(web, Plan(scope="any"))


@pytest.fixture(params=[1, 7], ids=["one host", "seven hosts"])
def known(request: pytest.FixtureRequest) -> tuple[BulkPlan, Web, GroundTruth]:
    return web_of(request.param)


def test_every_page_is_reachable_and_no_other(
    known: tuple[BulkPlan, Web, GroundTruth],
) -> None:
    plan, web, truth = known
    assert truth.pages == {web.url(plan.target(n)) for n in range(PAGES)}


def test_the_last_pages_are_reached_by_redirects_alone(
    known: tuple[BulkPlan, Web, GroundTruth],
) -> None:
    plan, _, truth = known
    behind = {plan.target(n) for n in range(plan.open_pages, PAGES)}
    pages = (bulk_page(plan, number) for number in range(PAGES))
    assert behind.isdisjoint(link.to for page in pages for link in page.links())
    assert behind <= truth.expected.keys()


def test_closed_pages_exist_and_are_linked_and_refused(
    known: tuple[BulkPlan, Web, GroundTruth],
) -> None:
    _, web, truth = known
    closed = [e for e in truth.expected.values() if e.target.path.startswith("/private/")]
    assert closed
    assert all(e.outcomes == {Outcome.REFUSED} and e.most == 0 for e in closed)
    assert all(web.page(e.target).answer.status == 200 for e in closed)


def test_pages_are_heavy_and_have_forty_to_eighty_links() -> None:
    plan, web, _ = web_of(1)
    pages = [bulk_page(plan, number) for number in range(300)]
    assert all(40 <= page.n_links <= 80 for page in pages)
    assert 16_000 < median(len(encoded(web, page)) for page in pages) < 24_000


def test_a_tenth_of_the_links_are_second_spellings() -> None:
    plan, _, _ = web_of(1)
    links = [link for number in range(300) for link in bulk_page(plan, number).links()]
    second = [link for link in links if link.spelling in {Spelling.FRAGMENT, Spelling.QUESTION}]
    assert 0.06 < len(second) / len(links) < 0.14


def test_pages_are_dealt_out_to_hosts_and_live_only_there() -> None:
    plan, web, _ = web_of(7)
    target = plan.target(10)
    assert web.hosts[target.site] == "127.0.0.5"
    assert web.page(target).title == bulk_page(plan, 10).title
    assert web.page(target._replace(site="h0")).answer.status == 404


def test_the_same_plan_gives_the_same_pages() -> None:
    assert bulk_page(BulkPlan(PAGES, 7), 42) == bulk_page(BulkPlan(PAGES, 7), 42)
    assert bulk_page(BulkPlan(PAGES, 7, seed=2), 42) != bulk_page(BulkPlan(PAGES, 7), 42)
