"""Tells those who watch a store what this process does: pages as events, and counts over time.

Fed with visits whose acks were accepted. Events go out at most ten times a second, those of pages
that somebody waits for at most fifty times, and counts once, in batches, beside the visits: nothing
waits for them. What cannot be told is dropped and counted.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from skitter.clock import Clock, time_text
from skitter.crawl.drift import Alarm
from skitter.crawl.equipment import Equipment
from skitter.crawl.happenings import (
    Happening,
    encode_happening,
    is_told,
    page_happening,
    resolve_happening,
)
from skitter.crawl.media import kind_of
from skitter.crawl.trip import Visit
from skitter.errors import SkitterError
from skitter.frontier.base import Frontier
from skitter.frontier.model import Result
from skitter.job.spec import Kind
from skitter.pipeline.record import PageRecord
from skitter.types import HostKey, Outcome, Role

EVENTS_S: Final = 0.1
URGENT_S: Final = 0.02
COUNTS_S: Final = 1.0
SETTLE_S: Final = 2.0
"""How long the last words may take."""
MOST_WAITING: Final = 10_000
"""Events that wait for a store that does not answer; then some are left out."""
BY_HOST: Final = ("pages", "bytes", "failed", "elapsed_ms", "timed", "images")
"""What is counted for each host beside the status codes of its pages."""
MODULE: Final = "module:"

_CAME = frozenset({Outcome.OK, Outcome.NOINDEX})
_REFUSED = frozenset({Outcome.REFUSED, Outcome.SKIPPED})

Counted = dict[str, int]
log = logging.getLogger(__name__)


class Observer:
    """What one process has to tell. A helper of its crawl, and fed by its desks."""

    def __init__(self, frontier: Frontier, clock: Clock, node: str) -> None:
        self._frontier = frontier
        self._clock = clock
        self._node = node
        self._events: list[bytes] = []
        self._dropped = 0
        """Events that were left out, and not yet told of."""
        self._carried = 0
        """How many the events that wait tell of."""
        self._jobs: dict[tuple[str, str], Counted] = {}
        """By job and kind."""
        self._hosts: dict[HostKey, list[int]] = {}
        self._answers: dict[tuple[HostKey, int], int] = defaultdict(int)
        """Status codes of pages by host."""
        self._some = asyncio.Event()
        self._urgent = asyncio.Event()
        self._told_at = self._counted_at = float("-inf")
        self._complained = False

    def saw(self, equipment: Equipment, visits: Sequence[Visit]) -> None:
        """Take in visits of one job that are safe."""
        job = equipment.job
        kind = job.kind.value
        counted = self._jobs.get((job.id, kind))
        if counted is None:
            counted = self._jobs[job.id, kind] = defaultdict(int)
        if equipment.manners.asked:
            counted["module:robots"] += equipment.manners.asked
            equipment.manners.asked = 0
        for visit in visits:
            record = visit.record
            if record is None:
                if visit.result is Result.RETRY:
                    counted["module:retry"] += 1
                    counted["module:fetch"] += 1
                continue
            self._count(counted, visit, record)
            if is_told(visit):
                self._tell_page(page_happening(visit, record, kind, self._node))
        self._some.set()
        if job.kind is Kind.RESOLVE:
            self._urgent.set()

    def _tell_page(self, page: Happening) -> None:
        self._tell(page)
        if page.kind == Kind.RESOLVE:
            self._tell(resolve_happening(page))

    def alarmed(self, equipment: Equipment, alarm: Alarm) -> None:
        """Take in that a field is found no more."""
        at = time_text(self._clock.now_ms())
        job = equipment.job
        told = Happening(
            type="alarm",
            at=at,
            job=job.id,
            kind=job.kind.value,
            node=self._node,
            message=alarm.words,
        )
        self._tell(told)
        self._some.set()

    def _tell(self, happening: Happening) -> None:
        if len(self._events) >= MOST_WAITING:
            self._dropped += 1
            return
        if self._dropped:
            happening.dropped = self._dropped
            self._carried += self._dropped
            self._dropped = 0
        self._events.append(encode_happening(happening))

    def _count(self, counted: Counted, visit: Visit, record: PageRecord) -> None:
        _count_modules(counted, visit, record)
        if record.bytes:
            counted["bytes"] += record.bytes
        is_image = False
        if visit.media is not None:
            counted["media"] += 1
            is_image = kind_of(visit.lease) == "image"
            counted["images"] += is_image
        failed = 0
        if visit.page is not None:
            outcome = record.outcome
            failed = outcome not in _CAME and outcome not in _REFUSED
            failed = int(failed and outcome != Outcome.DUPLICATE)
            counted["pages"] += 1
            counted["ok"] += outcome in _CAME
            counted["refused"] += outcome in _REFUSED
            counted["failed"] += failed
            if record.status is not None:
                counted[f"status:{record.status}"] += 1
                self._answers[visit.lease.host, record.status] += 1
        elif record.outcome == Outcome.REJECTED:
            counted["rejected"] += 1
        timed = record.elapsed_ms is not None
        if timed:
            counted["elapsed_ms"] += record.elapsed_ms or 0
            counted["timed"] += 1
        host = self._hosts.get(visit.lease.host)
        if host is None:
            host = self._hosts[visit.lease.host] = [0] * len(BY_HOST)
        host[0] += visit.page is not None
        host[1] += record.bytes or 0
        host[2] += failed
        host[3] += record.elapsed_ms or 0
        host[4] += timed
        host[5] += is_image

    async def run(self) -> None:
        """Tell what has come in, until cancelled."""
        now = asyncio.get_running_loop().time
        while True:
            await self._some.wait()
            await self._gather()
            self._told_at = now()
            await self._publish()
            if now() - self._counted_at >= COUNTS_S:
                self._counted_at = now()
                await self._add()
            if not self._events and not self._jobs:
                self._some.clear()

    async def _gather(self) -> None:
        """Let events come together for a while."""
        loop = asyncio.get_running_loop()
        with suppress(TimeoutError):
            async with asyncio.timeout_at(self._told_at + EVENTS_S):
                await self._urgent.wait()
        self._urgent.clear()
        await asyncio.sleep(self._told_at + URGENT_S - loop.time())

    async def settle(self) -> None:
        """Tell the rest; a store that does not answer is not waited for."""
        try:
            async with asyncio.timeout(SETTLE_S):
                await self._publish()
                await self._add()
        except TimeoutError:
            log.info("the last events and counts of this process were not told")

    async def _publish(self) -> None:
        events, self._events = self._events, []
        carried, self._carried = self._carried, 0
        if not events:
            return
        try:
            await self._frontier.publish(events)
        except SkitterError as error:
            self._dropped += len(events) + carried
            self._complain(error)

    async def _add(self) -> None:
        jobs, self._jobs = self._jobs, {}
        hosts, self._hosts = self._hosts, {}
        answers, self._answers = self._answers, defaultdict(int)
        counts = expanded(jobs, hosts, answers, self._node)
        if not counts:
            return
        try:
            await self._frontier.count(counts, self._clock.now_ms())
        except SkitterError as error:
            self._complain(error)

    def _complain(self, error: SkitterError) -> None:
        if not self._complained:
            self._complained = True
            log.warning("what this process does cannot be shown: %s", error)


def _count_modules(counted: Counted, visit: Visit, record: PageRecord) -> None:
    """Count what the parts of the program have done for a visit."""
    if record.status is not None or record.outcome == Outcome.FAILED:
        counted["module:fetch"] += 1 + len(record.redirects)
        if visit.lease.role is Role.SITEMAP:
            counted["module:sitemap"] += 1
        elif visit.lease.role is Role.MEDIA:
            counted["module:media"] += 1
    if record.encoding is not None:
        counted["module:parse"] += 1
    if record.text is not None:
        counted["module:article"] += 1
    if visit.filled:
        counted["module:rules"] += 1
    if visit.kept:
        counted["module:archive"] += len(visit.kept)


def expanded(
    jobs: Mapping[tuple[str, str], Mapping[str, int]],
    hosts: Mapping[HostKey, Sequence[int]],
    answers: Mapping[tuple[HostKey, int], int],
    node: str,
) -> dict[str, int]:
    """Return what is counted over all, and by job, kind, node and host."""
    totals: Counted = defaultdict(int)
    for (job, kind), counted in jobs.items():
        for name, n in counted.items():
            if not n:
                continue
            totals[name] += n
            totals[f"{name}|node={node}"] += n
            if not name.startswith(MODULE):
                totals[f"{name}|job={job}"] += n
                totals[f"{name}|kind={kind}"] += n
    for host, numbers in hosts.items():
        for name, n in zip(BY_HOST, numbers, strict=True):
            if n:
                totals[f"{name}|host={host}"] = n
    for (host, status), n in answers.items():
        totals[f"status:{status}|host={host}"] = n
    return dict(totals)
