"""How everything stands: what people see first, and what alarms them."""

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from heapq import nlargest
from typing import Any, Final, Generic, TypeVar

from skitter.api.counters.counters import Counters
from skitter.client.events import HostCount, Stats
from skitter.clock import time_text
from skitter.crawl.drift import read_alarms
from skitter.crawl.linked import host_ranking, merged, read_table
from skitter.wiring.service import Facts, Service

FRESH_S: Final = 1.0
RARE_S: Final = 20.0
"""How long what changes slowly is good for: links are counted every twenty seconds."""
SHOWN: Final = 20
LEAST_ANSWERS: Final = 5
"""Answers of a host before it is called slow."""
OTHER: Final = "other"

T = TypeVar("T")


class Once(Generic[T]):
    """A value that is found at most once in a while, however many ask for it."""

    def __init__(self, find: Callable[[], Awaitable[T]], good_s: float) -> None:
        self._find = find
        self._good_s = good_s
        self._until = 0.0
        self._lock = asyncio.Lock()
        self._value: T | None = None

    async def get(self) -> T:
        """Return the value, found anew if it is old."""
        async with self._lock:
            if self._value is None or time.monotonic() >= self._until:
                self._value = await self._find()
                self._until = time.monotonic() + self._good_s
            return self._value


class Standing:
    """How a service's jobs, nodes and sites stand."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self.counters = Counters(service.store)
        self._stats = Once(self._look, FRESH_S)
        self._sites = Once(self._look_at_sites, RARE_S)
        self.states: Counter[str] = Counter()
        """How many jobs are in which state, when it was looked at last."""

    @property
    def now_ms(self) -> int:
        """The time of the store."""
        return self._service.store.clock.now_ms()

    @property
    def trouble(self) -> str:
        """Why the store does not answer; "" while it does."""
        return self._service.store.frontier.trouble

    async def stats(self) -> Stats:
        """Return how everything stands, at most a second ago."""
        return await self._stats.get()

    async def _look(self) -> Stats:
        counters = self.counters
        jobs, nodes, totals, windows, speed, sites, *by = await asyncio.gather(
            self._service.ask({"jobs": "list"}),
            self._service.ask({"nodes": "list"}),
            counters.totals(),
            counters.windows(),
            counters.pages_per_second(),
            self._sites.get(),
            *(counters.pages_by(name) for name in ("job", "kind", "node")),
        )
        by_job, by_kind, by_node = by
        self.states = Counter(str(job["state"]) for job in jobs)
        away = [f"the store does not answer: {self.trouble}"] if self.trouble else []
        alarms = sites["alarms"] + node_alarms(nodes) + away
        return Stats(
            at=time_text(self.now_ms),
            **standing_of(jobs, nodes),
            pages=totals.get("pages", 0),
            bytes=totals.get("bytes", 0),
            pages_per_second=speed,
            windows=windows,
            by_job=by_job,
            by_kind=by_kind,
            by_node=by_node,
            **{**sites, "alarms": alarms},
        )

    async def _look_at_sites(self) -> dict[str, Any]:
        reader = self._service.store.reader
        pages, elapsed, timed = await asyncio.gather(
            *(self.counters.by_host(name) for name in ("pages", "elapsed_ms", "timed"))
        )
        linked, submitted, drifts, jobs = await asyncio.gather(
            reader.marks("linked:"),
            reader.top_urls(SHOWN),
            reader.marks("drift:"),
            reader.jobs(),
        )
        table = merged(read_table(raw) for raw in linked.values() if raw)
        names = {str(number): entry.id for number, entry in jobs.items()}
        return {
            "busiest_hosts": ranked(pages),
            "slowest_hosts": ranked(mean_times(elapsed, timed)),
            "most_linked": ranked(host_ranking(table)),
            "most_submitted": [{"url": url, "n": n} for url, n in submitted],
            "alarms": drift_alarms(drifts, names),
        }


def standing_of(jobs: list[Facts], nodes: list[Facts]) -> dict[str, Any]:
    """Return how many there are of what, from the rows of jobs and of workers."""
    return {
        "jobs": len(jobs),
        "running": sum(job["state"] == "running" for job in jobs),
        "queued": sum(int(job["queued"]) for job in jobs),
        "leased": sum(int(job["leased"]) for job in jobs),
        "nodes": len({row["node"] for row in nodes if row["node"]}),
        "workers": sum(row.get("state") == "running" for row in nodes),
    }


def node_alarms(nodes: list[Facts]) -> list[str]:
    """Return what is wrong with workers, in words."""
    found = []
    for row in nodes:
        who = f"worker {row['worker']} of {row['node']}" if row.get("worker") else row["node"]
        if row.get("trouble"):
            found.append(f"{who}: {row['trouble']}")
        elif row.get("health") in {"silent", "away"}:
            found.append(f"{who} is {row['health']}")
    return found


def drift_alarms(marks: Mapping[str, bytes], names: Mapping[str, str]) -> list[str]:
    """Return what sites have changed so that rules do not find it any more, by job."""
    found = []
    for mark in sorted(marks):
        job = names.get(mark.split(":")[1])
        if job is not None:
            found += [f"{job}: {alarm.words}" for alarm in read_alarms({mark: marks[mark]})]
    return found


def mean_times(elapsed: Mapping[str, int], timed: Mapping[str, int]) -> dict[str, float]:
    """Return the mean milliseconds of an answer, of hosts that have given some."""
    return {
        host: round(elapsed[host] / timed[host], 1)
        for host in elapsed.keys() & timed.keys()
        if timed[host] >= LEAST_ANSWERS
    }


def ranked(numbers: Mapping[str, float]) -> list[HostCount]:
    """Return the largest numbers, of equal ones the first by name."""
    most = nlargest(SHOWN, numbers.items(), key=lambda item: item[1])
    return [
        HostCount(host=host, n=n)
        for host, n in sorted(most, key=lambda item: (-item[1], item[0]))
        if host != OTHER
    ]
