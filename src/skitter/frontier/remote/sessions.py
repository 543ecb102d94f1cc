"""What a master remembers of one child."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass

from skitter.errors import FrontierError
from skitter.frontier.model import Lease

MAX_KEPT_BYTES = 8 << 20
"""Answers that are kept for one session, in case it did not get them."""


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """One child as a person wants to see it."""

    name: str
    pid: int
    silent_s: float
    """How long ago its last call came."""
    leases: int
    acked: int
    """Leases it has ended by an ack that counted."""


class Session:
    """One child: when it was heard, what it holds, and what it was answered."""

    def __init__(self, key: str, name: str, pid: int, *, trusted: bool = False) -> None:
        self.key = key
        self.trusted = trusted
        """Whether it speaks for the operator, and is no member."""
        self.name = name
        self.pid = pid
        self.heard_at = 0.0
        """Boot time of its last call."""
        self.owns_until = 0.0
        """Boot time at which the last of its grants ends."""
        self.leases: dict[int, Lease] = {}
        self.acked = 0
        self.gone = False
        """Whether it said goodbye or was given up; it does not come back under the same key."""
        self._settled = 0
        self._running: dict[int, asyncio.Task[bytes]] = {}
        self._answers: dict[int, bytes] = {}
        self._kept_bytes = 0

    @property
    def busy(self) -> bool:
        """Whether calls of it run."""
        return bool(self._running)

    def silent_until(self, silence_s: float) -> float:
        """Return the boot time at which the session is given up if nothing more comes."""
        return max(self.heard_at + silence_s, self.owns_until)

    def take(self, leases: Iterable[Lease]) -> None:
        """Take note of leases it holds."""
        self.leases.update((lease.id, lease) for lease in leases)

    def drop(self, ids: Iterable[int]) -> list[Lease]:
        """Take note of leases it holds no longer; answers those it did."""
        return [lease for number in ids if (lease := self.leases.pop(number, None)) is not None]

    async def once(self, number: int, settled: int, run: Callable[[], Awaitable[bytes]]) -> bytes:
        """Return the answer to a call, running it only if it was not run before.

        A child that hangs up does not end its call: it asks again under the same number, and
        waits for the one that runs.
        """
        self._forget(settled)
        if number < self._settled:
            raise FrontierError(f"call {number} was answered and settled before")
        answer = self._answers.get(number)
        if answer is not None:
            return answer
        task = self._running.get(number)
        if task is None:
            task = asyncio.ensure_future(self._keep(number, run))
            self._running[number] = task
        return await asyncio.shield(task)

    async def finish(self, within_s: float) -> None:
        """Wait for the calls that run; those that take longer are broken off."""
        running = list(self._running.values())
        if not running:
            return
        _, late = await asyncio.wait(running, timeout=within_s)
        for task in late:
            task.cancel()
        await asyncio.gather(*late, return_exceptions=True)

    def facts(self, boot: float) -> SessionFacts:
        """Return what a person wants to see."""
        silent_s = max(0.0, boot - self.heard_at)
        return SessionFacts(self.name, self.pid, silent_s, len(self.leases), self.acked)

    async def _keep(self, number: int, run: Callable[[], Awaitable[bytes]]) -> bytes:
        try:
            answer = await run()
        finally:
            del self._running[number]
        self._answers[number] = answer
        self._kept_bytes += len(answer)
        while self._kept_bytes > MAX_KEPT_BYTES and len(self._answers) > 1:
            # Repeating such a call runs it again, which the seam allows.
            self._drop_answer(next(iter(self._answers)))
        return answer

    def _forget(self, settled: int) -> None:
        """Let go of the answers that have arrived."""
        if settled > self._settled:
            self._settled = settled
            for number in [number for number in self._answers if number < settled]:
                self._drop_answer(number)

    def _drop_answer(self, number: int) -> None:
        self._kept_bytes -= len(self._answers.pop(number))
