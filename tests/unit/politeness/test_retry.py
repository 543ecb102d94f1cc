import random

from hypothesis import given
from hypothesis import strategies as st

from skitter.politeness.retry import RetryPolicy

EXACT = RetryPolicy(jitter=0.0)


def test_waits_double_until_the_tries_are_used_up() -> None:
    rng = random.Random(1)
    assert [EXACT.next_try_ms(done, 1_000, rng) for done in (1, 2, 3, 4, 5)] == [
        3_000,
        5_000,
        9_000,
        None,
        None,
    ]


def test_a_wait_is_capped_even_after_countless_failures() -> None:
    policy = RetryPolicy(tries=10**6, jitter=0.0)
    assert policy.next_try_ms(999_999, 0, random.Random(1)) == 300_000


@given(st.integers(1, 3), st.integers(0, 2**32))
def test_jitter_only_lengthens_the_wait_and_stays_in_its_share(done: int, seed: int) -> None:
    exact = EXACT.next_try_ms(done, 0, random.Random(seed))
    wait = RetryPolicy(jitter=0.5).next_try_ms(done, 0, random.Random(seed))
    assert exact is not None
    assert wait is not None
    assert exact <= wait <= exact * 1.5


def test_one_try_means_no_retry() -> None:
    assert RetryPolicy(tries=1).next_try_ms(1, 0, random.Random(1)) is None
