"""The table and the bars of crawlers whose state is in Redis."""

from collections.abc import Sequence
from statistics import median

from rich.table import Table

from bench.redis_server import DESCRIPTION
from bench.results import Bar, Run, cpu, middle, of, recorded, speed, times

ONE, TWO = "skitter-redis-1", "skitter-redis-2"
_HEADS = ("web pages", "pages/s", "CPU ms", "Redis ms", "RSS MB", "missed", "twice",
          "forbidden", "records")  # fmt: skip


def redis_bars(runs: Sequence[Run]) -> list[Bar]:
    """Return the bars of the frontier on Redis.

    Two members are to be nearly twice as fast as one where each has a core. Where they share one,
    a page must not cost more than with one member.
    """
    cores = all(run.members_have_cores for run in runs if run.crawler == TWO)
    alone = middle(runs, ONE, speed, many=False)
    faster = times(runs, TWO, ONE, speed, many=True) if cores else None
    dearer = None if cores else times(runs, TWO, ONE, cpu, many=True)
    return [
        Bar(name="pages/s on Redis, one member, one host", value=alone, limit=1000, at_most=False),
        Bar(name="speed of two members, times one", value=faster, limit=1.8, at_most=False),
        Bar(name="CPU per page, two members, times one", value=dearer, limit=1.10, at_most=True),
    ]


def redis_table(title: str, runs: Sequence[Run], names: Sequence[str], *, many: bool) -> Table:
    """Return the table of medians of one web; CPU is per page, of all members and of Redis."""
    grid = Table(title=f"{title}; CPU per page; {DESCRIPTION}", title_justify="left")
    grid.add_column("crawler", no_wrap=True)
    for head in _HEADS:
        grid.add_column(head, justify="right")
    for name in names:
        if of(runs, name, many=many):
            grid.add_row(name, *_cells(runs, name, many=many))
    return grid


def _cells(runs: Sequence[Run], name: str, *, many: bool) -> list[str]:
    done = [run for run in of(runs, name, many=many) if run.finished]
    if not done:
        return ["did not run"] + [""] * (len(_HEADS) - 1)
    worst = max(done, key=lambda run: run.requests.missed + run.requests.twice)
    return [
        f"{done[0].web_pages:,}",
        f"{median(run.pages_per_s for run in done):,.0f}",
        f"{median(run.cpu_ms_per_page for run in done):.2f}",
        f"{median(run.store_ms_per_page for run in done):.2f}",
        f"{median(run.cost.peak_rss_mb for run in done):,.0f}",
        str(worst.requests.missed),
        str(worst.requests.twice),
        str(max(run.requests.forbidden for run in done)),
        recorded(done),
    ]


def redis_ratios(runs: Sequence[Run], *, many: bool) -> list[str]:
    """Return what the table does not say: how its rows compare, round by round."""
    compared = [
        (ONE, "skitter"),
        (TWO, ONE),
        ("scrapy-redis-2", "scrapy-redis-1"),
        (ONE, "scrapy-redis-1"),
        (TWO, "scrapy-redis-2"),
    ]
    lines = []
    for one, other in compared:
        faster = times(runs, one, other, speed, many=many)
        dearer = times(runs, one, other, cpu, many=many)
        if faster and dearer:
            lines.append(
                f"{one}: {faster:.2f} × the pages/s of {other}, {dearer:.2f} × the CPU per page"
            )
    return lines
