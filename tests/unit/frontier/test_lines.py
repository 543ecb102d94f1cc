"""A line against a sorted list: whatever is inserted, given back or deleted, the first comes out.

The head in memory is made tiny, so that every step crosses between memory and disk.
"""

from bisect import bisect_left, insort
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from skitter.frontier.embedded import lines
from skitter.frontier.embedded.layout import entry_key, line_prefix
from skitter.frontier.embedded.lines import LEAST_URGENT, URGENCY_BYTE, Entry, HeadBudget, Line
from skitter.types import PageClass

QUEUE = 7
URGENCY = 4


class Disk:
    """The stored entries of several lines, in key order."""

    def __init__(self) -> None:
        self.keys: list[bytes] = []
        self.records: dict[bytes, bytes] = {}
        self.reads = 0

    def put(self, key: bytes) -> bytes:
        insort(self.keys, key)
        # Every third is as heavy as three.
        padding = bytes(2 * 512) if key[-1] % 3 == 0 else b""
        self.records[key] = record = b"record of " + key + padding
        return record

    def delete(self, key: bytes) -> None:
        self.keys.remove(key)
        del self.records[key]

    def read_from(self, start: bytes, prefix: bytes) -> Iterator[Entry]:
        for key in self.keys[bisect_left(self.keys, start) :]:
            if not key.startswith(prefix):
                return
            self.reads += 1
            yield key, self.records[key]


class LineMachine(RuleBasedStateMachine):
    """One line, its disk, and a plain sorted list that knows what must come next."""

    def __init__(self) -> None:
        super().__init__()
        self.disk = Disk()
        # A neighbour on either side, which no walk may run into.
        for other in (entry_key(QUEUE - 1, 255, 9, 0, 1), entry_key(QUEUE, 2, 0, 0, 1)):
            self.disk.put(other)
        self.waiting: list[bytes] = []
        self.leased: dict[bytes, bytes] = {}
        self.sequence = 0

    @initialize(budget=st.sampled_from([0, 1, 3, 8, 1000]))
    def begin(self, budget: int) -> None:
        self.budget = HeadBudget(budget)
        self.entries = budget
        self.line = Line(QUEUE, PageClass.DATA, self.budget)

    def _insert(self, urgency: int, rank: int) -> None:
        self.sequence += 1
        key = entry_key(QUEUE, PageClass.DATA, urgency, rank, self.sequence)
        record = self.disk.put(key)
        self.line.insert(key, record)
        insort(self.waiting, key)

    @rule(urgency=st.integers(0, LEAST_URGENT), rank=st.integers(0, 3))
    def insert(self, urgency: int, rank: int) -> None:
        self._insert(urgency, rank)

    @rule(count=st.integers(1, 12))
    def insert_in_order(self, count: int) -> None:
        for _ in range(count):
            self._insert(URGENCY, 0)

    @rule(count=st.integers(1, 12))
    def insert_depth_first(self, count: int) -> None:
        """Each is to come before the one before it."""
        for _ in range(count):
            self._insert(URGENCY, 1_000_000 - self.sequence)

    @rule(count=st.integers(2, 8), data=st.data())
    def insert_a_batch_that_is_on_disk_already(self, count: int, data: st.DataObject) -> None:
        """One step writes all its entries before memory follows."""
        ranks = data.draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
        keys = []
        for rank in ranks:
            self.sequence += 1
            keys.append(entry_key(QUEUE, PageClass.DATA, URGENCY, rank, self.sequence))
        records = [self.disk.put(key) for key in keys]
        for key, record in zip(keys, records, strict=True):
            self.line.insert(key, record)
            insort(self.waiting, key)

    @rule()
    def take_the_first(self) -> None:
        self.pop()

    def pop(self) -> None:
        entry = self.line.pop(self.disk.read_from, self.leased)
        if not self.waiting:
            assert entry is None
            return
        first = self.waiting.pop(0)
        assert entry == (first, self.disk.records[first])
        self.leased[first] = self.disk.records[first]

    @rule(count=st.integers(2, 20))
    def pop_many(self, count: int) -> None:
        for _ in range(count):
            self.pop()

    @precondition(lambda self: self.leased)
    @rule(data=st.data())
    def give_back(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.leased)))
        record = self.leased.pop(key)
        self.line.insert(key, record)
        insort(self.waiting, key)

    @precondition(lambda self: self.leased)
    @rule(data=st.data())
    def finish(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(sorted(self.leased)))
        self.disk.delete(key)
        del self.leased[key]

    @precondition(lambda self: self.waiting)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        key = data.draw(st.sampled_from(self.waiting))
        self.disk.delete(key)
        self.waiting.remove(key)
        self.line.remove(key)

    @rule()
    def clear(self) -> None:
        for key in self.waiting:
            self.disk.delete(key)
        self.waiting.clear()
        self.line.clear()

    @rule()
    def reopen(self) -> None:
        """A restart: leases are gone, everything waits on disk."""
        self.waiting = sorted([*self.waiting, *self.leased])
        self.leased.clear()
        self.budget = HeadBudget(self.entries)
        self.line = Line(QUEUE, PageClass.DATA, self.budget)
        if self.waiting:
            most_urgent = min(key[URGENCY_BYTE] for key in self.waiting)
            self.line.restore(len(self.waiting), most_urgent)

    @invariant()
    def it_counts_what_waits(self) -> None:
        assert self.line.waiting == len(self.waiting)

    @invariant()
    def the_urgency_is_that_of_the_first_or_a_lower_bound(self) -> None:
        if self.waiting:
            assert self.line.urgency() <= self.waiting[0][lines.URGENCY_BYTE]

    @invariant()
    def the_head_is_the_beginning_of_what_waits(self) -> None:
        head = [key for key, _ in self.line.head]
        assert head == self.waiting[: len(head)]

    @invariant()
    def the_budget_is_what_the_head_leaves(self) -> None:
        weights = [1 + len(record) // 512 for _, record in self.line.head]
        assert self.budget.left == self.entries - sum(weights)


def test_a_line_gives_what_a_sorted_list_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MIN_HEAD", 2)
    monkeypatch.setattr(lines, "MAX_HEAD", 4)
    run_state_machine_as_test(
        LineMachine,
        settings=settings(
            max_examples=120, stateful_step_count=40, suppress_health_check=list(HealthCheck)
        ),
    )


def make_line(entries: int = 1000, waiting: int = 0) -> tuple[Line, Disk, HeadBudget]:
    budget, disk = HeadBudget(entries), Disk()
    line = Line(QUEUE, PageClass.DATA, budget)
    for n in range(waiting):
        disk.put(entry_key(QUEUE, PageClass.DATA, URGENCY, 0, n))
    line.waiting = waiting
    return line, disk, budget


def test_an_empty_line_gives_nothing_and_is_not_urgent() -> None:
    line, disk, _ = make_line()
    assert line.pop(disk.read_from, ()) is None
    assert line.urgency() == LEAST_URGENT
    assert disk.reads == 0


def test_a_line_left_by_an_earlier_run_knows_its_urgency_before_it_is_read() -> None:
    line, disk, _ = make_line(waiting=3)
    line.restore(3, URGENCY)
    assert line.urgency() == URGENCY
    assert line.head == []
    assert disk.reads == 0


def test_a_refill_does_not_walk_over_what_was_taken_before() -> None:
    line, disk, _ = make_line(entries=0, waiting=400)
    leased: set[bytes] = set()
    while entry := line.pop(disk.read_from, leased):
        disk.delete(entry[0])
    assert disk.reads == 400


def test_the_head_stays_small_however_long_the_line_grows() -> None:
    line, disk, _ = make_line(entries=10**6)
    for n in range(5_000):
        key = entry_key(QUEUE, PageClass.DATA, URGENCY, 10_000 - n, n)
        line.insert(key, disk.put(key))
    assert len(line.head) <= 2 * lines.MAX_HEAD
    taken: list[bytes] = []
    while entry := line.pop(disk.read_from, taken):
        taken.append(entry[0])
    assert taken == disk.keys


def test_a_budget_that_is_used_up_still_lets_every_line_move() -> None:
    assert HeadBudget(0).share() == lines.MIN_HEAD
    assert HeadBudget(-50).share() == lines.MIN_HEAD
    assert HeadBudget(100).share() == 100
    assert HeadBudget(10**6).share() == lines.MAX_HEAD


def test_heads_full_of_data_take_no_more_memory_than_others() -> None:
    line, disk, budget = make_line(entries=330)
    for n in range(500):
        key = entry_key(QUEUE, PageClass.DATA, URGENCY, 0, n)
        disk.put(key)
        disk.records[key] = bytes(16_384)
        line.insert(key, disk.records[key])
    assert len(line.head) == 10
    assert sum(1 for _ in iter(lambda: line.pop(disk.read_from, ()), None)) == 500
    assert budget.left == 330


def test_a_line_that_has_lost_entries_says_so_instead_of_ending_early() -> None:
    line, disk, _ = make_line(waiting=1)
    disk.delete(disk.keys[0])
    with pytest.raises(AssertionError, match=line_prefix(QUEUE, PageClass.DATA).hex()):
        line.pop(disk.read_from, ())
