"""Virtual time stands still until it is told to move."""

import pytest

from skitter.clock import Clock
from skitter.testing.virtual_clock import VirtualClock


def test_time_stands_still_until_it_is_advanced() -> None:
    clock: Clock = VirtualClock(now_ms=5_000)
    assert [clock.now_ms(), clock.now_ms()] == [5_000, 5_000]
    assert clock.boot() == clock.boot()


def test_both_clocks_advance_together() -> None:
    clock = VirtualClock(now_ms=5_000, boot_ms=2_000)
    clock.advance(1.5)
    assert clock.now_ms() == 6_500
    assert clock.boot() == 3.5


def test_many_small_steps_equal_one_large_step() -> None:
    small, large = VirtualClock(), VirtualClock()
    for _ in range(1_000):
        small.advance(0.001)
    large.advance(1)
    assert (small.now_ms(), small.boot()) == (large.now_ms(), large.boot())


def test_time_does_not_go_back() -> None:
    with pytest.raises(ValueError, match="only goes forward"):
        VirtualClock().advance(-0.001)
