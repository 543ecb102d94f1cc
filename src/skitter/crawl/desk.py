"""The jobs that are at work in one process: a desk for each, opened when its first URL comes.

A desk has files and connections open. It is closed when no URL of its job has come for a while:
the job has ended, or others have its hosts now. The next URL opens it again.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Container
from dataclasses import dataclass
from functools import partial

from skitter.crawl.commit import Committer
from skitter.crawl.equipment import Equipment
from skitter.crawl.observer import Observer
from skitter.crawl.trip import Visit
from skitter.crawl.visit import Visitor
from skitter.errors import ConfigError
from skitter.frontier.model import Freed
from skitter.job.spec import Kind
from skitter.types import JobNumber

TEND_S = 2.0
IDLE_S = 120.0
"""How long a desk without work stays open."""
MOST_IDLE = 32
"""Desks without work that are open at most; those that had none for longest are closed first."""

log = logging.getLogger(__name__)


class FreedHosts:
    """Hosts that have answered, until the next claim lets them be asked again."""

    def __init__(self) -> None:
        self._items: list[Freed] = []
        self.on_new: Callable[[], None] = lambda: None

    def __bool__(self) -> bool:
        return bool(self._items)

    def add(self, item: Freed) -> None:
        """Take note that a host may be asked again."""
        self._items.append(item)
        self.on_new()

    def take(self) -> list[Freed]:
        """Return what came in since the last time."""
        items, self._items = self._items, []
        return items

    def put_back(self, items: list[Freed]) -> None:
        """Keep what could not be told."""
        self._items = items + self._items


async def _no_news() -> None:
    """Take up nothing: this process makes all the news itself."""


@dataclass(frozen=True, slots=True)
class Desk:
    """Everything this process needs to work on one job."""

    equipment: Equipment
    committer: Committer
    visitor: Visitor
    take_up_news: Callable[[], Awaitable[None]] = _no_news
    """Reads again what other members have told of the job."""
    close: Callable[[], Awaitable[None]] | None = None
    """Closes what the desk has open; None where it stays as long as the process."""

    @property
    def is_waited_for(self) -> bool:
        """Whether somebody waits for each page of the job: none waits for company."""
        return self.equipment.job.kind is Kind.RESOLVE

    async def queue_unheld(self) -> None:
        """Queue links held back for redirects that nobody here follows any more."""
        links = self.visitor.take_unheld()
        if links:
            await self.equipment.frontier.offer(links)

    async def keep_counts(self) -> None:
        """Store how often pages were linked, up to this moment."""
        marks = self.equipment.finder.linked.take_mark(0.0, force=True)
        if self.equipment.news is not None:
            marks |= self.equipment.news.templates.take_mark(0.0, force=True)
        if self.equipment.aliases is not None:
            marks |= self.equipment.aliases.take_marks(0.0, force=True)
        if marks:
            await self.equipment.frontier.ack([], marks=marks)

    async def leave(self) -> None:
        """Hand over what only this process knows of the job."""
        await self.queue_unheld()
        await self.keep_counts()


MakeDesk = Callable[[JobNumber], Awaitable[Desk]]


class JobGone(Exception):
    """The job is not in the store any more."""


class Desks:
    """The open desks, by job."""

    def __init__(
        self,
        make: MakeDesk | None = None,
        *,
        strict: bool = False,
        observer: Observer | None = None,
    ) -> None:
        self._make = make
        self._observer = observer
        """Hears of everything that was made safe; None where nobody watches."""
        self._strict = strict
        """Whether a job that cannot be worked on is an error: nobody else may claim its URLs in
        the slots of this process, so they would wait as long as it lives."""
        self._unusable: set[JobNumber] = set()
        self.open: dict[JobNumber, Desk] = {}
        self._group: asyncio.TaskGroup | None = None
        self._commits: dict[JobNumber, asyncio.Task[None]] = {}
        self._on_commit: Callable[[list[Visit]], None] = lambda _: None
        self._on_lost: Callable[[list[Visit]], None] = lambda _: None
        self._idle_since: dict[JobNumber, float] = {}
        self._tended = float("-inf")
        self._broken_off = False

    def begin(
        self,
        group: asyncio.TaskGroup,
        on_commit: Callable[[list[Visit]], None],
        on_lost: Callable[[list[Visit]], None],
    ) -> None:
        """Let visits become safe from here on, at the desks that are open and those to come."""
        self._group, self._on_commit, self._on_lost = group, on_commit, on_lost
        for job, desk in self.open.items():
            self._attend(job, desk)

    def end(self) -> None:
        """Stop that; what is not safe yet has to be flushed."""
        self._group = None
        for task in self._commits.values():
            task.cancel()

    def _attend(self, job: JobNumber, desk: Desk) -> None:
        assert self._group is not None
        desk.committer.on_commit, desk.committer.on_lost = self._on_commit, self._on_lost
        if self._observer is not None:
            desk.committer.on_commit = partial(self._committed, desk.equipment, self._observer)
            if desk.equipment.drift is not None:
                desk.equipment.drift.on_alarm = partial(self._observer.alarmed, desk.equipment)
        self._commits[job] = self._group.create_task(desk.committer.run())

    def _committed(self, equipment: Equipment, observer: Observer, visits: list[Visit]) -> None:
        observer.saw(equipment, visits)
        self._on_commit(visits)

    async def of(self, job: JobNumber) -> Desk | None:
        """Return the desk of a job, opened if need be; None when this process cannot work on it."""
        desk = self.open.get(job)
        if desk is not None or self._make is None or job in self._unusable:
            return desk
        try:
            desk = await self._make(job)
        except JobGone:
            self._unusable.add(job)
            return None
        except ConfigError as error:
            if self._strict:
                raise ConfigError(f"job {job} cannot be worked on here: {error}") from error
            log.warning("job %s cannot be worked on here: %s", job, error)
            self._unusable.add(job)
            return None
        self.open[job] = desk
        if self._group is not None:
            self._attend(job, desk)
        return desk

    async def tend(self, busy: Callable[[], Container[JobNumber]]) -> None:
        """Close desks that had nothing to do for a while; ``busy`` names the jobs with leases."""
        now = asyncio.get_running_loop().time()
        if now - self._tended < TEND_S:
            return
        self._tended = now
        jobs = busy()
        idle = [
            job
            for job, desk in self.open.items()
            if desk.close is not None and job not in jobs and not desk.committer.unsafe
        ]
        self._idle_since = {job: self._idle_since.get(job, now) for job in idle}
        longest = sorted(idle, key=self._idle_since.__getitem__)
        for place, job in enumerate(longest):
            if len(idle) - place > MOST_IDLE or now - self._idle_since[job] >= IDLE_S:
                await self._close(job)

    async def _close(self, job: JobNumber) -> None:
        desk = self.open[job]
        assert desk.close is not None
        await desk.leave()
        del self.open[job]
        commits = self._commits.pop(job, None)
        if commits is not None:
            commits.cancel()
            await asyncio.wait([commits])
        await desk.committer.wind_up()
        await desk.close()

    @property
    def delayed(self) -> bool:
        """Whether a job keeps a delay between requests: they must begin when they are claimed."""
        return any(
            desk.equipment.job.polite.delay or desk.equipment.judge.sites.delays
            for desk in self.open.values()
        )

    @property
    def concurrency(self) -> int | None:
        """How many requests an operator lets a member have under way; None leaves it to it."""
        for desk in self.open.values():
            return desk.equipment.judge.sites.concurrency
        return None

    @property
    def trouble(self) -> str:
        """Why the outputs of a job cannot be written at this moment; "" while they can."""
        troubles = (desk.committer.trouble for desk in self.open.values())
        return next((why for why in troubles if why), "")

    @property
    def unsafe(self) -> int:
        """Visits that ended but are not safe yet."""
        return sum(desk.committer.unsafe for desk in self.open.values())

    def hurry(self) -> None:
        """Commit what waits without waiting for company."""
        for desk in self.open.values():
            desk.committer.hurry()

    async def settle(self) -> None:
        """Return when everything that has come in is safe."""
        for desk in self.open.values():
            await desk.committer.settle()

    async def flush(self) -> None:
        """Make everything safe that waits."""
        for desk in self.open.values():
            await desk.committer.flush()

    def break_off(self) -> None:
        """Give up everything that is not safe yet: the store does not answer."""
        if not self._broken_off:
            log.warning(
                "the store does not answer and is not waited for: leases end by themselves, and"
                " what was not acked is fetched again"
            )
        self._broken_off = True
        for desk in self.open.values():
            desk.committer.break_off()

    async def wind_up(self) -> None:
        """Wait for writing that was left alone."""
        for desk in self.open.values():
            await desk.committer.wind_up()

    async def take_up_news(self) -> None:
        """Read again what other members have told; a job may have become workable."""
        self._unusable.clear()
        for desk in self.open.values():
            await desk.take_up_news()
