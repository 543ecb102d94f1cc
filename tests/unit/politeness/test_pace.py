import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.politeness import pace as pace_module
from skitter.politeness.pace import HostPace, PaceOptions, Verdict

NOW = 1_750_000_000_000
EXACT = PaceOptions(jitter=0.0)
NO_WAIT = PaceOptions(delay_s=0.0, jitter=0.0)
MINUTE = 60_000


def _pace(options: PaceOptions = EXACT) -> HostPace:
    return HostPace(options, random.Random(7))


def _ok(pace: HostPace, now: int = NOW, latency_ms: int = 10) -> Verdict:
    return pace.on_response(200, latency_ms, None, now)


def _throttle(pace: HostPace, now: int = NOW, retry_after: str | None = None) -> Verdict:
    return pace.on_response(429, 10, retry_after, now)


def test_a_quick_page_lets_the_next_request_go_after_the_jobs_delay() -> None:
    assert _ok(_pace()) == Verdict(NOW + 1000, 1000, None, pace_module.BY_JOB)


def test_the_longest_delay_counts_and_a_crawl_delay_is_capped() -> None:
    pace = _pace()
    assert pace.effective_delay_ms(None) == 1000
    assert pace.effective_delay_ms(0.2) == 1000
    assert pace.effective_delay_ms(5.0) == 5000
    assert pace.effective_delay_ms(3600.0) == 30_000
    verdict = pace.on_response(200, 10, None, NOW, crawl_delay_s=5.0)
    assert (verdict.next_allowed_ms, verdict.reason) == (NOW + 5000, pace_module.BY_CRAWL_DELAY)


def test_no_delay_means_no_delay_however_slow_the_host() -> None:
    pace = _pace(NO_WAIT)
    for _ in range(20):
        assert _ok(pace, latency_ms=20_000).delay_ms == 0
    assert _ok(pace).reason == pace_module.NO_DELAY


def test_a_slow_host_is_asked_more_slowly_and_a_quick_one_as_set() -> None:
    pace = _pace()
    delays = [_ok(pace, latency_ms=5000).delay_ms for _ in range(6)]
    assert delays == sorted(delays)
    assert delays[0] == 3000
    assert 4800 < delays[-1] <= 5000
    assert _ok(pace, latency_ms=5000).reason == pace_module.BY_LEARNED
    for _ in range(30):
        _ok(pace)
    assert pace.effective_delay_ms() == 1000
    assert pace.learned_ms == 0


def test_requests_side_by_side_share_the_latency() -> None:
    pace = _pace(replace(EXACT, per_host=4))
    for _ in range(30):
        _ok(pace, latency_ms=8000)
    assert pace.effective_delay_ms() == pytest.approx(2000, abs=2)


@pytest.mark.parametrize("status", [301, 404, 410, 500, 502])
def test_pages_that_are_no_content_never_lower_the_delay(status: int) -> None:
    pace = _pace()
    _ok(pace, latency_ms=5000)
    before = pace.effective_delay_ms()
    for _ in range(10):
        pace.on_response(status, 1, None, NOW)
    assert pace.effective_delay_ms() == before


def test_the_learned_delay_has_a_bound() -> None:
    pace = _pace()
    for step in range(50):
        _ok(pace, latency_ms=10**7)
        pace.on_fault(NOW + step)
    assert pace.effective_delay_ms() == 30_000


def test_a_pace_that_does_not_learn_keeps_to_the_setting_and_still_rests() -> None:
    pace = _pace(replace(EXACT, adaptive=False))
    _ok(pace, latency_ms=9000)
    pace.on_fault(NOW)
    assert pace.effective_delay_ms() == 1000
    assert _throttle(pace).next_allowed_ms == NOW + MINUTE


def test_a_fault_slows_down_even_without_a_delay_and_good_pages_mend_it() -> None:
    pace = _pace(NO_WAIT)
    assert pace.on_fault(NOW) == Verdict(NOW + 500, 500, None, pace_module.BY_LEARNED, floor_ms=500)
    assert pace.on_fault(NOW).delay_ms == 1000
    for _ in range(12):
        _ok(pace)
    assert pace.effective_delay_ms() == 0


def test_retry_after_is_obeyed_in_seconds_and_as_a_date() -> None:
    verdict = _throttle(_pace(), retry_after="120")
    assert verdict.next_allowed_ms == verdict.retry_at_ms == NOW + 2 * MINUTE
    assert verdict.reason == "429 with Retry-After of 120 s: the host rests for 120 s"
    verdict = _pace().on_response(503, 10, "Sun, 15 Jun 2025 15:10:00 GMT", NOW)
    assert verdict.retry_at_ms == NOW + 200_000
    assert not verdict.give_up


@pytest.mark.parametrize("value", ["0", "Sun, 15 Jun 2003 15:10:00 GMT"])
def test_a_retry_after_of_nothing_still_leaves_a_growing_delay(value: str) -> None:
    pace = _pace(NO_WAIT)
    now, waits = NOW, []
    for _ in range(7):
        verdict = _throttle(pace, now, value)
        waits.append(verdict.next_allowed_ms - now)
        now = verdict.next_allowed_ms
    assert waits == [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000]


@pytest.mark.parametrize("value", [None, "", "-3", "later"])
def test_without_a_usable_retry_after_rests_double_up_to_a_day(value: str | None) -> None:
    pace = _pace()
    now, waits = NOW, []
    for _ in range(14):
        verdict = _throttle(pace, now, value)
        assert verdict.retry_at_ms == verdict.next_allowed_ms
        waits.append((verdict.next_allowed_ms - now) // 1000)
        now = verdict.next_allowed_ms
    assert waits[:4] == [60, 120, 240, 480]
    assert waits[10:] == [61_440, 86_400, 86_400, 86_400]


@given(st.integers(0, 2**32))
def test_jitter_only_lengthens_a_rest(seed: int) -> None:
    pace = HostPace(PaceOptions(jitter=0.1), random.Random(seed))
    assert NOW + MINUTE <= _throttle(pace).next_allowed_ms <= NOW + 66_000


def test_one_url_that_is_always_throttled_does_not_block_its_host_for_hours() -> None:
    pace = _pace()
    now = NOW
    for _ in range(20):
        verdict = _throttle(pace, now)
        assert verdict.next_allowed_ms - now == MINUTE
        now = verdict.next_allowed_ms
        now = _ok(pace, now).next_allowed_ms


def test_a_server_error_is_no_success_and_keeps_the_count() -> None:
    pace = _pace()
    now = _throttle(pace).next_allowed_ms
    pace.on_response(500, 10, None, now)
    assert pace.throttles == 1
    pace.on_response(404, 10, None, now)
    assert pace.throttles == 0


def test_answers_to_requests_already_under_way_are_one_incident() -> None:
    pace = _pace(replace(EXACT, per_host=4))
    first = _throttle(pace)
    for _ in range(3):
        assert _throttle(pace, NOW + 5).next_allowed_ms == first.next_allowed_ms + 5
    late = _ok(pace, NOW + 10)
    assert late.next_allowed_ms == first.next_allowed_ms + 5
    assert pace.throttles == 1


def test_an_earlier_longer_rest_is_not_shortened() -> None:
    pace = _pace()
    first = _throttle(pace, NOW, "600")
    assert _throttle(pace, NOW + 1, "1").next_allowed_ms == first.next_allowed_ms


def test_a_retry_after_beyond_the_cap_gives_up_the_url_and_not_the_host() -> None:
    verdict = _throttle(_pace(), NOW, "99999999")
    assert verdict.give_up
    assert verdict.retry_at_ms is None
    assert verdict.next_allowed_ms == NOW + MINUTE
    assert "given up" in verdict.reason


def test_trouble_is_forgiven_after_a_quiet_half_hour() -> None:
    pace = _pace()
    first = _throttle(pace)
    second = _throttle(pace, first.next_allowed_ms)
    rested = second.next_allowed_ms
    assert _throttle(pace, rested + 29 * MINUTE).next_allowed_ms == rested + 33 * MINUTE
    rested += 33 * MINUTE
    assert _throttle(pace, rested + 30 * MINUTE).next_allowed_ms == rested + 31 * MINUTE


def test_quiet_counts_from_the_end_of_a_long_rest() -> None:
    pace = _pace()
    first = _throttle(pace, NOW)
    rested = _throttle(pace, first.next_allowed_ms, "7200").next_allowed_ms
    assert _throttle(pace, rested).next_allowed_ms == rested + 2 * MINUTE


def test_a_site_that_names_its_times_does_not_make_later_rests_longer() -> None:
    pace = _pace()
    rested = NOW
    for _ in range(5):
        rested = _throttle(pace, rested, "3").next_allowed_ms
    assert _throttle(pace, rested).next_allowed_ms == rested + MINUTE


def test_the_state_survives_the_store() -> None:
    pace = _pace()
    _ok(pace, latency_ms=5000)
    rested = _throttle(pace).next_allowed_ms
    data = pace.encode()
    assert len(data) < 32
    again = HostPace.decode(data, EXACT, random.Random(7))
    assert again.encode() == data
    assert again.effective_delay_ms() == pace.effective_delay_ms()
    assert _throttle(again, rested).next_allowed_ms == rested + 2 * MINUTE


@pytest.mark.parametrize("data", [b"", b"\x01", b"\x07" + bytes(22), bytes(40)])
def test_damaged_state_is_a_fresh_start(data: bytes) -> None:
    pace = HostPace.decode(data, EXACT, random.Random(7))
    assert pace.encode() == _pace().encode()


EVENTS = st.lists(
    st.tuples(
        st.sampled_from([200, 301, 404, 429, 500, 503, None]),
        st.integers(0, 100_000),
        st.sampled_from([None, "0", "5", "100000000", "x", "-1"]),
        st.integers(0, 4_000_000),
    ),
    max_size=25,
)


@given(EVENTS, st.sampled_from([0.0, 0.5, 2.0]), st.sampled_from([None, 0.1, 9.0, 900.0]))
def test_no_history_breaks_the_bounds(
    events: list[tuple[int | None, int, str | None, int]], delay_s: float, crawl: float | None
) -> None:
    options = PaceOptions(delay_s=delay_s)
    pace = HostPace(options, random.Random(3))
    least = round(max(delay_s, min(crawl or 0.0, 30.0)) * 1000)
    now, allowed = NOW, NOW
    for status, latency, retry_after, step in events:
        now += step
        if status is None:
            verdict = pace.on_fault(now, crawl_delay_s=crawl)
        else:
            verdict = pace.on_response(status, latency, retry_after, now, crawl_delay_s=crawl)
        assert verdict.next_allowed_ms >= now + verdict.delay_ms
        assert least <= verdict.delay_ms <= max(30_000, least)
        assert verdict.next_allowed_ms <= max(allowed, now + 86_400_000)
        assert verdict.give_up <= (verdict.retry_at_ms is None)
        allowed = max(allowed, verdict.next_allowed_ms)
        data = pace.encode()
        assert HostPace.decode(data, options, random.Random(3)).encode() == data
