"""The list of a machine's workers: who has room, who is next, and what a restart leaves of it."""

from collections.abc import Callable

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from skitter.cluster.manager.roster import (
    CALM_S,
    FIRST_REST_S,
    KEPT,
    LAST_WORDS_S,
    LONGEST_REST_S,
    MOST_WANTED,
    ROOMY,
    ListedWorker,
    Roster,
    State,
    Stored,
)
from skitter.errors import ConfigError
from skitter.testing.virtual_clock import VirtualClock


def nobody(worker: ListedWorker) -> bool:
    del worker
    return False


def everybody(worker: ListedWorker) -> bool:
    del worker
    return True


def roster(limit: int = 2, wanted: int = 0) -> tuple[Roster, VirtualClock]:
    clock = VirtualClock()
    made = Roster(limit, clock, lambda number: f"/logs/{number}.log")
    made.take_over(Stored(), wanted, nobody)
    return made, clock


def run(made: Roster, pid: int = 100) -> list[int]:
    """Start what is to be started; return who."""
    begun = []
    for worker in made.due():
        made.begin(worker.id, lambda one: ("node", "--place", str(one.place)))
        made.began(worker.id, pid + worker.id, 7)
        begun.append(worker.id)
    return begun


def states(made: Roster) -> dict[int, str]:
    return {worker.id: worker.state.value for worker in made.workers}


def restarted(made: Roster, wanted: int, alive: Callable[[ListedWorker], bool]) -> Roster:
    """Return the list of the next manager, from what is on disk."""
    clock = made._clock
    stored = msgspec.json.decode(msgspec.json.encode(made.stored), type=Stored)
    again = Roster(made.limit, clock, made._log_of)
    again.take_over(stored, wanted, alive)
    return again


def test_no_more_run_than_there_is_room_for_and_the_rest_waits() -> None:
    made, _ = roster(limit=2, wanted=1)
    made.want(count=3)
    assert run(made) == [1, 2]
    assert states(made) == {1: "running", 2: "running", 3: "waiting", 4: "waiting"}
    assert run(made) == []
    made.end(1, 0, "exit code 0")
    assert run(made) == [3]
    assert made.worker(3).place == 1, "the lowest place that is free"


def test_who_waits_is_started_by_priority_then_by_age() -> None:
    made, clock = roster(limit=1, wanted=1)
    run(made)
    for priority in (3, 5, 9, 5, 0):
        clock.advance(1)
        made.want(priority=priority)
    order = []
    for _ in range(5):
        [worker] = [worker for worker in made.workers if worker.state is State.RUNNING]
        made.end(worker.id, 0, "exit code 0")
        order += run(made)
    assert order == [4, 3, 5, 2, 6]


def test_a_worker_that_crashed_rests_longer_and_longer_and_keeps_its_room() -> None:
    made, clock = roster(limit=1, wanted=1)
    rests: list[float] = []
    for _ in range(9):
        assert run(made) == [1]
        if not rests:
            made.want(priority=9)
        assert made.end(1, -9, "signal SIGKILL").state is State.RESTING
        rests.append(made.rest_s(1))
        assert made.due() == []
        assert made.next_due_s() == made.rest_s(1)
        clock.advance(made.rest_s(1))
    assert rests[:4] == [FIRST_REST_S, 1.0, 2.0, 4.0]
    assert rests[-1] == LONGEST_REST_S
    run(made)
    clock.advance(CALM_S + 1)
    made.end(1, 1, "exit code 1")
    assert made.rest_s(1) == FIRST_REST_S
    assert made.worker(1).starts == 10
    assert made.worker(1).ended == "exit code 1"
    assert made.worker(2).state is State.WAITING


def test_a_worker_that_ends_by_itself_or_refuses_is_not_started_again() -> None:
    made, clock = roster(limit=2, wanted=2)
    run(made)
    made.end(1, 0, "exit code 0")
    made.end(2, 2, "exit code 2")
    clock.advance(100)
    assert made.due() == []
    assert [worker.ended for worker in made.workers] == [
        "ended by itself",
        "refused to work (exit code 2)",
    ]
    assert made.is_empty
    assert [worker.wanted for worker in made.workers] == [False, True]


def test_stop_is_the_same_however_often_until_the_worker_is_gone() -> None:
    made, _ = roster(limit=1, wanted=1)
    made.want()
    run(made)
    assert made.stop(1).state is State.STOPPING
    assert made.stop(1).state is State.STOPPING
    assert made.due() == [], "it has a process until that has ended"
    assert made.end(1, 0, "exit code 0").ended == "stopped"
    with pytest.raises(ConfigError, match="worker 1: it is gone already: stopped"):
        made.stop(1)
    with pytest.raises(ConfigError, match="worker 7: there is none of that number; at work: 2"):
        made.stop(7)
    assert made.stop(2).state is State.FINISHED, "one that waits ends at once"
    with pytest.raises(ConfigError, match="at work: none"):
        made.stop(7)


def test_a_worker_that_has_to_be_killed_says_so() -> None:
    made, _ = roster(wanted=1)
    run(made)
    made.stop(1)
    assert made.end(1, -9, "signal SIGKILL").ended == "stopped (signal SIGKILL)"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"kind": "sites"}, "kind 'sites'; wanted all, list, site, news, web or resolve"),
        ({"priority": 10}, "priority 10; wanted 0 (last) to 9 (first)"),
        ({"priority": -1}, "priority -1; wanted 0 (last) to 9 (first)"),
        ({"count": 0}, "count 0: 0 workers are listed; wanted 1 or more"),
        ({"count": MOST_WANTED + 1}, f"and {MOST_WANTED} of them at most"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_listed(
    given: dict[str, object], said: str
) -> None:
    made, _ = roster()
    with pytest.raises(ConfigError) as raised:
        made.want(**given)  # type: ignore[arg-type]
    assert said in str(raised.value)
    assert made.workers == ()


def test_after_a_kill_of_the_manager_those_that_were_wanted_are_listed_anew() -> None:
    made, clock = roster(limit=3, wanted=2)
    made.want(kind="site", priority=7, count=2)
    assert run(made) == [3, 4, 1]
    made.stop(4)
    clock.advance(5)
    again = restarted(made, 2, nobody)
    assert states(again) == {
        1: "finished", 2: "waiting", 3: "finished", 4: "finished", 5: "waiting", 6: "waiting",
    }  # fmt: skip
    assert {again.worker(number).ended for number in (1, 3, 4)} == {"its manager ended"}
    assert (again.worker(6).follows, again.worker(6).kind, again.worker(6).priority) == (
        3, "site", 7,
    )  # fmt: skip
    assert again.worker(5).added_ms == made.worker(1).added_ms
    assert run(again) == [6, 5, 2], "who goes on for another has its turn"


def test_processes_that_outlive_their_manager_have_room_until_they_are_gone() -> None:
    made, clock = roster(limit=2, wanted=2)
    run(made)
    again = restarted(made, 2, everybody)
    assert states(again) == {1: "stopping", 2: "stopping", 3: "waiting", 4: "waiting"}
    assert again.due() == []
    assert again.next_due_s() is not None
    assert again.bury(lambda worker: worker.id == 2)[0].id == 1
    assert run(again) == [3]
    assert again.worker(3).place == 1
    clock.advance(LAST_WORDS_S)
    [orphan] = again.orphans
    assert again.is_late(orphan), "time to end it"
    assert again.bury(everybody) == [], "it has room as long as it is there"
    again.bury(nobody)
    assert run(again) == [4]


def test_to_stop_a_worker_of_an_earlier_manager_stops_who_goes_on_for_it() -> None:
    made, _ = roster(limit=2, wanted=2)
    run(made)
    again = restarted(made, 2, everybody)
    assert (again.stop(1).id, again.worker(3).state) == (3, State.FINISHED)
    assert not again.worker(3).wanted
    again.bury(nobody)
    assert run(again) == [4], "the orphan's heir does not begin"
    once_more = restarted(again, 2, nobody)
    run(once_more)
    stopped = once_more.stop(2)
    assert (stopped.id, stopped.follows, stopped.state) == (5, 4, State.STOPPING)
    with pytest.raises(ConfigError, match="worker 3: it is gone already: stopped"):
        once_more.stop(1)


def test_a_process_that_was_about_to_be_started_may_be_there_for_a_while() -> None:
    made, clock = roster(limit=1, wanted=1)
    made.begin(1)
    again = restarted(made, 1, nobody)
    assert again.due() == []
    clock.advance(LAST_WORDS_S - 1)
    assert again.bury(nobody) == []
    clock.advance(1)
    again.bury(nobody)
    assert run(again) == [2]


def test_a_node_that_was_stopped_goes_on_with_what_was_ordered_and_what_it_is_told_now() -> None:
    made, _ = roster(limit=9, wanted=3)
    made.want(kind="web")
    run(made)
    made.end(4, -11, "signal SIGSEGV")
    for number in (1, 2, 3):
        made.end(number, 0, "exit code 0", closing=True)
    made.close()
    assert {worker.ended for worker in made.workers} == {"its node was stopped"}
    again = restarted(made, 1, nobody)
    assert states(again) == {**dict.fromkeys(range(1, 5), "finished"), 5: "waiting", 6: "waiting"}
    assert [again.worker(number).origin for number in (5, 6)] == ["start", "order"]
    once_more = restarted(again, 2, nobody)
    assert sum(worker.state is State.WAITING for worker in once_more.workers) == 3


def test_the_list_of_those_that_have_ended_is_bounded() -> None:
    made, _ = roster(limit=1)
    dropped = []
    for _ in range(KEPT + 10):
        made.want()
        [number] = run(made)
        made.end(number, 0, "exit code 0")
        dropped += [worker.id for worker in made.forget()]
    assert dropped == list(range(1, 11))
    assert len(made.workers) == KEPT
    assert made.want()[0].id == KEPT + 11, "numbers are not used again"


class Machine(RuleBasedStateMachine):
    """Orders, crashes and restarts in any order, against a plain count of who is wanted."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = VirtualClock()
        self.processes: dict[int, int] = {}
        """Number of the worker to the pid of its process, those of earlier managers included."""
        self.pids = 0
        self.ordered: dict[int, int] = {}
        """First number of a worker that was ordered and not stopped, to its number now."""

    @initialize(limit=st.integers(1, 4), wanted=st.integers(0, 3))
    def begin(self, limit: int, wanted: int) -> None:
        self.wanted = wanted
        self.roster = Roster(limit, self.clock)
        self.roster.take_over(Stored(), wanted, self.is_alive)

    def is_alive(self, worker: ListedWorker) -> bool:
        return self.processes.get(worker.id) == worker.pid

    @rule(priority=st.integers(0, 9), count=st.integers(1, 3))
    def order(self, priority: int, count: int) -> None:
        for worker in self.roster.want(priority=priority, count=count):
            self.ordered[worker.id] = worker.id

    @rule(spawned=st.booleans())
    def step(self, spawned: bool) -> None:
        line = sorted(
            (-worker.priority, worker.turn, worker.id)
            for worker in self.roster.workers
            if worker.state is State.WAITING
        )
        due = self.roster.due()
        new = [worker.id for worker in due if worker.state is State.WAITING]
        assert new == [number for _, _, number in line[: len(new)]]
        room = self.roster.limit - sum(worker.state in ROOMY for worker in self.roster.workers)
        assert len(new) == min(len(line), max(0, room))
        for worker in due:
            self.roster.begin(worker.id)
        if due and not spawned:
            # The manager is killed before any process is there.
            self.restart(self.wanted)
            return
        for worker in due:
            self.pids += 1
            self.processes[worker.id] = self.pids
            self.roster.began(worker.id, self.pids, self.pids)

    def led(self) -> list[int]:
        """Return the workers whose process this manager has started."""
        orphans = {worker.id for worker in self.roster.orphans}
        return [number for number in self.processes if number not in orphans]

    @precondition(lambda self: self.led())
    @rule(data=st.data(), code=st.sampled_from([0, 1, -9]))
    def end(self, data: st.DataObject, code: int) -> None:
        number = data.draw(st.sampled_from(self.led()))
        del self.processes[number]
        was = self.roster.worker(number).state
        ended = self.roster.end(number, code, str(code))
        if was is State.STOPPING or code == 0:
            assert ended.state is State.FINISHED
            self.ordered = {old: now for old, now in self.ordered.items() if now != number}
        else:
            assert ended.state is State.RESTING

    @precondition(lambda self: self.roster.workers)
    @rule(data=st.data())
    def stop(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from([worker.id for worker in self.roster.workers]))
        heirs = {worker.follows: worker.id for worker in self.roster.workers if worker.follows}
        last = number
        while last in heirs:
            last = heirs[last]
        was = self.roster.worker(last)
        if was.state is State.FINISHED:
            with pytest.raises(ConfigError):
                self.roster.stop(number)
            assert self.roster.worker(last) == was
            return
        assert self.roster.stop(number).id == last
        self.ordered = {old: now for old, now in self.ordered.items() if now != last}

    @rule(seconds=st.sampled_from([0.3, 1.0, 9.0, 40.0]))
    def wait(self, seconds: float) -> None:
        self.clock.advance(seconds)
        self.roster.bury(self.is_alive)

    @rule()
    def bury(self) -> None:
        """A process of an earlier manager ends."""
        for orphan in self.roster.orphans[:1]:
            self.processes.pop(orphan.id, None)
        self.roster.bury(self.is_alive)

    @rule(wanted=st.integers(0, 3))
    def restart(self, wanted: int) -> None:
        self.wanted = wanted
        self.roster = restarted(self.roster, wanted, self.is_alive)
        follows = {worker.follows: worker.id for worker in self.roster.workers if worker.follows}
        self.ordered = {old: follows.get(now, now) for old, now in self.ordered.items()}

    @rule()
    def forget(self) -> None:
        self.roster.forget()

    @invariant()
    def the_limit_holds(self) -> None:
        began = [
            worker
            for worker in self.roster.workers
            if worker.state in ROOMY and worker.id not in {one.id for one in self.roster.orphans}
        ]
        assert len(began) <= self.roster.limit
        held = [worker for worker in self.roster.workers if worker.state in ROOMY]
        assert {worker.id for worker in held} >= self.processes.keys(), "a process without room"
        places = [worker.place for worker in held if worker.place]
        assert len(places) == len(set(places)), "two in one place"

    @invariant()
    def nobody_is_forgotten(self) -> None:
        known = {worker.id: worker for worker in self.roster.workers}
        for number in self.ordered.values():
            assert known[number].wanted
            assert known[number].state in (State.WAITING, State.RESTING, State.RUNNING)

    @invariant()
    def what_is_on_disk_is_the_list(self) -> None:
        stored = self.roster.stored
        assert msgspec.json.decode(msgspec.json.encode(stored), type=Stored) == stored


TestRoster = Machine.TestCase
TestRoster.settings = settings(max_examples=200, stateful_step_count=40, deadline=None)
