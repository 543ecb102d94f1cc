"""What one member holds, told event by event."""

from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from skitter.cluster.holdings import LINGER_S, Holdings
from skitter.frontier.model import Grant
from skitter.url.partition import SLOTS as SLOT_COUNT

SLOTS = st.frozensets(st.integers(0, 7))


def grants(fences: dict[int, int]) -> list[Grant]:
    return [Grant(slot, fence, 0.0) for slot, fence in fences.items()]


def holding(fences: dict[int, int], until: float = 10.0) -> Holdings:
    held = Holdings()
    held.want(fences, 0.0)
    assert held.renew(grants(fences), until, 0.0) == set()
    return held


def test_a_slot_is_held_until_its_time_is_over_and_under_its_own_fence() -> None:
    held = holding({3: 7}, until=4.5)
    assert held.holds(4.499, 3)
    assert held.holds(4.499, 3, 7)
    assert not held.holds(4.499, 3, 6)
    assert not held.holds(4.5, 3)
    assert not held.holds(1.0, 4)


def test_a_slot_the_plan_takes_away_is_not_claimed_from_and_still_held() -> None:
    held = holding({1: 1, 2: 2})
    held.want([2], 1.0)
    assert [grant.slot for grant in held.grants] == [2]
    assert held.holds(1.0, 1)
    assert held.asked() == [1, 2]
    assert held.leaving


def test_a_leaving_slot_goes_when_nothing_is_worked_on_in_it() -> None:
    held = holding({1: 1, 2: 2})
    held.want([], 1.0)
    assert held.give_back(1.0 + LINGER_S / 2, (), 10.0) == ([], set())
    returned, cut = held.give_back(1.0 + LINGER_S, {2}, 10.0)
    assert [grant.slot for grant in returned] == [1]
    assert cut == set()
    assert not held.holds(1.5, 1)
    assert held.holds(1.5, 2)


def test_a_busy_slot_is_cut_off_when_its_time_to_drain_is_over() -> None:
    held = holding({1: 1}, until=100.0)
    held.want([], 1.0)
    assert held.give_back(10.9, {1}, 10.0) == ([], set())
    returned, cut = held.give_back(11.0, {1}, 10.0)
    assert [grant.slot for grant in returned] == [1]
    assert cut == {1}
    assert len(held) == 0


def test_a_slot_that_is_wanted_again_stays() -> None:
    held = holding({1: 1})
    held.want([], 1.0)
    held.want([1], 2.0)
    assert held.give_back(20.0, (), 10.0) == ([], set())
    assert [grant.slot for grant in held.grants] == [1]


def test_a_slot_that_came_too_late_to_be_wanted_is_leaving_from_then_on() -> None:
    held = Holdings()
    held.want([1], 0.0)
    held.want([], 1.0)
    held.renew(grants({1: 1}), 6.0, 2.0)
    assert held.grants == ()
    assert [grant.slot for grant in held.give_back(2.0 + LINGER_S, (), 10.0)[0]] == [1]


def test_a_new_fence_or_a_missing_slot_is_a_loss() -> None:
    held = holding({1: 1, 2: 2, 3: 3})
    assert held.renew(grants({1: 1, 2: 9}), 11.0, 1.0) == {2, 3}
    assert held.missing
    assert held.holds(1.0, 2, 9)


def test_an_answer_after_the_time_was_over_is_a_loss_of_all_and_a_new_beginning() -> None:
    held = holding({1: 1}, until=4.5)
    assert held.renew(grants({1: 1}), 9.0, 5.0) == {1}
    assert held.holds(5.0, 1)


def test_an_answer_that_took_longer_than_it_is_good_for_gives_nothing() -> None:
    held = holding({1: 1}, until=4.5)
    assert held.renew(grants({1: 1}), 5.0, 6.0) == {1}
    assert held.grants == ()
    assert held.missing


def test_a_renewal_changes_neither_version_nor_grants() -> None:
    held = holding({1: 1, 2: 2})
    before = held.version, held.grants
    held.renew(grants({2: 2, 1: 1}), 20.0, 1.0)
    assert held.version == before[0]
    assert held.grants is before[1]


# Wide slots, which have no fence

WIDE = SLOT_COUNT + 5


def test_a_break_ends_the_rights_of_wide_leases_for_good() -> None:
    held = holding({1: 1}, until=4.5)
    assert held.holds(4.0, WIDE, 1, asked_at=0.0)
    held.renew(grants({1: 1}), 8.0, 4.0)
    assert held.holds(7.0, WIDE, 1, asked_at=0.0), "no break"
    assert not held.holds(8.0, WIDE, 1, asked_at=7.0)
    held.renew([], 13.0, 9.0)
    assert not held.holds(9.0, WIDE, 1, asked_at=7.0)
    assert not held.holds(9.0, WIDE, 1, asked_at=8.5), "asked for in the break"
    assert held.holds(9.0, WIDE, 1, asked_at=9.0)


@pytest.mark.parametrize(
    "end",
    [
        lambda held, busy: held.lapse(4.5, busy),
        lambda held, busy: held.drop(busy),
        lambda held, busy: held.renew(grants({1: 1}), 9.0, 5.0, busy),
        lambda held, busy: held.renew(grants({1: 1}), 5.0, 6.0, busy),
    ],
)
def test_whatever_ends_the_rights_names_wide_slots_that_are_worked_in(
    end: Callable[[Holdings, set[int]], set[int]],
) -> None:
    held = holding({1: 1}, until=4.5)
    assert end(held, {WIDE, 7}) == {1, WIDE}


def test_the_last_slot_is_kept_while_a_wide_one_is_worked_in() -> None:
    held = holding({1: 1, 2: 2, 3: 3}, until=100.0)
    held.want([3], 1.0)
    assert len(held.give_back(2.0, {WIDE}, 10.0)[0]) == 2, "not the last"
    held.want([], 3.0)
    assert held.give_back(12.9, {WIDE}, 10.0) == ([], set())
    returned, cut = held.give_back(13.0, {WIDE}, 10.0)
    assert ([grant.slot for grant in returned], cut) == ([3], {3, WIDE})


def test_the_last_slot_goes_when_no_wide_one_is_worked_in_any_more() -> None:
    held = holding({1: 1, 2: 2})
    held.want([], 1.0)
    [first], _ = held.give_back(2.0, {WIDE}, 10.0)
    [second], cut = held.give_back(2.1, (), 10.0)
    assert ({first.slot, second.slot}, cut) == ({1, 2}, set())


def test_a_renewal_in_time_names_no_wide_slot() -> None:
    held = holding({1: 1})
    assert held.lapse(1.0, {WIDE}) == set()
    assert held.renew(grants({1: 1}), 20.0, 1.0, {WIDE}) == set()


def test_what_was_dropped_gives_no_right_to_a_wide_slot() -> None:
    held = holding({1: 1})
    held.drop()
    assert not held.holds(1.0, WIDE, 1, asked_at=0.0)
    held.renew(grants({1: 1}), 20.0, 1.0)
    assert not held.holds(1.0, WIDE, 1, asked_at=0.0)


class AnyOrder(RuleBasedStateMachine):
    """Whatever happens: claimed from is what is held and wanted, and no loss goes untold."""

    def __init__(self) -> None:
        super().__init__()
        self.held = Holdings()
        self.now = 0.0
        self.wanted: frozenset[int] = frozenset()
        self.told: dict[int, int] = {}
        """The rights that the owner of the holdings believes in."""
        self.version: tuple[int, tuple[tuple[int, int], ...]] = (0, ())

    def believe(self, lost: set[int]) -> None:
        for slot in lost:
            self.told.pop(slot, None)

    @rule(slots=SLOTS)
    def plan(self, slots: frozenset[int]) -> None:
        self.wanted = slots
        self.held.want(slots, self.now)

    @rule(fences=st.dictionaries(st.integers(0, 7), st.integers(1, 3)), late=st.floats(0, 6))
    def answer(self, fences: dict[int, int], late: float) -> None:
        until = self.now + 4.5
        self.now += late
        asked = set(self.held.asked())
        fences = {slot: fence for slot, fence in fences.items() if slot in asked}
        self.believe(self.held.renew(grants(fences), until, self.now))
        if late < 4.5:
            assert {slot: self.told.get(slot, fence) for slot, fence in fences.items()} == fences
            self.told.update(fences)

    @rule(busy=SLOTS)
    def give_back(self, busy: frozenset[int]) -> None:
        returned, cut = self.held.give_back(self.now, busy, 10.0)
        assert not {grant.slot for grant in returned} & self.wanted
        assert cut == {grant.slot for grant in returned} & busy
        self.believe({grant.slot for grant in returned})

    @rule(seconds=st.floats(0, 3))
    def pass_time(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def lapse(self) -> None:
        self.believe(self.held.lapse(self.now))

    @invariant()
    def rights_are_what_was_told(self) -> None:
        live = {slot for slot in range(8) if self.held.holds(self.now, slot)}
        assert live in (set(), set(self.told))
        assert all(self.held.holds(self.now, slot, self.told[slot]) for slot in live)
        assert {grant.slot for grant in self.held.grants} == set(self.told) & self.wanted

    @invariant()
    def the_version_tells_changes(self) -> None:
        version, shown = self.version
        fences = tuple((grant.slot, grant.fence) for grant in self.held.grants)
        assert (fences == shown) or self.held.version > version
        self.version = (self.held.version, fences)


AnyOrder.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestAnyOrder = AnyOrder.TestCase
