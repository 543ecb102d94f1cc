"""The tables of a comparison, its bars, and its results as JSON."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

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
    good_exit: bool
    last_words: str
    """The end of what it printed, for a run that failed."""

    @property
    def pages_per_s(self) -> float:
        """Speed by the server's own clock."""
        return self.requests.pages / self.requests.seconds if self.requests.seconds else 0.0

    @property
    def cpu_ms_per_page(self) -> float:
        """CPU of the crawler, start-up included; equals seconds per 1,000 pages."""
        return self.cost.cpu_s * 1000 / self.requests.pages if self.requests.pages else 0.0

    @property
    def finished(self) -> bool:
        """Whether it ran to its end and fetched anything."""
        return self.good_exit and not self.cost.timed_out and self.requests.pages > 0

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


def ratio(runs: Sequence[Run], peer: str, *, many: bool) -> float | None:
    """Return the median over the rounds of Skitter's speed as a multiple of a peer's."""
    ours = {run.round: run.pages_per_s for run in of(runs, "skitter", many=many) if run.finished}
    theirs = {run.round: run.pages_per_s for run in of(runs, peer, many=many) if run.finished}
    quotients = [ours[n] / theirs[n] for n in ours.keys() & theirs.keys() if theirs[n]]
    return median(quotients) if quotients else None


def _cpu(runs: Sequence[Run], *, many: bool) -> float | None:
    found = [run.cpu_ms_per_page for run in of(runs, "skitter", many=many) if run.finished]
    return median(found) if found else None


def _archived(runs: Sequence[Run]) -> float | None:
    """Return the speed with an archive as a share of the speed without."""
    times = ratio(runs, "skitter-warc", many=False)
    return 1 / times if times else None


def _guarded(runs: Sequence[Run]) -> float | None:
    """Return the CPU time with the trap guard as a multiple of that without."""
    ours = {run.round: run.cpu_ms_per_page for run in of(runs, "skitter", many=False)}
    bare = {run.round: run.cpu_ms_per_page for run in of(runs, "skitter-no-traps", many=False)}
    quotients = [ours[n] / bare[n] for n in ours.keys() & bare.keys() if bare[n]]
    return median(quotients) if quotients else None


def bars(runs: Sequence[Run]) -> list[Bar]:
    """Return every bar with what this comparison measured."""
    return [
        Bar(name="CPU ms per page, one host", value=_cpu(runs, many=False), limit=0.70,
            at_most=True),
        Bar(name="CPU ms per page, many hosts", value=_cpu(runs, many=True), limit=0.85,
            at_most=True),
        Bar(name="times Scrapy", value=ratio(runs, "scrapy", many=False), limit=8.0,
            at_most=False),
        Bar(name="speed with WARC, share of without", value=_archived(runs), limit=0.70,
            at_most=False),
        Bar(name="CPU with trap guard, times without", value=_guarded(runs), limit=1.05,
            at_most=True),
        Bar(name="times wget2", value=ratio(runs, "wget2", many=False), limit=0.8,
            at_most=False),
    ]  # fmt: skip


def faults(runs: Sequence[Run]) -> list[str]:
    """Return what was wrong with Skitter's own runs, and every peer that did not run."""
    found = []
    for run in runs:
        where = f"{run.crawler} on {run.hosts} host(s), round {run.round}"
        if not run.finished:
            ended = "timed out" if run.cost.timed_out else f"exit code {run.cost.exit_code}"
            found.append(f"{where}: {ended}, {run.requests.pages} pages. {run.last_words}")
        elif run.crawler.startswith("skitter") and not run.exact:
            found.append(f"{where}: not exact: {run.requests} {run.records}")
    return found


def table(title: str, runs: Sequence[Run], names: Sequence[str], *, many: bool) -> Table:
    """Return one table of medians."""
    heads = ("web pages", "pages/s", "CPU ms/page", "RSS MB", "missed", "twice", "forbidden",
             "records", "Skitter")  # fmt: skip
    grid = Table(title=title, title_justify="left")
    grid.add_column("crawler")
    for head in heads:
        grid.add_column(head, justify="right")
    for name in names:
        grid.add_row(name, *_cells(runs, name, many=many))
    return grid


def _cells(runs: Sequence[Run], name: str, *, many: bool) -> list[str]:
    own = of(runs, name, many=many)
    done = [run for run in own if run.finished]
    if not done:
        return ["did not run"] + [""] * 8
    worst = max(done, key=lambda run: run.requests.missed + run.requests.twice)
    quotient = None if name == "skitter" else ratio(runs, name, many=many)
    return [
        f"{done[0].web_pages:,}",
        f"{median(run.pages_per_s for run in done):,.0f}",
        f"{median(run.cpu_ms_per_page for run in done):.2f}",
        f"{median(run.cost.peak_rss_mb for run in done):,.0f}",
        str(worst.requests.missed),
        str(worst.requests.twice),
        str(max(run.requests.forbidden for run in done)),
        _recorded(done),
        f"{quotient:.2f} ×" if quotient else "",
    ]


def _recorded(done: Sequence[Run]) -> str:
    kept = [run.records for run in done if run.records is not None]
    if not kept:
        return "none kept"
    bad = max(records.missing + records.twice + records.wrong for records in kept)
    return f"{bad} wrong" if bad else "exact"


def show(console: Console, runs: Sequence[Run], names: Sequence[str], rounds: int) -> None:
    """Print the tables, the bars and what went wrong."""
    for many in (False, True):
        if any((run.hosts > 1) == many for run in runs):
            where = "100 hosts" if many else "one host"
            console.print(table(f"{where}, medians of {rounds}", runs, names, many=many))
    for bar in bars(runs):
        sign = "≤" if bar.at_most else "≥"
        value = "not measured" if bar.value is None else f"{bar.value:.2f}"
        verdict = "" if bar.value is None else "met" if bar.met else "MISSED"
        console.print(f"{bar.name}: {value} (bar {sign} {bar.limit}) {verdict}", highlight=False)
    for fault in faults(runs):
        console.print(f"! {fault}", highlight=False, markup=False, soft_wrap=True)


def as_json(runs: Sequence[Run]) -> dict[str, Any]:
    """Return everything measured."""
    return {
        "runs": [
            asdict(run) | {"pages_per_s": run.pages_per_s, "cpu_ms_per_page": run.cpu_ms_per_page}
            for run in runs
        ],
        "bars": [asdict(bar) | {"met": bar.met} for bar in bars(runs)],
        "faults": faults(runs),
    }
