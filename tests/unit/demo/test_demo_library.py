import heapq
import re
from collections import deque
from functools import cache

import pytest

from skitter.demo.build import demo_web
from skitter.demo.html import encoded
from skitter.demo.model import Page, Prose, Target
from skitter.demo.topics import GENERIC, TOPICS, is_about
from skitter.demo.truth import GroundTruth, Plan, ground_truth
from skitter.demo.web import Web
from skitter.types import Outcome

HOME = Target("library", "/")
PHRASES = [topic.phrase for topic in TOPICS]


@cache
def truth_of(pages: int = 300, seed: int = 1) -> GroundTruth:
    web = demo_web(pages=pages, seed=seed).at_port(8123)
    return ground_truth(web, Plan(entries=(HOME,), scope="host"))


TRUTH = truth_of()
WEB = TRUTH.web


def relevant(truth: GroundTruth, phrase: str) -> set[Target]:
    return {target for url in truth.relevant(phrase) if (target := truth.web.target_of(url))}


def share_found(truth: GroundTruth, phrase: str, order: list[Target]) -> float:
    """Return how much of what is relevant the first fifth of ``order`` holds."""
    wanted = relevant(truth, phrase)
    return len(wanted & set(order[: len(truth.expected) // 5])) / len(wanted)


def breadth_first(web: Web) -> list[Target]:
    met, order = {HOME}, list[Target]()
    queue = deque([HOME])
    while queue:
        order.append(queue.popleft())
        for link in web.page(order[-1]).links():
            if link.to not in met:
                met.add(link.to)
                queue.append(link.to)
    return order


def best_first(web: Web, phrase: str) -> list[Target]:
    """Crawl by the words in anchors and addresses, and by where a link was found."""
    met, order, queue = {HOME}, list[Target](), [(0.0, 0, HOME)]
    while queue:
        promise, _, target = heapq.heappop(queue)
        order.append(target)
        page = web.page(target)
        here = 1.0 if is_about(page, phrase) else -promise / 2
        for link in page.links():
            if link.to not in met:
                met.add(link.to)
                said = 0.5 * words_in(phrase, link.text) + 0.2 * words_in(phrase, link.to.path)
                heapq.heappush(queue, (-said - 0.3 * here, len(met), link.to))
    return order


def words_in(phrase: str, text: str) -> float:
    words = phrase.split()
    return len(set(words) & set(re.findall("[a-z]+", text.lower()))) / len(words)


def test_the_library_has_a_few_hundred_pages_and_more_on_a_larger_web() -> None:
    assert 200 <= len(TRUTH.pages) <= 300
    assert len(truth_of(pages=1200).pages) > 2 * len(TRUTH.pages)


def test_every_link_leads_to_a_page_and_all_are_found() -> None:
    assert all(e.outcomes == {Outcome.OK} for e in TRUTH.expected.values())
    for target in TRUTH.expected:
        assert all(link.to in TRUTH.expected for link in WEB.page(target).links())


def test_the_same_seed_gives_the_same_library() -> None:
    again = demo_web().at_port(8123)
    for target in TRUTH.expected:
        assert encoded(WEB, WEB.page(target)) == encoded(again, again.page(target))
    assert truth_of(seed=2).expected.keys() != TRUTH.expected.keys()


@pytest.mark.parametrize("path", ["/hall/attic", "/item/1", "/item/9999", "/read/nothing-1"])
def test_paths_that_were_never_given_out_have_no_page(path: str) -> None:
    assert WEB.page(Target("library", path)).answer.status == 404


@pytest.mark.parametrize("pages", [200, 300, 2500])
@pytest.mark.parametrize("phrase", PHRASES)
def test_between_a_tenth_and_a_fifth_of_the_pages_are_relevant(phrase: str, pages: int) -> None:
    truth = truth_of(pages)
    assert 0.1 <= len(truth.relevant(phrase)) / len(truth.pages) <= 0.2


def test_several_phrases_find_the_pages_of_each() -> None:
    both = TRUTH.relevant("solar energy", "bee keeping")
    assert both == TRUTH.relevant("Solar Energy") | TRUTH.relevant("bee keeping")
    assert TRUTH.relevant("submarine cables") == TRUTH.relevant("") == TRUTH.relevant() == set()


def test_only_the_library_is_about_its_topics() -> None:
    everything = ground_truth(WEB)
    assert everything.relevant("solar energy") == TRUTH.relevant("solar energy")


@pytest.mark.parametrize("phrase", PHRASES)
def test_some_relevant_pages_are_only_reached_through_others(phrase: str) -> None:
    wanted = relevant(TRUTH, phrase)
    from_relevant = {link.to for target in wanted for link in WEB.page(target).links()}
    outposts = wanted - from_relevant
    assert len(outposts) >= 2


@pytest.mark.parametrize("phrase", PHRASES)
def test_most_links_to_relevant_pages_say_what_they_lead_to(phrase: str) -> None:
    wanted = relevant(TRUTH, phrase)
    texts = [
        link.text
        for target in TRUTH.expected
        for link in WEB.page(target).links()
        if link.to in wanted
    ]
    assert 0.05 < sum(text in GENERIC for text in texts) / len(texts) < 0.4
    assert sum(words_in(phrase, text) == 1 for text in texts) > len(texts) / 3


def test_a_mention_in_passing_is_not_enough() -> None:
    once = Page(at=HOME, title="Boats", blocks=(Prose(("On solar energy and solar boats.",)),))
    often = Page(at=HOME, title="Solar energy", blocks=(Prose(("Solar energy. " * 2,)),))
    assert not is_about(once, "solar energy")
    assert is_about(often, "solar energy")


@pytest.mark.parametrize("pages", [200, 300, 1000])
@pytest.mark.parametrize("seed", [1, 2])
def test_breadth_first_finds_about_a_fifth_in_the_first_fifth(pages: int, seed: int) -> None:
    truth = truth_of(pages, seed)
    order = breadth_first(truth.web)
    assert len(order) == len(truth.expected)
    shares = [share_found(truth, phrase, order) for phrase in PHRASES]
    assert 0.1 <= share_found(truth, "solar energy", order) <= 0.35
    assert 0.15 <= sum(shares) / len(shares) <= 0.25


@pytest.mark.parametrize("phrase", PHRASES)
@pytest.mark.parametrize("seed", [1, 2])
def test_best_first_finds_three_fifths_in_the_first_fifth(phrase: str, seed: int) -> None:
    truth = truth_of(seed=seed)
    assert share_found(truth, phrase, best_first(truth.web, phrase)) >= 0.6
