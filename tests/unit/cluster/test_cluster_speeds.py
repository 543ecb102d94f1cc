"""Speeds: measured while there is enough to do, over a window that slides."""

import pytest

from skitter.cluster.effort import Counted, Effort
from skitter.cluster.speeds import LEAST, MOST, Speeds
from skitter.frontier.members import Beat
from skitter.testing.virtual_clock import VirtualClock

WINDOW_S = 600.0


class Fleet:
    """Members whose counters are moved by hand, and what is made of them."""

    def __init__(self, *names: str, known: dict[str, float] | None = None) -> None:
        self.beats = {name: Beat(name=name, session=name) for name in names}
        self.speeds = Speeds(WINDOW_S, known)
        self.speeds.observe(self.beats.values())

    def work(self, seconds: float, **pages_a_minute: float | None) -> None:
        """Let everyone work at a speed, or have nothing to do for None; look every second."""
        for _ in range(round(seconds)):
            for name, speed in pages_a_minute.items():
                self.beats[name] = _later(self.beats[name], speed)
            self.speeds.observe(self.beats.values())

    def weights(self) -> dict[str, float]:
        return self.speeds.weights(list(self.beats))


def _later(beat: Beat, speed: float | None) -> Beat:
    busy = speed is not None
    return Beat(
        name=beat.name,
        session=beat.session,
        busy_ms=beat.busy_ms + 1000 * busy,
        # In thousandths, so that no page is lost by rounding.
        busy_visits=beat.busy_visits + round((speed or 0) * 1000 / 60),
        spare_ms=beat.spare_ms + 1000 * (not busy),
    )


def thousands(weights: dict[str, float]) -> dict[str, float]:
    return {name: weight / 1000 for name, weight in weights.items()}


def test_members_of_whom_nothing_is_known_weigh_the_same() -> None:
    assert Fleet("a", "b").weights() == {"a": 1.0, "b": 1.0}


def test_after_ten_minutes_a_weight_is_the_pages_a_minute() -> None:
    fleet = Fleet("a", "b", "c")
    fleet.work(601, a=360.0, b=420.0, c=480.0)
    assert thousands(fleet.weights()) == pytest.approx({"a": 360, "b": 420, "c": 480}, rel=0.002)


def test_one_that_is_new_counts_as_the_median_until_it_is_measured_for_a_while() -> None:
    fleet = Fleet("a", "b", "c")
    fleet.work(75, a=360.0, b=420.0, c=480.0)
    assert thousands(fleet.weights()) == pytest.approx({"a": 390, "b": 420, "c": 450}, rel=0.002)
    fleet.work(75, a=360.0, b=420.0, c=480.0)
    assert thousands(fleet.weights()) == pytest.approx({"a": 360, "b": 420, "c": 480}, rel=0.002)


def test_the_window_slides() -> None:
    fleet = Fleet("a", "b")
    fleet.work(900, a=400.0, b=400.0)
    fleet.work(300, a=200.0, b=400.0)
    assert thousands(fleet.weights()) == pytest.approx({"a": 300, "b": 400}, rel=0.01)
    fleet.work(310, a=200.0, b=400.0)
    assert thousands(fleet.weights()) == pytest.approx({"a": 200, "b": 400}, rel=0.01)
    fleet.work(3600, a=200.0, b=400.0)
    assert thousands(fleet.weights()) == pytest.approx({"a": 200, "b": 400}, rel=0.01)


def test_time_without_backlog_says_nothing_of_speed() -> None:
    fleet = Fleet("a", "b")
    fleet.work(700, a=300.0, b=400.0)
    before = fleet.weights()
    fleet.work(3600, a=None, b=None)
    assert fleet.weights() == before


def test_one_that_is_new_weighs_as_the_median_of_the_others() -> None:
    fleet = Fleet("a", "b", "c")
    fleet.work(700, a=300.0, b=400.0, c=800.0)
    fleet.beats["d"] = Beat(name="d", session="d")
    fleet.work(1, a=300.0, b=400.0, c=800.0, d=None)
    assert fleet.weights()["d"] == pytest.approx(fleet.weights()["b"], rel=0.01)


def test_one_with_time_to_spare_is_given_more_until_it_has_enough_to_do() -> None:
    fleet = Fleet("a", "b")
    fleet.work(700, a=300.0, b=300.0)
    fleet.work(300, a=300.0, b=None)
    weights = thousands(fleet.weights())
    assert weights["a"] == pytest.approx(300, rel=0.01)
    assert 330 < weights["b"] < 450
    fleet.work(700, a=300.0, b=500.0)
    assert thousands(fleet.weights()) == pytest.approx({"a": 300, "b": 500}, rel=0.01)


def test_the_fewer_are_short_of_time_the_less_is_expected_of_the_others() -> None:
    few, many = Fleet("a", "b", "c", "d"), Fleet("a", "b", "c", "d")
    for fleet in (few, many):
        fleet.work(700, a=300.0, b=300.0, c=300.0, d=300.0)
    few.work(100, a=300.0, b=None, c=None, d=None)
    many.work(100, a=300.0, b=300.0, c=300.0, d=None)
    assert 300_000 < few.weights()["d"] < many.weights()["d"]


def test_no_weight_is_far_from_the_mean() -> None:
    names = [f"m{number}" for number in range(30)]
    fleet = Fleet(*names)
    fleet.work(700, **dict.fromkeys(names, 100.0))
    fleet.work(700, **{**dict.fromkeys(names, 100.0), "m0": 0.0, "m1": 90_000.0})
    mean = (28 * 100 + 90_000) / 30 * 1000
    weights = fleet.weights()
    assert weights["m0"] == pytest.approx(LEAST * mean, rel=0.01)
    assert weights["m1"] == pytest.approx(MOST * mean, rel=0.01)


def test_all_at_a_standstill_weigh_the_same() -> None:
    fleet = Fleet("a", "b")
    fleet.work(700, a=0.0, b=0.0)
    assert fleet.weights() == {"a": 1.0, "b": 1.0}


def test_what_was_measured_before_counts_until_it_is_measured_anew() -> None:
    fleet = Fleet("a", "b", known={"a": 200_000.0, "b": 400_000.0, "gone": 1.0, "c": 0.0})
    assert thousands(fleet.weights()) == pytest.approx({"a": 200, "b": 400})
    fleet.work(300, a=400.0, b=400.0)
    assert thousands(fleet.weights()) == pytest.approx({"a": 300, "b": 400}, rel=0.01)


def test_what_is_told_to_the_next_control_leaves_out_what_was_never_measured() -> None:
    fleet = Fleet("a", "b")
    fleet.work(10, a=400.0)
    told = fleet.speeds.known(["a", "b"])
    assert told["b"] == 0.0
    assert told["a"] == pytest.approx(400_000, rel=0.01)


def test_a_new_process_of_a_name_counts_from_nothing_and_keeps_its_speed() -> None:
    fleet = Fleet("a", "b")
    fleet.work(700, a=300.0, b=400.0)
    fleet.beats["a"] = Beat(name="a", session="other", busy_ms=50, busy_visits=9_000_000)
    fleet.work(1, b=400.0)
    assert thousands(fleet.weights()) == pytest.approx({"a": 300, "b": 400}, rel=0.01)


def test_those_who_left_are_forgotten_when_it_is_said_who_stays() -> None:
    fleet = Fleet("a", "b")
    fleet.work(700, a=300.0, b=400.0)
    del fleet.beats["a"]
    fleet.work(5, b=400.0)
    assert fleet.speeds.weights(["a"]) == pytest.approx({"a": 300_000}, rel=0.01)
    fleet.speeds.keep(["b"])
    assert fleet.speeds.weights(["a", "b"])["a"] == pytest.approx(400_000, rel=0.01)


def test_a_member_of_an_earlier_version_that_tells_nothing_weighs_as_the_median() -> None:
    fleet = Fleet("a", "b", "old")
    fleet.work(700, a=300.0, b=400.0)
    assert thousands(fleet.weights())["old"] == pytest.approx(350, rel=0.01)


def test_a_stop_watch_counts_time_with_and_without_enough_to_do_and_visits_with_it() -> None:
    clock = VirtualClock()
    effort = Effort(clock)
    clock.advance(2)
    effort.ended(5)
    effort.look(busy=True)
    clock.advance(3)
    effort.ended(7)
    assert effort.counted(12, 4) == Counted(12, 4, busy_ms=3000, busy_visits=7, spare_ms=2000)
    clock.advance(1)
    effort.look(busy=False)
    clock.advance(4)
    effort.ended(1)
    assert effort.counted(13, 0) == Counted(13, 0, busy_ms=4000, busy_visits=7, spare_ms=6000)
