from collections.abc import Callable
from typing import Any

import pytest

from skitter.demo.build import demo_web
from skitter.demo.expected import Expected
from skitter.demo.model import Target
from skitter.demo.server import Hit
from skitter.demo.truth import Plan, ground_truth
from skitter.demo.verify import problems
from skitter.types import Outcome

WEB = demo_web().at_port(8123)
TRUTH = ground_truth(WEB, Plan(sitemaps="no"))
Records = dict[str, dict[str, Any]]


def record(expected: Expected, outcome: str) -> dict[str, Any]:
    return {
        "url": WEB.url(expected.target),
        "final_url": WEB.url(expected.end) if expected.end else None,
        "outcome": outcome,
        "status": expected.status,
        "title": expected.title,
        "encoding": next(iter(expected.encodings), None),
        "n_links": expected.n_links,
        "duplicate_of": None,
    }


def ideal_records() -> Records:
    """Return the records of a crawl that meets every page by itself before a redirect to it."""
    found: Records = {}
    passed = {hop for e in TRUTH.expected.values() for hop in e.chain[1:]}
    twins_met: set[frozenset[Target]] = set()
    for target, expected in TRUTH.expected.items():
        duplicate = Outcome.DUPLICATE in expected.outcomes
        if (target in passed and not linked(target)) or expected.optional:
            continue
        outcome = Outcome.DUPLICATE if duplicate else min(expected.outcomes)
        kept = record(expected, outcome)
        if duplicate:
            kept["duplicate_of"] = WEB.url(expected.chain[-1])
        if expected.twins in twins_met:
            kept["duplicate_of"] = WEB.url(min(expected.twins))
        elif expected.twins:
            twins_met.add(expected.twins)
        found[kept["url"]] = kept
    return found


def linked(target: Target) -> bool:
    return any(
        link.to == target
        for place, expected in TRUTH.expected.items()
        if expected.end == place
        for link in WEB.page(place).links()
    )


def ideal_hits() -> list[Hit]:
    hits = [Hit(WEB.host_key(site), "/robots.txt", 200, 0.0) for site in WEB.sites]
    for target, expected in TRUTH.expected.items():
        hits += [Hit(WEB.host_key(target.site), target.path, 200, 1.0)] * expected.least
    return hits


RECORDS, HITS = ideal_records(), ideal_hits()
HOME, NEWS = WEB.entry, WEB.url(Target("news", "/"))


def found(records: Records | None = None, hits: list[Hit] | None = None) -> list[str]:
    kept = RECORDS if records is None else records
    return problems(TRUTH, list(kept.values()), HITS if hits is None else hits)


def changed(url: str, **values: Any) -> Records:
    return RECORDS | {url: RECORDS[url] | values}


def test_a_right_crawl_has_no_problems() -> None:
    assert found() == []


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"title": "Other"}, "title 'Other' instead of"),
        ({"encoding": "gbk"}, "encoding gbk"),
        ({"n_links": 1}, "1 links instead of"),
        ({"status": 404}, "status 404"),
        ({"outcome": "failed"}, "outcome failed instead of ok"),
        ({"final_url": HOME}, "final_url"),
        ({"duplicate_of": HOME}, "which is another page"),
    ],
)
def test_a_wrong_value_is_named(values: dict[str, Any], words: str) -> None:
    (problem,) = found(changed(NEWS, **values))
    assert problem.startswith(NEWS)
    assert words in problem


def test_a_lost_page_is_named() -> None:
    (problem,) = found({url: kept for url, kept in RECORDS.items() if url != NEWS})
    assert problem == f"{NEWS}: accounted for by 0 records instead of one"


def test_a_second_record_is_named_even_under_another_spelling() -> None:
    again = RECORDS | {"twice": RECORDS[NEWS] | {"url": f"{NEWS}?utm_source=x"}}
    assert found(again) == [f"{NEWS}: accounted for by 2 records instead of one"]


def test_a_record_of_what_must_not_be_fetched_is_named() -> None:
    secret = WEB.url(Target("lab", "/private/cellar"))
    (problem,) = found(RECORDS | {secret: RECORDS[NEWS] | {"url": secret}})
    assert "should have none" in problem


def test_a_page_may_be_brought_by_the_redirect_to_it_instead() -> None:
    redirect = WEB.url(Target("lab", "/redirect/popular"))
    goal = WEB.url(Target("lab", "/redirect/popular-end"))
    brought = {url: kept for url, kept in RECORDS.items() if url != goal}
    brought[redirect] = RECORDS[goal] | {"url": redirect}
    assert found(brought) == []
    both = RECORDS | {redirect: brought[redirect]}
    assert found(both) == [f"{goal}: accounted for by 2 records instead of one"]


def test_every_twin_but_one_names_another() -> None:
    twins = [WEB.url(Target("lab", f"/twin/{name}")) for name in ("first", "second", "third")]
    alone = RECORDS | {url: RECORDS[url] | {"duplicate_of": None} for url in twins}
    (problem,) = found(alone)
    assert "3 of these equal pages count as the first" in problem


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda hit: [hit, hit], "asked for 2 times, at most 1"),
        (lambda hit: [hit, hit._replace(path="/?utm_source=x")], "asked for 2 times, at most 1"),
        (lambda hit: [], "asked for 0 times, at least 1"),
        (lambda hit: [hit, hit._replace(path="/comments/0")], "must never be"),
        (lambda hit: [hit, hit._replace(host="other.test")], "not served"),
    ],
)
def test_wrong_requests_are_named(change: Callable[[Hit], list[Hit]], words: str) -> None:
    news = Hit(WEB.host_key("news"), "/", 200, 1.0)
    hits = [new for hit in HITS for new in (change(hit) if hit == news else [hit])]
    (problem,) = found(hits=hits)
    assert words in problem


def test_a_page_asked_for_before_its_robots_file_is_named() -> None:
    hits = [hit for hit in HITS if hit.path != "/robots.txt" or "news" not in hit.host]
    (problem,) = found(hits=hits)
    assert "before the robots.txt" in problem
