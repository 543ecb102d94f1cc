"""Which windows a request counts in, and that the margins keep what is promised."""

from hypothesis import given
from hypothesis import strategies as st

from skitter.job.rate import LEAST_MS, MOST_MS, Rate
from skitter.politeness.windows import (
    LEAST_JITTER_MS,
    NO_RATES,
    Counted,
    Rates,
    shortest_use_ms,
    span_ms,
    usable_ms,
    windows_of,
)

rates = st.builds(Rate, st.integers(1, 100), st.integers(LEAST_MS, MOST_MS))


def test_a_request_counts_by_the_kind_of_its_job_and_by_where_it_comes_from() -> None:
    both = Rates(Rate.parse("20/60s"), Rate.parse("10/60s"))
    assert windows_of(both, kind="site", egress="192.0.2.7") == (
        Counted("kind:site", 20, 62_300),
        Counted("from:192.0.2.7", 10, 62_300),
    )
    assert [one.name for one in windows_of(both, kind="web", egress="")] == ["kind:web", "from:"]


def test_without_a_rate_nothing_is_counted() -> None:
    assert windows_of(NO_RATES, kind="site", egress="192.0.2.7") == ()
    only = Rates(by_address=Rate.parse("10/60s"))
    assert [one.name for one in windows_of(only, kind="site", egress="::1")] == ["from:::1"]


def test_a_grant_is_good_for_as_long_as_the_shortest_window_says() -> None:
    assert shortest_use_ms(Rates(Rate(1, 60_000), Rate(1, 6_000))) == 200
    assert shortest_use_ms(Rates(Rate(1, 60_000))) == 1_800


@given(rates, st.data())
def test_grants_that_keep_the_stretched_window_make_requests_that_keep_the_rate(
    rate: Rate, data: st.DataObject
) -> None:
    """The first is used as late as may be and the last at once, and still they are apart."""
    first = data.draw(st.integers(0, usable_ms(rate)))
    early = data.draw(st.integers(0, LEAST_JITTER_MS))
    assert span_ms(rate) - first - early >= rate.per_ms
    assert span_ms(rate) <= rate.per_ms * 1.4
