"""A process of the service, as the one that starts it holds it."""

import asyncio
import os
import signal
import time
from pathlib import Path

import pytest

from skitter.wiring.service_child import ServiceChild


async def test_one_that_ended_before_it_was_told_to_is_waited_for_all_the_same() -> None:
    child = ServiceChild()
    try:
        child.send(signal.SIGKILL)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        child.send(signal.SIGTERM)
        async with asyncio.timeout(30):
            assert await child.ended() == -signal.SIGKILL
    finally:
        child.discard()


def test_no_key_to_a_store_is_in_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("STORE", "COLD", "INDEX", "TOKEN", "CONTROL"):
        monkeypatch.setenv(f"SKITTER_{name}", "hunter2")
    monkeypatch.setenv("SKITTER_NAME", "vega")
    child = ServiceChild()
    try:
        while not (seen := Path(f"/proc/{child.pid}/environ").read_bytes().decode()):
            time.sleep(0.01)  # its program is being put in place
        words = Path(f"/proc/{child.pid}/cmdline").read_bytes().decode()
    finally:
        child.discard()
    assert "hunter2" not in seen + words
    assert "SKITTER_NAME=vega" in seen
