"""A crawl that does what a test says, and a display that remembers."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from skitter.config import RunOptions
from skitter.crawl.summary import Summary
from skitter.job.spec import Job
from skitter.observability.stats import CrawlStats


def summary(**changes: object) -> Summary:
    values: dict[str, object] = {
        "pages": 12,
        "ok": 8,
        "failed": 1,
        "refused": 2,
        "duplicates": 1,
        "queued": 0,
        "seconds": 1.23456,
        "dropped": 0,
        "stopped_by": "finished",
        "out": (Path("x.jsonl"),),
        "data": Path(".skitter/x"),
        "hosts": 2,
        "status_codes": {200: 8, 404: 1},
        "errors": {"robots": 2, "status 404": 1},
    }
    return Summary(**{**values, **changes})  # type: ignore[arg-type]


class FakeCrawl:
    """Runs until told to stop, or ends at once with ``result``."""

    def __init__(self, result: Summary | BaseException | None = None) -> None:
        self.stats = CrawlStats(in_flight=3)
        self.calls: list[str] = []
        self.job: Job | None = None
        self.options: RunOptions | None = None
        self.seeds: list[str] | None = None
        self.running = asyncio.Event()
        self._result = result
        self._stopped = asyncio.Event()
        self.drains = True

    async def run(self) -> Summary:
        self.calls.append("run")
        self.running.set()
        if isinstance(self._result, BaseException):
            raise self._result
        if self._result is not None:
            return self._result
        await self._stopped.wait()
        return summary(stopped_by="interrupted", queued=5)

    def stop(self) -> None:
        self.calls.append("stop")
        if self.drains:
            self._stopped.set()

    def abort(self) -> None:
        self.calls.append("abort")
        self._stopped.set()

    @asynccontextmanager
    async def open(
        self, job: Job, options: RunOptions, seeds: Iterator[str] | None
    ) -> AsyncIterator["FakeCrawl"]:
        self.calls.append("open")
        self.job, self.options = job, options
        self.seeds = None if seeds is None else list(seeds)
        yield self
        self.calls.append("close")


class RecordingDisplay:
    """Keeps what it was told to say."""

    def __init__(self) -> None:
        self.said: list[str] = []

    def open(self) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""

    def say(self, line: str) -> None:
        self.said.append(line)

    async def follow(self, stats: CrawlStats) -> None:
        """Do nothing."""
