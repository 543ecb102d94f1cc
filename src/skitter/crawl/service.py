"""A member that serves every job of a store until it is told to stop."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress

from skitter.crawl.ends import Ends
from skitter.crawl.engine import Engine
from skitter.crawl.lifecycle import Helper, first_error
from skitter.crawl.survey import Survey
from skitter.crawl.works import EngineOptions, Works
from skitter.errors import FrontierError
from skitter.observability.stats import CrawlStats

STATS_S = 1.0


class Service:
    """The visits of one process, whatever job they belong to."""

    def __init__(
        self,
        works: Works,
        options: EngineOptions,
        helpers: Sequence[Helper] = (),
        *,
        surveys: bool = True,
        ends: Ends | None = None,
    ) -> None:
        self.stats = CrawlStats()
        self._surveys = surveys
        """Whether to look at what is left; one process of a machine is enough."""
        self._ends = ends
        self._works = works
        self._helpers = helpers
        self.engine = Engine(works, None, stats=self.stats, options=options)
        self.engine.seeded()
        self._main: asyncio.Task[None] | None = None

    @property
    def stopped_by(self) -> str:
        """Why the service ended."""
        return self.engine.stopped_by

    def stop(self) -> None:
        """Begin to drain: requests in flight may finish."""
        self.engine.stop("interrupted")

    def abort(self) -> None:
        """Stop at once; what is not safe yet is fetched again by others."""
        self.stop()
        self.engine.break_off()
        if self._main is not None:
            self._main.cancel()

    async def run(self) -> str:
        """Work until stopped or idle for long enough; answers why it ended."""
        self._main = asyncio.create_task(self._serve())
        try:
            await self._main
        except asyncio.CancelledError:
            if not self.stopped_by:
                raise
        except BaseExceptionGroup as group:
            raise first_error(group) from group
        return self.stopped_by

    async def _serve(self) -> None:
        await self._works.holdings.refresh()
        async with asyncio.TaskGroup() as group:
            extras = [
                group.create_task(self._watch()),
                group.create_task(self._survey()),
                *(group.create_task(helper.run()) for helper in self._helpers),
            ]
            await self.engine.run()
            for helper in self._helpers:
                await helper.settle()
            for task in extras:
                task.cancel()

    async def _watch(self) -> None:
        while True:
            self.stats.note = self._works.trouble
            if self.engine.is_stuck:
                self.abort()
            self.stats.pages, self.stats.bytes = self.stats.run_pages, self.stats.run_bytes
            await asyncio.sleep(STATS_S)

    async def _survey(self) -> None:
        """Keep what is left fresh; apart from the rest, for a store in trouble does not answer."""
        survey = Survey(self._works.reader, ends=self._ends)
        while self._surveys:
            # A job may be dropped while it is looked at.
            with suppress(FrontierError):
                (await survey.look()).show(self.stats)
            await asyncio.sleep(survey.pause_s)
