"""Which host is asked next: against a plain list, and rule by rule."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from skitter.frontier.embedded.agenda import NAV_TURN, Agenda, Host, Queue
from skitter.frontier.embedded.layout import entry_key
from skitter.frontier.embedded.lines import LEAST_URGENT, Entry, HeadBudget, Line
from skitter.frontier.model import Counts
from skitter.types import HostKey, JobNumber, PageClass

NORMAL = 4
"""Urgency of a URL with the default priority."""


@dataclass
class Rig:
    """Hosts with queues in memory, and what a claim does to them."""

    agenda: Agenda = field(default_factory=Agenda)
    budget: HeadBudget = field(default_factory=lambda: HeadBudget(10_000))
    sequence: int = 0
    queues: int = 0
    chosen: Queue | None = None

    def host(self, name: str, *, per_host: int = 1, delay_ms: int = 1000) -> Host:
        host = Host(1, HostKey(name), delay_ms, per_host)
        self.queue(host)
        return host

    def queue(self, host: Host, job: int = 1) -> Queue:
        self.queues += 1
        counts = (Counts(), Counts())
        queue = Queue(self.queues, host, JobNumber(job), counts)
        host.queues.append(queue)
        return queue

    def add(
        self, queue: Queue, urgency: int = NORMAL, page_class: PageClass = PageClass.DATA
    ) -> None:
        line = queue.line(page_class)
        if line is None:
            line = Line(queue.id, page_class, self.budget)
            if page_class is PageClass.NAV:
                queue.nav = line
            else:
                queue.data = line
        self.sequence += 1
        line.insert(entry_key(queue.id, page_class, urgency, 0, self.sequence), b"")

    def next_host(self, now_ms: int) -> Host | None:
        """Return the host that is asked next; ``chosen`` is its queue whose turn it is."""
        self.chosen = self.agenda.next_turn(now_ms)
        return None if self.chosen is None else self.chosen.host

    def take(self, host: Host) -> bytes:
        """Hand out a URL of a host, as a claim does."""
        queue = self.chosen if self.chosen and self.chosen.host is host else host.queues[0]
        line = queue.next_line()
        assert line is not None
        entry = line.pop(_no_disk, ())
        assert entry is not None
        host.in_flight += 1
        return entry[0]


def _no_disk(_: bytes, __: bytes) -> Iterator[Entry]:
    return iter(())


@pytest.fixture
def rig() -> Rig:
    return Rig()


def names(rig: Rig, now_ms: int) -> list[str]:
    """Take every host that may be asked now, without putting any back."""
    found = []
    while host := rig.next_host(now_ms):
        found.append(str(host.name))
    return found


def served(rig: Rig, most: int) -> list[int]:
    """Hand out URLs one after the other; tells whose each was."""
    jobs: list[int] = []
    for _ in range(most):
        host = rig.next_host(0)
        if host is None or rig.chosen is None:
            break
        jobs.append(rig.chosen.job)
        rig.take(host)
        rig.agenda.enlist(host, 0)
    return jobs


# Hosts


def test_a_host_without_work_is_nowhere(rig: Rig) -> None:
    rig.agenda.enlist(rig.host("a"), 0)
    assert rig.next_host(0) is None
    assert rig.agenda.next_time_ms(0) is None
    assert rig.agenda.with_work == 0


def test_hosts_of_equal_urgency_come_in_turns(rig: Rig) -> None:
    hosts = [rig.host(name) for name in "abc"]
    for host in hosts:
        rig.add(host.queues[0])
        rig.add(host.queues[0])
        rig.agenda.enlist(host, 0)
    order = []
    for _ in range(6):
        found = rig.next_host(0)
        assert found is not None
        order.append(str(found.name))
        rig.take(found)
        found.in_flight = 0
        rig.agenda.enlist(found, 0)
    assert order == list("abcabc")


def test_a_huge_host_does_not_hold_up_a_small_one(rig: Rig) -> None:
    huge, small = rig.host("huge"), rig.host("small")
    for _ in range(1000):
        rig.add(huge.queues[0])
    rig.agenda.enlist(huge, 0)
    rig.add(small.queues[0])
    rig.agenda.enlist(small, 0)
    assert names(rig, 0) == ["huge", "small"]


def test_a_more_urgent_host_comes_first_also_when_it_became_so_late(rig: Rig) -> None:
    first, second = rig.host("first"), rig.host("second")
    for host in (first, second):
        rig.add(host.queues[0], urgency=5)
        rig.agenda.enlist(host, 0)
    rig.add(second.queues[0], urgency=1)
    rig.agenda.enlist(second, 0)
    assert names(rig, 0) == ["second", "first"]


def test_a_host_is_not_asked_before_its_time(rig: Rig) -> None:
    host = rig.host("a")
    rig.add(host.queues[0])
    host.next_at_ms = 500
    rig.agenda.enlist(host, 0)
    assert rig.next_host(499) is None
    assert rig.agenda.next_time_ms(499) == 500
    assert rig.next_host(500) is host


def test_a_rest_that_grows_after_a_host_was_ready_is_kept(rig: Rig) -> None:
    host = rig.host("a")
    rig.add(host.queues[0])
    rig.agenda.enlist(host, 0)
    host.next_at_ms = 500
    assert rig.next_host(0) is None
    assert rig.agenda.next_time_ms(0) == 500
    assert rig.next_host(500) is host


def test_a_rest_that_changes_while_a_host_rests_is_kept(rig: Rig) -> None:
    host = rig.host("a")
    rig.add(host.queues[0])
    for until in (300, 900, 600):
        host.next_at_ms = until
        rig.agenda.enlist(host, 0)
        assert rig.agenda.next_time_ms(0) == until
    assert rig.next_host(599) is None
    assert rig.next_host(600) is host


@pytest.mark.parametrize("per_host", [1, 3])
def test_a_host_with_all_it_allows_in_flight_is_nowhere(rig: Rig, per_host: int) -> None:
    host = rig.host("a", per_host=per_host)
    for _ in range(5):
        rig.add(host.queues[0])
    rig.agenda.enlist(host, 0)
    taken = 0
    while found := rig.next_host(0):
        rig.take(found)
        rig.agenda.enlist(found, 0)
        taken += 1
    assert taken == per_host
    host.in_flight -= 1
    rig.agenda.enlist(host, 0)
    assert rig.next_host(0) is host


def test_a_host_enlisted_many_times_is_handed_out_once(rig: Rig) -> None:
    host = rig.host("a")
    for urgency in (9, 7, 5, 3, 1):
        rig.add(host.queues[0], urgency)
        rig.agenda.enlist(host, 0)
        rig.agenda.enlist(host, 0)
    assert names(rig, 0) == ["a"]
    assert rig.agenda.with_work == 0


def test_a_host_whose_work_went_away_is_not_handed_out(rig: Rig) -> None:
    host = rig.host("a")
    rig.add(host.queues[0])
    rig.agenda.enlist(host, 0)
    rig.take(host)
    host.in_flight = 0
    rig.agenda.enlist(host, 0)
    assert rig.next_host(0) is None
    assert rig.agenda.next_time_ms(0) is None


# Shares of jobs


def crowd(rig: Rig, job: int, hosts: int, urls: int, urgency: int = NORMAL) -> list[Host]:
    """Make hosts of a job that may be asked any number of times."""
    made = [Host(1, HostKey(f"j{job}-{n}"), 0, 1000) for n in range(hosts)]
    for host in made:
        queue = rig.queue(host, job)
        for _ in range(urls):
            rig.add(queue, urgency)
        rig.agenda.enlist(host, 0)
    return made


def test_jobs_of_one_priority_get_equal_shares_however_many_hosts_they_have(rig: Rig) -> None:
    crowd(rig, 1, 200, 5)
    crowd(rig, 2, 4, 100)
    crowd(rig, 3, 1, 100)
    assert sorted(served(rig, 300)) == [1] * 100 + [2] * 100 + [3] * 100


def test_a_more_urgent_job_goes_first_whatever_it_had_before(rig: Rig) -> None:
    crowd(rig, 1, 5, 10, urgency=4)
    assert served(rig, 20) == [1] * 20
    crowd(rig, 2, 2, 10, urgency=0)
    assert served(rig, 25) == [2] * 20 + [1] * 5


def test_a_job_is_not_owed_for_the_time_it_had_nothing(rig: Rig) -> None:
    crowd(rig, 1, 10, 50)
    assert served(rig, 100) == [1] * 100
    crowd(rig, 2, 10, 50)
    assert sorted(served(rig, 20)) == [1] * 10 + [2] * 10


def test_a_small_job_gets_its_share_of_hosts_it_has_in_common(rig: Rig) -> None:
    for host in crowd(rig, 1, 100, 20)[:5]:
        queue = rig.queue(host, 2)
        for _ in range(50):
            rig.add(queue)
        rig.agenda.enlist(host, 0)
    assert sorted(served(rig, 200)) == [1] * 100 + [2] * 100


def test_lanes_of_a_job_that_is_gone_are_forgotten(rig: Rig) -> None:
    [host] = crowd(rig, 1, 1, 1)
    rig.agenda.forget(JobNumber(1))
    assert served(rig, 5) == [1], "not while something waits"
    rig.agenda.forget(JobNumber(1))
    rig.add(host.queues[0])
    rig.agenda.enlist(host, 0)
    assert served(rig, 5) == [1]


# Queues of a host


def test_jobs_on_one_host_take_turns(rig: Rig) -> None:
    host = rig.host("a", per_host=9)
    queues = [host.queues[0], rig.queue(host, 2), rig.queue(host, 3)]
    for queue in queues:
        for _ in range(3):
            rig.add(queue)
    rig.agenda.enlist(host, 0)
    assert served(rig, 10) == [1, 2, 3] * 3


def test_the_more_urgent_job_of_a_host_comes_first(rig: Rig) -> None:
    host = rig.host("a")
    urgent = rig.queue(host, 2)
    rig.add(host.queues[0], urgency=5)
    rig.add(urgent, urgency=2)
    rig.agenda.enlist(host, 0)
    assert rig.agenda.next_turn(0) is urgent
    front = host.front()
    assert front is not None
    assert front >> 32 == 2


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_paused_job_is_passed_over(rig: Rig, jobs: int) -> None:
    host = rig.host("a")
    for job in range(2, jobs + 1):
        rig.queue(host, job)
    for queue in host.queues:
        rig.add(queue)
        queue.running = False
    rig.agenda.enlist(host, 0)
    assert rig.agenda.next_turn(0) is None
    assert host.front() is None
    host.queues[-1].running = True
    rig.agenda.enlist(host, 0)
    assert rig.agenda.next_turn(0) is host.queues[-1]


def test_data_pages_come_first_but_nav_pages_get_their_turn(rig: Rig) -> None:
    host = rig.host("a")
    [queue] = host.queues
    for _ in range(20):
        rig.add(queue, page_class=PageClass.DATA)
        rig.add(queue, page_class=PageClass.NAV)
    served = []
    for _ in range(4 * NAV_TURN):
        line = queue.next_line()
        assert line is not None
        served.append(line is queue.nav)
        line.pop(_no_disk, ())
    assert served == ([False] * (NAV_TURN - 1) + [True]) * 4


def test_a_queue_with_one_class_serves_it(rig: Rig) -> None:
    host = rig.host("a")
    [queue] = host.queues
    assert queue.next_line() is None
    assert queue.front() >> 32 == LEAST_URGENT
    rig.add(queue, page_class=PageClass.NAV)
    assert queue.next_line() is queue.nav
    assert queue.waiting == 1


# Any order of events


class AgendaMachine(RuleBasedStateMachine):
    """Work, rests, claims and answers in any order, beside a list that is searched whole."""

    @initialize()
    def begin(self) -> None:
        self.rig = Rig()
        self.now = 0
        self.hosts = [self.rig.host(f"h{n}", per_host=1 + n % 2) for n in range(4)]

    def _may_be_asked(self, host: Host) -> bool:
        return (
            host.in_flight < host.per_host
            and host.next_at_ms <= self.now
            and host.queues[0].waiting > 0
            and host.queues[0].running
        )

    @rule(n=st.integers(0, 3), urgency=st.integers(0, 9))
    def add(self, n: int, urgency: int) -> None:
        self.rig.add(self.hosts[n].queues[0], urgency)
        self.rig.agenda.enlist(self.hosts[n], self.now)

    @rule(n=st.integers(0, 3), rest=st.integers(0, 50))
    def rest(self, n: int, rest: int) -> None:
        host = self.hosts[n]
        host.next_at_ms = max(host.next_at_ms, self.now + rest)
        self.rig.agenda.enlist(host, self.now)

    @rule(n=st.integers(0, 3))
    def answer(self, n: int) -> None:
        host = self.hosts[n]
        if host.in_flight:
            host.in_flight -= 1
        self.rig.agenda.enlist(host, self.now)

    @rule(n=st.integers(0, 3))
    def pause_or_resume(self, n: int) -> None:
        queue = self.hosts[n].queues[0]
        queue.running = not queue.running
        self.rig.agenda.enlist(self.hosts[n], self.now)

    @rule(ms=st.integers(0, 30))
    def tick(self, ms: int) -> None:
        self.now += ms

    @rule()
    def claim(self) -> None:
        host = self.rig.next_host(self.now)
        asked = [h for h in self.hosts if self._may_be_asked(h)]
        if host is None:
            assert asked == []
            return
        assert host in asked
        self.rig.take(host)
        host.next_at_ms = self.now + 5
        self.rig.agenda.enlist(host, self.now)

    @invariant()
    def it_knows_when_the_next_host_may_be_asked(self) -> None:
        if not hasattr(self, "rig"):
            return
        live = [
            h
            for h in self.hosts
            if h.in_flight < h.per_host and h.queues[0].waiting and h.queues[0].running
        ]
        answer = self.rig.agenda.next_time_ms(self.now)
        assert (answer is None) == (live == [])
        if answer is not None:
            assert max(answer, self.now) == max(self.now, min(h.next_at_ms for h in live))
        assert self.rig.agenda.with_work == len(live)


AgendaMachine.TestCase.settings = settings(max_examples=100, stateful_step_count=40)
TestAgenda = AgendaMachine.TestCase
