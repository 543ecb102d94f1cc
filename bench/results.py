"""What one run gave, and how the runs of two crawlers compare."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from bench.judge import Records, Requests
from bench.measure import Cost


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One crawler, once."""

    crawler: str
    hosts: int
    web_pages: int
    round: int
    cost: Cost
    requests: Requests
    records: Records | None
    last_words: str
    """The end of what it printed, for a run that failed."""
    members: int = 1
    members_have_cores: bool = True
    """Whether each member had a core of its own."""
    store_cpu_s: float | None = None
    """CPU of the Redis server, for a crawler whose state is there."""

    @property
    def pages_per_s(self) -> float:
        """Speed by the server's own clock."""
        return self.requests.pages / self.requests.seconds if self.requests.seconds else 0.0

    @property
    def cpu_ms_per_page(self) -> float:
        """CPU of the crawler, start-up included; equals seconds per 1,000 pages."""
        return self.cost.cpu_s * 1000 / self.requests.pages if self.requests.pages else 0.0

    @property
    def store_ms_per_page(self) -> float:
        """CPU of the Redis server."""
        pages = self.requests.pages
        return (self.store_cpu_s or 0.0) * 1000 / pages if pages else 0.0

    @property
    def finished(self) -> bool:
        """Whether it ran to its end and fetched anything."""
        ended_well = self.cost.exit_code == 0 and not self.cost.timed_out
        return ended_well and self.requests.pages > 0

    @property
    def exact(self) -> bool:
        """Whether every page was fetched and recorded once, and none that is forbidden."""
        seen = self.requests
        faults = seen.missed + seen.twice + seen.forbidden
        if self.records is not None:
            faults += self.records.missing + self.records.twice + self.records.wrong
        return self.finished and faults == 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A figure that must be reached."""

    name: str
    value: float | None
    """None where the run did not measure it."""
    limit: float
    at_most: bool

    @property
    def met(self) -> bool:
        """Whether it is reached; what was not measured cannot fail."""
        if self.value is None:
            return True
        return self.value <= self.limit if self.at_most else self.value >= self.limit


def of(runs: Sequence[Run], crawler: str, *, many: bool) -> list[Run]:
    """Return the runs of one crawler on one host or on many."""
    return [run for run in runs if run.crawler == crawler and (run.hosts > 1) == many]


def times(
    runs: Sequence[Run], one: str, other: str, figure: Callable[[Run], float], *, many: bool
) -> float | None:
    """Return the median over the rounds of one crawler's figure as a multiple of another's."""
    ours = {run.round: figure(run) for run in of(runs, one, many=many) if run.finished}
    theirs = {run.round: figure(run) for run in of(runs, other, many=many) if run.finished}
    quotients = [ours[n] / theirs[n] for n in ours.keys() & theirs.keys() if theirs[n]]
    return median(quotients) if quotients else None


def middle(
    runs: Sequence[Run], crawler: str, figure: Callable[[Run], float], *, many: bool
) -> float | None:
    """Return the median of one crawler's figure."""
    found = [figure(run) for run in of(runs, crawler, many=many) if run.finished]
    return median(found) if found else None


def speed(run: Run) -> float:
    """Return pages per second."""
    return run.pages_per_s


def cpu(run: Run) -> float:
    """Return the CPU time of a page."""
    return run.cpu_ms_per_page


def recorded(done: Sequence[Run]) -> str:
    """Say how right the records are, at worst."""
    kept = [run.records for run in done if run.records is not None]
    if not kept:
        return "none kept"
    bad = max(records.missing + records.twice + records.wrong for records in kept)
    return f"{bad} wrong" if bad else "exact"
