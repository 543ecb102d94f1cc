"""Members as real processes on a real store: killed, stopped, joining and leaving.

What is checked in the end is the log of every process against those of all others.
"""

import bisect
import json
import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from stores import own_store, start_redis

from skitter.url.partition import SLOTS

pytestmark = pytest.mark.fault

CHILD = Path(__file__).parent / "membership_child.py"
ALL = set(range(SLOTS))
TAKEOVER_S = 12.0
"""Slots of a member that is gone are others' within 7 s; the rest is for a machine that is busy."""
PAUSE_S = 8.0
UNSAFE_S = 5.0
"""After this time a right that nobody renewed may be another's."""
PATIENCE_S = 90.0
"""How long is waited for what is to come; how long that took is then told by the members' logs."""


def boot() -> float:
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Child:
    """One member process and its log."""

    def __init__(self, url: str, name: str, log: Path) -> None:
        self.name = name
        self._log = log
        self._errors = log.with_suffix(".err").open("wb")
        command = [sys.executable, str(CHILD), url, name, str(log)]
        self.process = subprocess.Popen(command, stderr=self._errors)

    def send(self, how: signal.Signals) -> float:
        at = boot()
        os.kill(self.process.pid, how)
        return at

    def log(self) -> list[dict[str, Any]]:
        if not self._log.exists():
            return []
        lines = self._log.read_bytes().split(b"\n")[:-1]
        return [json.loads(line) for line in lines]

    @property
    def alive(self) -> bool:
        return self.process.poll() is None

    def claims(self) -> set[int]:
        """Return what the process may claim from, as far as it has said."""
        said = [line["claims"] for line in self.log() if "claims" in line]
        return set(said[-1]) if said and self.alive else set()

    def told(self, word: str) -> float:
        """Return when the process has told something for the last time."""
        at: float = max(line["t"] for line in self.log() if word in line)
        return at

    def end(self) -> None:
        if self.alive:
            self.process.kill()
        self.process.wait()
        self._errors.close()


class Fleet:
    """Some members on one store, in a namespace of their own."""

    def __init__(self, url: str, folder: Path) -> None:
        self._url = url
        self._folder = folder
        self.children: list[Child] = []

    def start(self, name: str) -> Child:
        log = self._folder / f"{name}-{len(self.children)}.log"
        child = Child(self._url, name, log)
        self.children.append(child)
        return child

    def until(self, what: Callable[[], bool]) -> None:
        """Wait for something."""
        since = boot()
        while not what():
            assert boot() - since <= PATIENCE_S, self.state()
            time.sleep(0.05)

    def until_shared(self, *members: Child, since: float = 0.0, within_s: float = 0.0) -> None:
        """Wait until the slots are shared by members; they have to be so in time by their logs."""
        self.until(self.shared_by(*members))
        if within_s:
            took = max(member.told("claims") for member in members) - since
            print(f"after {took:.2f} s: {self.state()}")
            assert took <= within_s, f"took {took:.1f} s"

    def shared_by(self, *members: Child) -> Callable[[], bool]:
        """Return a question: does each of these have some slots, and together each slot once?"""

        def question() -> bool:
            shares = [member.claims() for member in members]
            whole = set[int]().union(*shares) == ALL
            return all(shares) and whole and sum(map(len, shares)) == SLOTS

        return question

    def state(self) -> str:
        return ", ".join(f"{child.name}: {len(child.claims())}" for child in self.children)


@contextmanager
def joined(url: str, folder: Path) -> Iterator[Fleet]:
    fleet = Fleet(url, folder)
    try:
        yield fleet
    finally:
        for child in fleet.children:
            child.end()


@pytest.fixture(params=["redis", "cluster"])
def fleet(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Fleet]:
    with joined(own_store(request.param), tmp_path) as fleet:
        yield fleet


def check(fleet: Fleet) -> None:
    """Compare all logs: a fence is of one process, and the next one ends its right."""
    given: dict[int, dict[int, tuple[str, float]]] = defaultdict(dict)
    """Slot and fence to the process it was given to, and when the answer was there."""
    last_held: dict[tuple[int, int], float] = {}
    for number, child in enumerate(fleet.children):
        who = f"{child.name}-{number}"
        held: set[tuple[int, int]] = set()
        for line in child.log():
            for slot, fence in line.get("owned", ()):
                owner, _ = given[slot].setdefault(fence, (who, line["t"]))
                assert owner == who, f"slot {slot} was given to two with fence {fence}"
            if "held" in line:
                held = {(slot, fence) for slot, fence in line["held"]}
            if "t0" in line:
                last_held |= dict.fromkeys(held, line["t0"])
    assert len(given) > SLOTS // 20
    handed_over = 0
    for slot, fences in given.items():
        order = sorted(fences)
        times = [fences[fence][1] for fence in order]
        assert times == sorted(times), f"the fences of slot {slot} do not grow"
        for fence in order[:-1]:
            after = order[bisect.bisect(order, fence)]
            handed_over += 1
            assert last_held.get((slot, fence), 0.0) <= fences[after][1], (
                f"slot {slot} was held by {fences[fence][0]} and {fences[after][0]} at one time"
            )
    assert handed_over > SLOTS // 50


def knows_of_a_loss(child: Child, since: float) -> bool:
    return any("lost" in line and line["t"] >= since for line in child.log())


def held_at(child: Child, moment: float) -> list[list[int]]:
    """Return what a process found to hold in its first sample after a moment."""
    held: list[list[int]] = []
    for line in child.log():
        held = line.get("held", held)
        if line.get("t0", 0.0) >= moment:
            return held
    raise LookupError("no sample after that")


def test_a_killed_and_a_stopped_member_are_replaced_and_never_hold_what_others_do(
    fleet: Fleet,
) -> None:
    first, second, third = (fleet.start(name) for name in ("a", "b", "c"))
    fleet.until_shared(first, second, third)

    killed_at = second.send(signal.SIGKILL)
    second.process.wait()
    fleet.until_shared(first, third, since=killed_at, within_s=TAKEOVER_S)

    stopped_at = first.send(signal.SIGSTOP)
    fleet.until_shared(third, since=stopped_at, within_s=TAKEOVER_S)
    time.sleep(max(0.0, stopped_at + PAUSE_S - boot()))
    before = {tuple(pair) for line in first.log() for pair in line.get("held", ())}
    went_on_at = first.send(signal.SIGCONT)
    fleet.until_shared(first, third, since=went_on_at, within_s=TAKEOVER_S + 3)

    # A sample that was begun before the pause may have been written after it.
    later = [line for line in first.log() if line.get("t0", line["t"]) >= went_on_at]
    assert held_at(first, went_on_at) == []
    assert any("lost" in line for line in later)
    after = {tuple(pair) for line in later for pair in line.get("held", ())}
    assert after
    assert not after & before, "rights from before the pause were taken up again"
    check(fleet)


def test_members_join_and_leave_and_no_slot_is_without_an_owner_for_long(fleet: Fleet) -> None:
    first = fleet.start("a")
    fleet.until_shared(first)
    second = fleet.start("b")
    third = fleet.start("c")
    fleet.until_shared(first, second, third)

    for leaving, others in ((second, (first, third)), (first, (third,))):
        had = leaving.claims()
        left_at = leaving.send(signal.SIGTERM)
        assert leaving.process.wait(60) == 0
        later = [line for line in leaving.log() if line["t"] >= left_at]
        given_back = {slot for line in later for slot in line.get("disowned", ())}
        assert had <= given_back, "others need not wait until its rights lapse"
        fleet.until_shared(*others, since=left_at, within_s=TAKEOVER_S)

    fourth = fleet.start("a")
    fleet.until_shared(third, fourth)
    control_at = third.send(signal.SIGKILL)
    third.process.wait()
    fleet.until_shared(fourth, since=control_at, within_s=TAKEOVER_S)
    check(fleet)


def test_a_store_that_hangs_for_longer_than_ownership_lasts_gives_everyone_its_slots_back(
    tmp_path: Path,
) -> None:
    with start_redis(tmp_path / "store") as server, joined(server.url, tmp_path) as fleet:
        members = [fleet.start(name) for name in ("a", "b")]
        fleet.until_shared(*members)
        had = [member.claims() for member in members]
        server.pause()
        hung_at = boot()
        fleet.until(lambda: not any(member.claims() for member in members))
        time.sleep(max(0.0, hung_at + PAUSE_S - boot()))
        fleet.until(lambda: all(knows_of_a_loss(member, hung_at) for member in members))
        server.resume()
        fleet.until(lambda: [member.claims() for member in members] == had)
        for member in members:
            assert held_at(member, hung_at + UNSAFE_S) == []
        check(fleet)


def test_a_name_in_use_ends_a_process_with_a_clear_line(fleet: Fleet, tmp_path: Path) -> None:
    first = fleet.start("a")
    fleet.until_shared(first)
    second = fleet.start("a")
    assert second.process.wait(60) != 0
    assert "member name 'a': another process on here uses it" in (tmp_path / "a-1.err").read_text(
        encoding="utf-8"
    )
    assert first.claims() == ALL
