"""Scores of pages and links, and what a crawl in their order finds early."""

import dataclasses
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from topic_web import (
    Plan,
    crawl_best_first,
    crawl_breadth_first,
    found_early,
    make_web,
)

from skitter.crawl.keyword_pattern import FEW, KeywordPattern, fold
from skitter.crawl.relevance import LEVELS, Relevance, best_texts

URL = "http://site.test/a/17"


@pytest.fixture
def relevance() -> Relevance:
    return Relevance(["election", "climate change", "选举"])


def hits(keywords: Sequence[str], text: str) -> list[str]:
    return [word for _, word in KeywordPattern(keywords).places(fold(text))]


@pytest.mark.parametrize(
    ("keyword", "text", "found"),
    [
        ("election", "Elections and ELECTION day", ["election", "election"]),
        ("elections", "an election", ["election"]),
        ("vote", "voters devote", ["vote"]),
        ("art", "arts, party, article: art", ["arts", "art"]),
        ("bus", "buses bus busy", ["buses", "bus"]),
        ("climate change", "/climate-change/", ["climate-change"]),
        ("climate-change", "Climate  Change; climatechange", ["climate  change", "climatechange"]),
        ("new york", "New Yorkers", ["new york"]),
        ("选举", "2024年选举结果", ["选举"]),
        ("ミライ", "ﾐﾗｲの話", ["ミライ"]),
        ("선거", "총선거는", ["선거"]),
        ("5g", "5G, 15g", ["5g"]),
        ("2024", "/2024/ 20245 12024", ["2024"]),
        ("c++", "C++ and C", ["c++"]),
        ("straße", "STRASSE", ["strasse"]),
        ("école", "ÉCOLE", ["école"]),
        ("a.b", "a.b axb", ["a.b"]),
        ("wahl", "/wahlkampf_2024", ["wahl"]),
    ],
)
def test_a_keyword_is_found_as_people_write_it(keyword: str, text: str, found: list[str]) -> None:
    assert hits([keyword], text) == found


def test_the_longer_of_two_keywords_is_found() -> None:
    assert hits(["vote", "voter turnout"], "voter turnout, votes") == ["voter turnout", "vote"]


def test_no_keyword_is_found_nowhere() -> None:
    assert hits([], "anything") == []
    assert hits([" "], "any thing") == []


WORDS = st.text(st.sampled_from("abcé中1 -+"), min_size=1, max_size=5)


@settings(max_examples=60)
@given(
    st.lists(WORDS, min_size=1, max_size=6), st.text(st.sampled_from("abcé中1 -+/"), max_size=40)
)
def test_many_keywords_are_found_as_each_alone(words: list[str], text: str) -> None:
    strangers = [f"zz{chr(0x61 + n % 26)}{chr(0x61 + n // 26)}q" for n in range(FEW + 1)]
    alone = any(KeywordPattern([word]).matches(fold(text)) for word in words)
    assert KeywordPattern(words).matches(fold(text)) == alone
    assert KeywordPattern([*words, *strangers]).matches(fold(text)) == alone


def test_the_most_keywords_there_may_be_are_found() -> None:
    words = [f"{'word' * 20} {n:04d}" for n in range(1000)]
    pattern = KeywordPattern(words)
    assert pattern.matches(f"x {words[777]} y")
    assert not pattern.matches("word 777 " * 10)


def test_a_page_about_the_keywords_scores_more_the_more_it_says_so(relevance: Relevance) -> None:
    steps = [
        relevance.page("Garden", "", "flowers and soil"),
        relevance.page("Garden", "", "flowers, soil and an election"),
        relevance.page("Garden", "", "election " * 5),
        relevance.page("Election", "", "election " * 5),
        relevance.page("Election", "The election and climate change", "election " * 5),
    ]
    assert steps == sorted(set(steps))
    assert steps[0] == 0.0
    assert steps[-1] < 1.0


def test_a_page_without_any_text_scores_nothing(relevance: Relevance) -> None:
    assert relevance.page(None, None, "") == 0.0


def test_a_link_is_judged_by_text_url_and_page(relevance: Relevance) -> None:
    plain = relevance.link("here", URL, 0.0)
    from_good_page = relevance.link("here", URL, 0.9)
    spelled = relevance.link("here", "http://site.test/election-results", 0.0)
    said = relevance.link("Election results", URL, 0.0)
    both = relevance.link("Election results", "http://site.test/election", 0.0)
    everything = relevance.link("Election results", "http://site.test/election", 0.9)
    assert plain == 0.0 < from_good_page < spelled < said < both < everything < 1.0


def test_a_text_that_says_something_else_takes_less_from_its_page(relevance: Relevance) -> None:
    assert relevance.link("Page 2", URL, 0.8) == relevance.link("", URL, 0.8)
    assert relevance.link("Ferry crews rebuild the wall", URL, 0.8) < relevance.link("2", URL, 0.8)
    assert relevance.link("老师们在图书馆门前排起长队", URL, 0.8) < relevance.link(
        "第2页", URL, 0.8
    )


@pytest.mark.parametrize(
    "url",
    [
        "http://site.test/%E9%80%89%E4%B8%BE/1.html",
        "http://site.test/?q=climate+change",
        "http://site.test/Climate_Change",
        "http://elections.test/",
        "http://site.test/a?topic=ELECTION",
    ],
)
def test_a_keyword_is_found_in_any_part_of_a_url(relevance: Relevance, url: str) -> None:
    assert relevance.link("", url, 0.0) > 0.0


@pytest.mark.parametrize("url", ["http://site.test/%FF%00%0A", "http://", "", "http://a.test/%"])
def test_an_odd_url_is_scored_all_the_same(relevance: Relevance, url: str) -> None:
    assert relevance.link("x", url, 0.5) == 0.25


def test_a_chain_of_other_pages_sinks(relevance: Relevance) -> None:
    handed_down, scores = 0.9, []
    for _ in range(8):
        score = relevance.link("more", URL, handed_down)
        scores.append(score)
        handed_down = relevance.handed_down(0.0, relevance.rank(score))
    assert scores == sorted(scores, reverse=True)
    assert scores[0] > 0.4
    assert scores[3] < 0.05
    assert relevance.rank(scores[-1]) == LEVELS


def test_a_relevant_page_hands_down_its_own_worth(relevance: Relevance) -> None:
    assert relevance.handed_down(0.8, LEVELS) == 0.8
    assert relevance.handed_down(0.1, 0) == 0.5


def test_a_page_with_links_to_many_is_a_hub(relevance: Relevance) -> None:
    none = relevance.hub(["Home", "Contact"])
    one = relevance.hub(["Home", "Election night"])
    many = relevance.hub(["Election night", "The election", "Climate change"])
    assert none == 0.0 < one < many < 1.0


@given(st.floats(0, 1), st.floats(0, 1))
def test_a_better_score_is_never_ranked_behind(one: float, other: float) -> None:
    relevance = Relevance(["x"])
    better, worse = max(one, other), min(one, other)
    assert 0 <= relevance.rank(better) <= relevance.rank(worse) <= LEVELS
    assert abs(relevance.score(relevance.rank(one)) - one) <= 1 / LEVELS


@pytest.mark.parametrize("rank", [LEVELS + 1, 1 << 24, 0xFFFF_FFFF])
def test_a_rank_that_is_no_score_promises_nothing(rank: int) -> None:
    assert Relevance(["x"]).score(rank) == 0.0


@given(st.text(max_size=30), st.text(max_size=30), st.floats(0, 1))
def test_scores_stay_in_range_whatever_the_text(anchor: str, url: str, parent: float) -> None:
    relevance = Relevance(["a", "election", "中"])
    assert 0.0 <= relevance.link(anchor, url, parent) <= 1.0
    assert 0.0 <= relevance.page(anchor, url, anchor + url) <= 1.0


def test_all_that_a_page_says_of_a_target_counts() -> None:
    hrefs = ["/a", "/b", "/a#comments", "/a", "/c"]
    texts = ["", "B", "Election night", "Read on", ""]
    assert best_texts(hrefs, texts) == {"/a": "Election night Read on", "/b": "B", "/c": ""}
    assert best_texts(["/a"], []) == {}


KINDS = {
    "ordinary": Plan(seed=0),
    "small": Plan(seed=0, pages=300),
    "noisy texts": Plan(seed=0, false=0.15),
    "loose topics": Plan(seed=0, same_topic=0.4),
    "few links": Plan(seed=0, links=4),
    "hidden behind others": Plan(seed=0, hidden=0.3),
    "lists": Plan(seed=0, listed=True),
}


@pytest.mark.parametrize("kind", KINDS)
def test_best_first_finds_most_relevant_pages_in_the_first_fifth(kind: str) -> None:
    plan = KINDS[kind]
    for seed in range(3):
        web = make_web(_with_seed(plan, seed))
        plain, best = crawl_breadth_first(web), crawl_best_first(web)
        assert {node.number for node in best} == {node.number for node in plain}
        assert found_early(plain) < 0.35
        assert found_early(best) >= 0.6


def test_texts_that_seldom_tell_are_made_up_for_by_moving_up() -> None:
    for seed in range(3):
        web = make_web(Plan(seed=seed, told=0.3, spelled=0.1))
        assert found_early(crawl_best_first(web)) >= 0.5
        assert found_early(crawl_best_first(web, better=True)) >= 0.65


@pytest.mark.parametrize("ahead", [4, 16])
def test_pages_fetched_side_by_side_blur_the_order_only_a_little(ahead: int) -> None:
    for seed in range(3):
        web = make_web(Plan(seed=seed, pages=1000))
        assert found_early(crawl_best_first(web, ahead=ahead)) >= 0.65


def _with_seed(plan: Plan, seed: int) -> Plan:
    return dataclasses.replace(plan, seed=seed)
