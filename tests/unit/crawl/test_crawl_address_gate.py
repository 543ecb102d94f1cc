"""The gate of an address: how many get in, who waits, and what the store is asked."""

import asyncio
from collections.abc import Sequence
from ipaddress import ip_network

import pytest

from skitter.clock import SystemClock
from skitter.crawl import address_gate
from skitter.crawl.address_gate import AddressGate, JobGate
from skitter.crawl.windows import PutOff
from skitter.frontier.embedded.tokens import Tokens
from skitter.frontier.limits import TokenWish

IP = "192.0.2.7"


class Store:
    """Tokens in memory, and what was asked of them."""

    def __init__(self, delay_s: float = 0.0) -> None:
        self._tokens = Tokens(SystemClock())
        self._delay_s = delay_s
        self.calls: list[tuple[str, list[TokenWish]]] = []

    async def tokens(self, holder: str, wanted: Sequence[TokenWish], ttl_ms: int) -> list[int]:
        self.calls.append((holder, list(wanted)))
        answers = self._tokens.take(holder, wanted, ttl_ms)
        await asyncio.sleep(self._delay_s)
        return answers


class Crowd:
    """Requests to one address and how many of them are in flight at a time."""

    def __init__(self) -> None:
        self.now = self.most = self.done = 0
        self.put_off = 0

    async def request(self, gate: AddressGate, most: int = 8, lasts_s: float = 0.01) -> None:
        try:
            await gate.enter(IP, most)
        except PutOff:
            self.put_off += 1
            return
        self.now += 1
        self.most = max(self.most, self.now)
        await asyncio.sleep(lasts_s)
        self.now -= 1
        self.done += 1
        gate.leave(IP)


@pytest.fixture(autouse=True)
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address_gate, "POLL_S", 0.01)
    monkeypatch.setattr(address_gate, "RENEW_S", 0.05)
    monkeypatch.setattr(address_gate, "IDLE_S", 0.1)
    monkeypatch.setattr(address_gate, "WAIT_S", 30.0)


@pytest.fixture
def keeps_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be asked because time has passed, however busy the machine is."""
    monkeypatch.setattr(address_gate, "RENEW_S", 60.0)
    monkeypatch.setattr(address_gate, "IDLE_S", 60.0)


async def test_one_process_counts_for_itself() -> None:
    gate, crowd = AddressGate(SystemClock()), Crowd()
    await asyncio.gather(*(crowd.request(gate) for _ in range(16)))
    assert (crowd.most, crowd.done, crowd.put_off) == (8, 16, 0)
    assert not gate._addresses, "nothing is remembered of an address that is not in use"


async def test_who_would_wait_for_long_is_put_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address_gate, "WAIT_S", 0.05)
    clock = SystemClock()
    gate, crowd = AddressGate(clock), Crowd()
    await gate.enter(IP, 1)
    before = clock.now_ms()
    with pytest.raises(PutOff) as put_off:
        await gate.enter(IP, 1)
    assert before + 500 <= put_off.value.at_ms <= clock.now_ms() + 1_500
    gate.leave(IP)
    await crowd.request(gate, 1)
    assert crowd.done == 1


async def test_only_so_many_wait_as_may_be_in_flight() -> None:
    gate, crowd = AddressGate(SystemClock()), Crowd()
    await asyncio.gather(*(crowd.request(gate, 2) for _ in range(7)))
    assert (crowd.done, crowd.put_off) == (4, 3)


async def test_other_addresses_have_gates_of_their_own() -> None:
    gate = AddressGate(SystemClock())
    async with asyncio.timeout(30):
        for address in ("192.0.2.1", "192.0.2.2", "2001:db8::1"):
            await gate.enter(address, 1)


async def test_one_who_is_cancelled_at_the_gate_leaves_no_gap() -> None:
    gate, crowd = AddressGate(SystemClock()), Crowd()
    await gate.enter(IP, 1)
    waiting = asyncio.create_task(crowd.request(gate, 2))
    late = asyncio.create_task(crowd.request(gate, 1))
    await asyncio.sleep(0)
    late.cancel()
    gate.leave(IP)
    late.cancel()
    await asyncio.gather(waiting, late, return_exceptions=True)
    async with asyncio.timeout(30):
        await gate.enter(IP, 1)


async def test_the_smallest_limit_of_the_jobs_at_work_counts() -> None:
    gate, crowd = AddressGate(SystemClock()), Crowd()
    await asyncio.gather(*(crowd.request(gate, most) for most in (8, 2, 8, 2, 8, 8)))
    assert crowd.most <= 3, "one came in before the smaller limit was known"


async def test_processes_share_what_there_is_and_all_get_on() -> None:
    store = Store(0.001)
    clock = SystemClock()
    gates = [AddressGate(clock, store, name) for name in ("a", "b", "c")]
    crowd = Crowd()
    await asyncio.gather(*(crowd.request(gate, 8, 0.03) for gate in gates for _ in range(8)))
    assert crowd.most <= 8
    assert (crowd.done, crowd.put_off) == (24, 0)
    for gate in gates:
        await gate.close()


@pytest.mark.usefixtures("keeps_tokens")
async def test_tokens_are_used_for_many_requests() -> None:
    store, crowd = Store(), Crowd()
    gate = AddressGate(SystemClock(), store, "a")
    for _ in range(50):
        await crowd.request(gate, 8, 0)
    assert crowd.done == 50
    assert len(store.calls) <= 4
    await gate.close()


@pytest.mark.usefixtures("keeps_tokens")
async def test_questions_about_many_addresses_are_asked_together() -> None:
    store = Store(0.02)
    gate = AddressGate(SystemClock(), store, "a")
    await asyncio.gather(*(gate.enter(f"192.0.2.{n}", 8) for n in range(60)))
    assert len(store.calls) <= 3
    await gate.close()


async def test_a_busy_process_gives_way_to_others() -> None:
    store, clock = Store(), SystemClock()
    first, second = AddressGate(clock, store, "a"), AddressGate(clock, store, "b")
    crowd, other = Crowd(), Crowd()

    async def keep_busy() -> None:
        while True:
            await crowd.request(first, 2, 0.02)
            await asyncio.sleep(0.001)

    busy = [asyncio.create_task(keep_busy()) for _ in range(4)]
    await asyncio.sleep(0.1)
    await other.request(second, 2)
    assert other.done == 1
    for task in busy:
        task.cancel()
    await asyncio.wait(busy)
    for gate in (first, second):
        await gate.close()


async def test_tokens_of_a_process_that_died_are_used_by_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(address_gate, "TTL_MS", 200)
    store, clock = Store(), SystemClock()
    dead, alive = AddressGate(clock, store, "a"), AddressGate(clock, store, "b")
    for _ in range(8):
        await dead.enter(IP, 8)
    await dead.close()
    async with asyncio.timeout(30):
        await alive.enter(IP, 8)
    await alive.close()


async def test_tokens_that_have_ended_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(address_gate, "TTL_MS", 50)
    store, crowd = Store(), Crowd()
    gate = AddressGate(SystemClock(), store, "a")
    await crowd.request(gate)
    asked = len(store.calls)
    await asyncio.sleep(0.08)
    await crowd.request(gate)
    assert len(store.calls) > asked
    async with asyncio.timeout(30):
        while gate._addresses:
            await asyncio.sleep(0.01)
    await gate.close()


async def test_tokens_nobody_needs_are_given_back() -> None:
    store, crowd = Store(), Crowd()
    gate = AddressGate(SystemClock(), store, "a")
    await crowd.request(gate)
    async with asyncio.timeout(30):
        while gate._addresses:
            await asyncio.sleep(0.01)
    assert store.calls[-1] == ("a", [TokenWish(IP, 8, 0, 0)])
    assert store._tokens._held == {}
    await gate.close()


def test_loopback_and_what_a_job_names_are_not_counted() -> None:
    gate = JobGate(
        AddressGate(SystemClock()), 8, [ip_network("104.16.0.0/13"), ip_network("2606:4700::/32")]
    )
    counted = ["93.184.216.34", "104.15.255.255", "10.0.0.7", "2a00::1", "104.24.0.1"]
    free = ["127.0.0.1", "127.9.9.9", "::1", "104.16.0.1", "104.23.255.255", "2606:4700::9", ""]
    assert [address for address in counted + free if gate.minds(address)] == counted
