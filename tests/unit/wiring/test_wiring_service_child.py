"""A process of the service, as the one that starts it holds it."""

import asyncio
import os
import signal

from skitter.wiring.service_child import ServiceChild


async def test_one_that_ended_before_it_was_told_to_is_waited_for_all_the_same() -> None:
    child = ServiceChild()
    try:
        child.send(signal.SIGKILL)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        child.send(signal.SIGTERM)
        async with asyncio.timeout(5):
            assert await child.ended() == -signal.SIGKILL
    finally:
        child.discard()
