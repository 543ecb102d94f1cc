"""The tables of a comparison, its bars, and its results as JSON."""

from collections.abc import Sequence
from dataclasses import asdict
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from bench.redis_report import redis_bars, redis_ratios, redis_table
from bench.results import Bar, Run, cpu, middle, of, recorded, speed, times


def ratio(runs: Sequence[Run], peer: str, *, many: bool) -> float | None:
    """Return the median over the rounds of Skitter's speed as a multiple of a peer's."""
    return times(runs, "skitter", peer, speed, many=many)


def bars(runs: Sequence[Run]) -> list[Bar]:
    """Return every bar with what this comparison measured."""
    one = middle(runs, "skitter", cpu, many=False)
    many = middle(runs, "skitter", cpu, many=True)
    archived = times(runs, "skitter-warc", "skitter", speed, many=False)
    guarded = times(runs, "skitter", "skitter-no-traps", cpu, many=False)
    scrapy = ratio(runs, "scrapy", many=False)
    wget2 = ratio(runs, "wget2", many=False)
    return [
        Bar(name="CPU ms per page, one host", value=one, limit=0.70, at_most=True),
        Bar(name="CPU ms per page, many hosts", value=many, limit=0.85, at_most=True),
        Bar(name="times Scrapy", value=scrapy, limit=8.0, at_most=False),
        Bar(name="speed with WARC, share of without", value=archived, limit=0.70, at_most=False),
        Bar(name="CPU with trap guard, times without", value=guarded, limit=1.05, at_most=True),
        Bar(name="times wget2", value=wget2, limit=0.8, at_most=False),
        *redis_bars(runs),
    ]


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
        recorded(done),
        f"{quotient:.2f} ×" if quotient else "",
    ]


def show(console: Console, runs: Sequence[Run], names: Sequence[str], rounds: int) -> None:
    """Print the tables, the bars and what went wrong."""
    stored = {run.crawler for run in runs if run.store_cpu_s is not None}
    on_redis = [name for name in names if name in stored]
    for many in (False, True):
        if any((run.hosts > 1) == many for run in runs):
            where = "100 hosts" if many else "one host"
            title = f"{where}, medians of {rounds}"
            alone = [name for name in names if name not in on_redis]
            if alone:
                console.print(table(title, runs, alone, many=many))
            if on_redis:
                console.print(redis_table(title, runs, on_redis, many=many))
                for line in redis_ratios(runs, many=many):
                    console.print(line, highlight=False, soft_wrap=True)
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
            asdict(run)
            | {
                "pages_per_s": run.pages_per_s,
                "cpu_ms_per_page": run.cpu_ms_per_page,
                "store_ms_per_page": run.store_ms_per_page,
            }
            for run in runs
        ],
        "bars": [asdict(bar) | {"met": bar.met} for bar in bars(runs)],
        "faults": faults(runs),
    }
