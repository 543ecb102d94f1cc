"""Members that are killed, or sleep, between the note of a page and its ack."""

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import AsyncExitStack
from pathlib import Path

import pytest
from index_child import FP, HOST, OLDER
from postgres import shared_postgres
from stores import own_store

from skitter.frontier.model import Ack, Grant, Result
from skitter.frontier.redis.frontier import RedisFrontier
from skitter.url.partition import slot_of
from skitter.wiring.connect import connect_redis

CHILD = Path(__file__).with_name("index_child.py")
NEWER = b'{"visit":"newer"}'


def stopped_child(store: str, index: str, moment: str) -> subprocess.Popen[str]:
    """Start a child and wait until it has stopped itself."""
    words = [sys.executable, str(CHILD), store, index, moment]
    child = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    _, status = os.waitpid(child.pid, os.WUNTRACED)
    assert os.WIFSTOPPED(status), status
    return child


async def take_over(frontier: RedisFrontier) -> list[Grant]:
    """Own the slot once the child's time is over."""
    while not (grants := await frontier.own("next", [slot_of(HOST)])):
        await asyncio.sleep(0.02)
    return grants


async def visit(frontier: RedisFrontier) -> None:
    """Fetch the page that the child had leased, and ack it."""
    grants = await take_over(frontier)
    while not (leases := (await frontier.claim(grants, 1)).leases):
        await asyncio.sleep(0.02)
    receipt = await frontier.ack([Ack(leases[0], Result.DONE, note=NEWER)])
    assert receipt.accepted == 1


@pytest.mark.parametrize(("moment", "left"), [("noting", b""), ("acking", OLDER)])
async def test_a_member_that_is_killed_leaves_a_page_to_be_fetched_again(
    moment: str, left: bytes
) -> None:
    store, index = own_store(), shared_postgres().url
    with stopped_child(store, index, moment) as child:
        child.kill()
    async with AsyncExitStack() as stack:
        _, frontier = await connect_redis(stack, store, index=index)
        [job] = await frontier.jobs()
        assert await frontier.note(job, HOST, FP) == left
        assert (await frontier.counts(job)).done == 0
        await visit(frontier)
        assert await frontier.note(job, HOST, FP) == NEWER
        assert (await frontier.counts(job)).done == 1


@pytest.mark.parametrize("moment", ["noting", "acking"])
async def test_a_member_that_slept_does_not_undo_what_came_after(moment: str) -> None:
    store, index = own_store(), shared_postgres().url
    with stopped_child(store, index, moment) as child:
        try:
            async with AsyncExitStack() as stack:
                _, frontier = await connect_redis(stack, store, index=index)
                [job] = await frontier.jobs()
                await visit(frontier)
                child.send_signal(signal.SIGCONT)
                told, _ = await asyncio.to_thread(child.communicate)
                assert told == "0\n", "its lease had ended"
                assert await frontier.note(job, HOST, FP) == NEWER
        finally:
            child.kill()
