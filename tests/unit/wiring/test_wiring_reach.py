"""The way out of a process, put together from what a job says."""

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from skitter.clock import SystemClock
from skitter.errors import ConfigError
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.job.spec import Job, check_job
from skitter.types import HostKey
from skitter.wiring.egress import checked_egress
from skitter.wiring.reach import make_reach

HOST = HostKey("www.example.com")


def job(**polite: object) -> Job:
    return check_job({"entries": ["https://example.com/"], "polite": polite}, "test")


async def test_a_job_counts_by_its_kind_and_by_the_address_it_leaves_from(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        frontier = EmbeddedFrontier(tmp_path / "store")
        await frontier.open()
        stack.push_async_callback(frontier.close)
        reach = make_reach(stack, frontier, SystemClock(), shared=True, egress="127.0.0.2")
        assert reach.names is not None
        own = reach.of(job(rate="20/60s", rate_ip="10/60s"))
        asked = own.windows.asked(HOST)
        assert asked is not None
        assert [window.name for window in asked.windows] == ["kind:site", "from:127.0.0.2"]
        assert own.pool.egress == "127.0.0.2"
        assert reach.of(job()).windows.asked(HOST) is None


async def test_the_gate_of_addresses_is_on_unless_a_job_leaves_it_out(tmp_path: Path) -> None:
    async with AsyncExitStack() as stack:
        frontier = EmbeddedFrontier(tmp_path / "store")
        await frontier.open()
        stack.push_async_callback(frontier.close)
        reach = make_reach(stack, frontier, SystemClock(), shared=False)
        assert reach.names is None
        assert reach.of(job(per_ip=0)).pool.gate is None
        gate = reach.of(job(per_ip=2, ip_exempt=["198.51.100.0/24"])).pool.gate
        assert gate is not None
        assert gate.minds("203.0.113.7")
        assert not gate.minds("198.51.100.7")
        async with asyncio.timeout(30):
            await gate.enter("203.0.113.7")
            await gate.enter("203.0.113.7")
        gate.leave("203.0.113.7")
        wide = reach.of(job(per_ip=2, per_host=5)).pool.gate
        assert wide is not None
        async with asyncio.timeout(30):
            for _ in range(5):
                await wide.enter("203.0.113.8")


@pytest.mark.parametrize("text", ["127.0.0.1", "127.0.0.3", "::1"])
def test_an_address_of_this_machine_is_taken(text: str) -> None:
    assert checked_egress(text) == text


@pytest.mark.parametrize("text", ["", "localhost", "eth0", "192.0.2.1", "2001:db8::1", "1.2.3"])
def test_any_other_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="wanted an IP address of this machine"):
        checked_egress(text)
