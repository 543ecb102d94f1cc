"""How many requests may be in flight: falls fast, rises slowly, stays within its bounds."""

import resource

from hypothesis import given
from hypothesis import strategies as st

from skitter.crawl.load import CPU_LEAST_SHARE, LEAST, Load, next_limit, raise_file_limit, read_load

CALM = Load(lag_s=0.0, memory_free=0.5, files_used=0.1)
MIDDLING = Load(lag_s=0.5, memory_free=0.5, files_used=0.1)
LAGGING = Load(lag_s=2.0, memory_free=0.5, files_used=0.1)
SHORT_OF_MEMORY = Load(lag_s=0.0, memory_free=0.01, files_used=0.1)
CROWDED = Load(lag_s=0.0, memory_free=0.5, files_used=0.1, cpu_wait=0.95)
OUT_OF_FILES = Load(lag_s=0.0, memory_free=0.5, files_used=0.95)

SHARES = st.floats(min_value=0, max_value=1)
LOADS = st.builds(
    Load,
    lag_s=st.floats(min_value=0, max_value=60),
    memory_free=SHARES,
    files_used=SHARES,
    cpu_wait=SHARES,
)
MOST = st.integers(min_value=1, max_value=10_000)


@given(MOST, st.data(), LOADS)
def test_the_limit_stays_between_the_least_and_the_most(
    most: int, data: st.DataObject, load: Load
) -> None:
    least = min(LEAST, most)
    current = data.draw(st.integers(min_value=least, max_value=most))
    assert least <= next_limit(current, most, load) <= most


@given(MOST, st.lists(LOADS, max_size=30))
def test_any_run_of_readings_stays_within_bounds_and_calm_leads_back_to_the_most(
    most: int, loads: list[Load]
) -> None:
    limit = most
    for load in loads:
        limit = next_limit(limit, most, load)
        assert min(LEAST, most) <= limit <= most
    for _ in range(100):
        limit = next_limit(limit, most, CALM)
    assert limit == most


@given(st.integers(min_value=LEAST + 1, max_value=10_000), LOADS)
def test_it_falls_faster_than_it_rises(current: int, load: Load) -> None:
    after = next_limit(current, 20_000, load)
    rise = next_limit(current, 20_000, CALM) - current
    assert rise >= 1
    if after < current and after not in (LEAST, 20_000 // CPU_LEAST_SHARE):
        assert current - after >= rise


@given(MOST, st.data(), LOADS, LOADS)
def test_a_machine_in_more_trouble_is_never_asked_for_more(
    most: int, data: st.DataObject, one: Load, two: Load
) -> None:
    current = data.draw(st.integers(min_value=min(LEAST, most), max_value=most))
    worst = Load(
        lag_s=max(one.lag_s, two.lag_s),
        memory_free=min(one.memory_free, two.memory_free),
        files_used=max(one.files_used, two.files_used),
        cpu_wait=max(one.cpu_wait, two.cpu_wait),
    )
    assert next_limit(current, most, worst) <= next_limit(current, most, one)


def test_each_kind_of_trouble_lowers_it_and_middling_keeps_it() -> None:
    assert next_limit(64, 64, SHORT_OF_MEMORY) == 32
    assert next_limit(64, 64, LAGGING) == 48
    assert next_limit(64, 64, OUT_OF_FILES) == 48
    assert next_limit(64, 64, CROWDED) == 48
    assert next_limit(32, 64, MIDDLING) == 32
    assert next_limit(32, 64, CALM) == 36


def test_a_crowded_processor_never_takes_more_than_three_quarters() -> None:
    limit = 64
    for _ in range(50):
        limit = next_limit(limit, 64, CROWDED)
    assert limit == 16


def test_a_crawl_that_wants_less_than_the_least_gets_what_it_wants() -> None:
    assert next_limit(1, 1, SHORT_OF_MEMORY) == 1
    assert next_limit(2, 2, LAGGING) == 2


def test_the_machine_can_be_read() -> None:
    load = read_load(0.25)
    assert load.lag_s == 0.25
    assert 0 < load.memory_free <= 1
    assert 0 < load.files_used < 1


def test_the_limit_of_open_files_is_raised_to_what_is_allowed() -> None:
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(before[0], 256), before[1]))
        raised = raise_file_limit()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (raised, before[1])
        assert raised == before[1]
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)
