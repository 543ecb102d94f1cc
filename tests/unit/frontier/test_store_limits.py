"""Sliding logs and the sharing of tokens, without a store."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.frontier.limits import Holding, SlidingLog, TokenWish, Window, deal, fair_share

NOW = 1_000_000


def grant(log: SlidingLog, window: Window, now_ms: int) -> int:
    """Grant a request if the window allows it; answers 0, or when it opens."""
    log.trim(now_ms, window.span_ms)
    opens = log.opens_ms(window, now_ms)
    if not opens:
        log.times.append(now_ms)
    return opens


def most_in_any(times: Sequence[int], span_ms: int) -> int:
    """Return the most grants that any window holds, its beginning included and its end not."""
    return max((sum(t <= x < t + span_ms for x in times) for t in times), default=0)


# Windows


def test_a_burst_at_the_edge_of_a_window_allows_no_more() -> None:
    log, window = SlidingLog(), Window("w", 3, 1_000)
    times = [NOW + 900, NOW + 950, NOW + 990, NOW + 1_000, NOW + 1_899, NOW + 1_900, NOW + 1_901]
    granted = [time for time in times if not grant(log, window, time)]
    assert granted == [NOW + 900, NOW + 950, NOW + 990, NOW + 1_900]


def test_a_refusal_tells_when_it_opens() -> None:
    log, window = SlidingLog(), Window("w", 2, 1_000)
    assert [grant(log, window, NOW + step) for step in (0, 100, 200)] == [0, 0, NOW + 1_000]
    assert grant(log, window, NOW + 999) == NOW + 1_000
    assert grant(log, window, NOW + 1_000) == 0


def test_those_who_are_refused_together_get_a_place_one_after_the_other() -> None:
    log, window = SlidingLog([NOW, NOW + 100, NOW + 300]), Window("w", 3, 1_000)
    opens = [log.opens_ms(window, NOW + 400, before) - NOW for before in range(7)]
    assert opens == [1_000, 1_100, 1_300, 2_000, 2_100, 2_300, 3_000]


def test_a_grant_that_was_not_used_makes_room() -> None:
    log, window = SlidingLog(), Window("w", 2, 1_000)
    grant(log, window, NOW)
    grant(log, window, NOW + 1)
    assert not log.take_back(NOW + 2)
    assert log.take_back(NOW)
    assert grant(log, window, NOW + 3) == 0
    assert list(log.times) == [NOW + 1, NOW + 3]


def test_a_smaller_number_counts_what_was_granted_under_a_larger_one_and_the_other_way() -> None:
    log, wide, narrow = SlidingLog(), Window("w", 5, 1_000), Window("w", 2, 1_000)
    assert [grant(log, wide, NOW + step) for step in range(4)] == [0] * 4
    assert grant(log, narrow, NOW + 4) == NOW + 2 + 1_000
    assert grant(log, wide, NOW + 5) == 0
    assert grant(log, wide, NOW + 6) == NOW + 1_000


def test_who_asks_by_a_short_span_does_not_make_a_long_one_forget() -> None:
    log, short, long = SlidingLog(), Window("w", 100, 1_000), Window("w", 3, 60_000)
    assert grant(log, long, NOW) == 0
    for step in (1, 2):
        assert grant(log, short, NOW + step * 20_000) == 0
    assert grant(log, long, NOW + 40_001) == NOW + 60_000


def test_what_nobody_asks_for_any_more_is_forgotten() -> None:
    log = SlidingLog()
    grant(log, Window("w", 3, 60_000), NOW)
    assert log.trim(NOW + 30_000, 1_000) == []
    assert log.trim(NOW + 120_000, 1_000) == [NOW]


def test_a_clock_that_was_set_back_holds_nobody_up_for_longer_than_a_window() -> None:
    log, window = SlidingLog(), Window("w", 2, 1_000)
    grant(log, window, NOW)
    grant(log, window, NOW + 10)
    back = NOW - 3_600_000
    assert grant(log, window, back) == back + 1_000
    assert grant(log, window, back + 1_000) == 0


steps = st.lists(st.integers(0, 700), min_size=1, max_size=120)


@given(steps, st.integers(1, 6), st.integers(1_000, 2_000))
def test_no_history_grants_more_than_the_window_allows(
    gaps: list[int], most: int, span_ms: int
) -> None:
    log, window, now_ms = SlidingLog(), Window("w", most, span_ms), NOW
    granted: list[int] = []
    for gap in gaps:
        now_ms += gap
        opens = grant(log, window, now_ms)
        if opens:
            assert now_ms < opens <= now_ms + span_ms
            assert sum(opens - span_ms < time <= opens for time in granted) < most
        else:
            granted.append(now_ms)
    assert most_in_any(granted, span_ms) <= most


# Tokens


@pytest.mark.parametrize(
    ("wanted", "shares"),
    [
        ({"a": 20}, {"a": 8}),
        ({"a": 3}, {"a": 3}),
        ({"a": 20, "b": 20}, {"a": 4, "b": 4}),
        ({"a": 20, "b": 1}, {"a": 7, "b": 1}),
        ({"a": 20, "b": 2, "c": 20}, {"a": 3, "b": 2, "c": 3}),
        ({"a": 9, "b": 9, "c": 9}, {"a": 3, "b": 3, "c": 2}),
        ({"a": 4, "b": 4}, {"a": 4, "b": 4}),
        ({"a": 0, "b": 9}, {"a": 0, "b": 8}),
    ],
)
def test_tokens_are_shared_by_what_each_one_wants(
    wanted: dict[str, int], shares: dict[str, int]
) -> None:
    assert {name: fair_share(8, wanted, name, 0) for name in wanted} == shares


def test_more_holders_than_tokens_take_turns() -> None:
    wanted = dict.fromkeys("abcde", 3)
    turns = [{name for name in wanted if fair_share(2, wanted, name, turn)} for turn in range(5)]
    assert all(len(turn) == 2 for turn in turns)
    assert {name for turn in turns[:3] for name in turn} == set(wanted)


@given(
    st.integers(1, 10),
    st.dictionaries(st.sampled_from("abcdefghijklmn"), st.integers(0, 12), min_size=1),
    st.integers(0, 1_000),
)
def test_all_is_shared_that_is_wanted_and_no_more_than_there_is(
    most: int, wanted: dict[str, int], turn: int
) -> None:
    shares = {name: fair_share(most, wanted, name, turn) for name in wanted}
    assert all(0 <= shares[name] <= wanted[name] for name in wanted)
    assert sum(shares.values()) == min(most, sum(wanted.values()))


def test_tokens_in_use_are_nobody_elses_until_they_are_given_back() -> None:
    busy = {"a": Holding(8, 20, 0.0)}
    allowed, waiting = deal(TokenWish("x", 8, 0, 5), "b", busy, 0)
    assert (allowed, waiting.held, waiting.wanted) == (0, 0, 5)
    allowed, shrinking = deal(TokenWish("x", 8, 8, 20), "a", {"b": waiting}, 0)
    assert (allowed, shrinking.held) == (4, 8), "it starts no more, but what runs may end"
    assert deal(TokenWish("x", 8, 0, 5), "b", {"a": shrinking}, 0)[0] == 0
    _, shrunk = deal(TokenWish("x", 8, 5, 20), "a", {"b": waiting}, 0)
    assert deal(TokenWish("x", 8, 0, 5), "b", {"a": shrunk}, 0)[0] == 3


def test_a_limit_that_became_smaller_gives_nobody_anything() -> None:
    allowed, held = deal(TokenWish("x", 2, 3, 5), "b", {"a": Holding(4, 4, 0.0)}, 0)
    assert (allowed, held.held) == (0, 3)
