"""A member that stops itself in the middle of an ack: before its note is written, or after.

It is told the store, the page index and the moment, and prints what came of the ack if it goes on.
"""

import asyncio
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from typing import ParamSpec, TypeVar

from skitter.frontier.model import Ack, JobEntry, Lease, Link, Result
from skitter.frontier.redis import intake
from skitter.types import Fingerprint, HostKey
from skitter.url.partition import slot_of
from skitter.wiring.connect import connect_redis

HOST = HostKey("www.example.com")
FP = Fingerprint(1 << 63)
URL = f"https://{HOST}/"
TTL_MS = 2_000
"""Of the slot and of the lease: both are lost soon."""
OLDER = b'{"visit":"older"}'

P = ParamSpec("P")
R = TypeVar("R")


def stopping(verb: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
    """Return a verb before which this process stops, until it is told to go on."""

    async def stopped(*args: P.args, **options: P.kwargs) -> R:
        os.kill(os.getpid(), signal.SIGSTOP)
        return await verb(*args, **options)

    return stopped


async def work(store: str, index: str, moment: str) -> None:
    intake.HOLD_MS = TTL_MS
    async with AsyncExitStack() as stack:
        _, frontier = await connect_redis(stack, store, index=index)
        job = await frontier.put_job(JobEntry(id="job-1", delay_ms=0))
        slot = slot_of(HOST)
        await frontier.offer([Link(URL, FP, HOST, job, slot)])
        leases: tuple[Lease, ...] = ()
        while not leases:
            grants = await frontier.own("child", [slot], TTL_MS)
            leases = (await frontier.claim(grants, 1, lease_ms=TTL_MS)).leases
            await asyncio.sleep(0.01)
        whom = frontier._pages if moment == "noting" else frontier._intake
        verb = "put" if moment == "noting" else "_end"
        setattr(whom, verb, stopping(getattr(whom, verb)))
        receipt = await frontier.ack([Ack(leases[0], Result.DONE, note=OLDER)])
        print(receipt.accepted, flush=True)


if __name__ == "__main__":
    asyncio.run(work(*sys.argv[1:]))
