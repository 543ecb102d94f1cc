import pytest

from skitter.politeness.dead_hosts import DeadHostOptions, DeadHosts
from skitter.politeness.sealed import seal
from skitter.testing.virtual_clock import VirtualClock

HOST = "a.example"
OPTIONS = DeadHostOptions(threshold=3, skip_s=100, max_skip_s=350, forget_s=10_000)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock()


@pytest.fixture
def hosts(clock: VirtualClock) -> DeadHosts:
    return DeadHosts(clock, OPTIONS)


def _fail(hosts: DeadHosts, times: int) -> int | None:
    return [hosts.failed(HOST) for _ in range(times)][-1]


def test_a_host_is_dead_after_the_threshold_and_alive_again_after_its_rest(
    hosts: DeadHosts, clock: VirtualClock
) -> None:
    assert _fail(hosts, 2) is None
    assert hosts.is_dead(HOST) is None
    until = _fail(hosts, 1)
    assert until == clock.now_ms() + 100_000
    assert hosts.is_dead(HOST) == until
    assert hosts.is_dead("b.example") is None
    clock.advance(100)
    assert hosts.is_dead(HOST) is None


def test_a_success_forgets_the_faults(hosts: DeadHosts) -> None:
    _fail(hosts, 2)
    hosts.succeeded(HOST)
    assert _fail(hosts, 2) is None
    assert len(hosts) == 1
    hosts.succeeded(HOST)
    hosts.succeeded("never heard of")
    assert len(hosts) == 0


def test_a_host_still_dead_after_its_rest_rests_twice_as_long_up_to_the_cap(
    hosts: DeadHosts, clock: VirtualClock
) -> None:
    _fail(hosts, 2)
    rests = []
    for _ in range(4):
        until = _fail(hosts, 1)
        assert until is not None
        rests.append((until - clock.now_ms()) // 1000)
        clock.advance(rests[-1])
    assert rests == [100, 200, 350, 350]


def test_faults_that_come_in_while_it_is_dead_do_not_lengthen_the_rest(hosts: DeadHosts) -> None:
    until = _fail(hosts, 3)
    assert _fail(hosts, 10) == until


def test_old_faults_do_not_count(hosts: DeadHosts, clock: VirtualClock) -> None:
    _fail(hosts, 2)
    clock.advance(10_001)
    assert _fail(hosts, 2) is None


def test_memory_is_bounded_and_what_is_forgotten_is_counted(clock: VirtualClock) -> None:
    hosts = DeadHosts(clock, DeadHostOptions(threshold=1, max_hosts=3))
    for name in "abcde":
        hosts.failed(name)
    assert (len(hosts), hosts.evicted) == (3, 2)
    assert hosts.is_dead("a") is None
    assert hosts.is_dead("e") is not None


def test_the_dead_stay_dead_over_a_restart(hosts: DeadHosts, clock: VirtualClock) -> None:
    until = _fail(hosts, 3)
    hosts.failed("b.example")
    after = DeadHosts(clock, OPTIONS)
    assert after.load(hosts.encode())
    assert after.is_dead(HOST) == until
    assert len(after) == 2
    assert after.encode() == hosts.encode()


def test_damaged_bytes_change_nothing(hosts: DeadHosts) -> None:
    until = _fail(hosts, 3)
    data = hosts.encode()
    for at in range(len(data)):
        assert not hosts.load(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])
    assert not hosts.load(b"")
    assert not hosts.load(seal(1, b"\xc1"))
    assert hosts.is_dead(HOST) == until
