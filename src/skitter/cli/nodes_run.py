"""What ``skitter nodes`` does: tables, orders and logs."""

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import uvloop
from rich.console import Console
from rich.live import Live
from rich.text import Text

from skitter.cli import wording
from skitter.cli.explain import readable
from skitter.cluster.manager.journal import time_of
from skitter.wiring.look import Where
from skitter.wiring.nodes import Ask, open_nodes

REDRAW_S = 1.0
REPRINT_S = 2.0
FOLLOW_S = 1.0
HEADS = (
    "NODE",
    "WORKER",
    "KIND",
    "STATE",
    "PAGES/MIN",
    "SHARE",
    "BACKLOG",
    "HEALTH",
    "PID",
    "SINCE",
)
_UNKNOWN = "-"
_BURIED = {
    "hosts": "hosts",
    "robots": "robots.txt rules",
    "sessions": "sessions of processes",
    "names": "addresses",
}

Facts = Mapping[str, object]


class Reading(NamedTuple):
    """Which lines of which logs."""

    node: str
    worker: int | None
    lines: int
    follow: bool


def print_nodes(where: Where, *, as_json: bool) -> None:
    """Print the workers of all nodes, once."""
    rows, buried = uvloop.run(_asked_both(where))
    _print_json(rows) if as_json else print("\n".join([*table(rows), *_gone(buried)]))


def watch_nodes(where: Where, *, as_json: bool) -> None:
    """Show the workers of all nodes until interrupted."""
    if sys.stdout.isatty() and not as_json:
        uvloop.run(_redraw(where))
    else:
        uvloop.run(_reprint(where, as_json=as_json))


def print_node(node: str, where: Where, *, as_json: bool) -> None:
    """Print one node with all its workers."""
    [facts] = uvloop.run(_asked(where, {"nodes": "show", "node": node}))
    if as_json:
        _print_json([facts])
        return
    workers = facts.pop("workers")
    assert isinstance(workers, list)
    print("\n".join(readable(facts)))
    if workers:
        print()
        print("\n".join(history(workers)))


def give_order(order: Facts, node: str, where: Where, *, as_json: bool) -> None:
    """Give a node an order and print what it says."""
    found = uvloop.run(_asked(where, {**order, "node": node}))
    if as_json:
        _print_json(found)
        return
    for facts in found:
        reason = f" ({facts['exit_reason']})" if facts["state"] == "finished" else ""
        print(f"worker {facts['worker']} of {node}: {facts['state']}{reason}")


def print_logs(reading: Reading, where: Where, *, as_json: bool) -> None:
    """Print lines of logs; with ``follow`` until interrupted."""
    uvloop.run(_read_logs(where, reading, as_json=as_json))


async def _asked(where: Where, question: Facts) -> list[dict[str, object]]:
    async with open_nodes(where) as ask:
        return await ask(question)


async def _asked_both(where: Where) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    async with open_nodes(where) as ask:
        return await ask({"nodes": "list"}), await ask({"nodes": "buried"})


# Again and again


async def _redraw(where: Where) -> None:
    console = Console(highlight=False)
    async with open_nodes(where) as ask:
        with Live(console=console, auto_refresh=False, transient=False) as live:
            while True:
                live.update(_drawn(table(await ask({"nodes": "list"}))), refresh=True)
                await asyncio.sleep(REDRAW_S)


def _drawn(lines: Sequence[str]) -> Text:
    text = Text(no_wrap=True, overflow="ellipsis")
    for number, line in enumerate(lines):
        text.append("\n" if number else "")
        text.append(line, style="dim" if number == 0 else "")
    return text


async def _reprint(where: Where, *, as_json: bool) -> None:
    async with open_nodes(where) as ask:
        while True:
            rows = await ask({"nodes": "list"})
            if as_json:
                _print_json(rows)
            else:
                print("\n".join(table(rows)), end="\n\n")
            sys.stdout.flush()
            await asyncio.sleep(REPRINT_S)


async def _read_logs(where: Where, reading: Reading, *, as_json: bool) -> None:
    after: dict[int, str] = {}
    async with open_nodes(where) as ask:
        while True:
            more = await _read_once(ask, reading, after, as_json=as_json)
            sys.stdout.flush()
            if not more:
                if not reading.follow:
                    return
                await asyncio.sleep(FOLLOW_S)


async def _read_once(ask: Ask, reading: Reading, after: dict[int, str], *, as_json: bool) -> bool:
    question = {
        "nodes": "logs",
        "node": reading.node,
        "worker": reading.worker,
        "lines": reading.lines,
        "after": {str(number): cursor for number, cursor in after.items()},
    }
    told = await ask(question)
    for facts in told:
        after[int(str(facts["worker"]))] = str(facts["cursor"])
    if as_json:
        _print_json([{"worker": number, "line": line} for number, line in _lines(told)])
    elif reading.worker is not None:
        for _, line in _lines(told):
            print(line)
    else:
        for number, line in _lines(told):
            print(f"{f'worker {number}' if number else 'manager':<10} | {line}")
    return any(facts["more"] for facts in told)


def _lines(told: Sequence[Facts]) -> list[tuple[int, str]]:
    """Return the lines of several logs in the order of their times."""
    found: list[tuple[str, int, str]] = []
    for facts in told:
        time = ""
        for line in str(facts["text"]).splitlines():
            # A line without a time belongs to the one before.
            time = time_of(line) or time
            found.append((time, int(str(facts["worker"])), line))
    return [(number, line) for _, number, line in sorted(found, key=lambda one: one[0])]


# Tables


def table(rows: Sequence[Facts]) -> list[str]:
    """Return the workers of all nodes as aligned lines."""
    if not rows:
        return ["no nodes"]
    return _aligned([HEADS, *(_cells(row) for row in rows)])


def _gone(buried: Sequence[Facts]) -> list[str]:
    """Return a line about what the store no longer keeps, if there is anything."""
    counts = {name: int(str(count)) for facts in buried for name, count in facts.items() if count}
    words = [f"{wording.count(count)} {_BURIED[name]}" for name, count in counts.items()]
    return [f"idle and no longer kept: {', '.join(words)}"] if words else []


def _cells(row: Facts) -> tuple[str, ...]:
    worker = row["worker"]
    share, speed, backlog = row["share"], row["pages_per_minute"], row["backlog"]
    running = row["state"] in ("running", "stopping")
    there = running and row["health"] != "away"
    return (
        str(row["node"] or _UNKNOWN),
        str(row["member"] or _UNKNOWN) if worker is None else str(worker),
        str(row["kind"] or _UNKNOWN),
        "away" if running and row["health"] == "away" else str(row["state"]),
        f"{float(str(speed)):,.0f}" if there else _UNKNOWN,
        f"{float(str(share)):.1%}" if share is not None else _UNKNOWN,
        wording.count(int(str(backlog))) if backlog is not None else _UNKNOWN,
        _health(row),
        str(row["pid"] or _UNKNOWN),
        str(row["since"] or _UNKNOWN),
    )


def _health(row: Facts) -> str:
    words = [str(row["health"])]
    heartbeat = row["heartbeat_s"]
    if heartbeat is not None and row["health"] in ("away", "silent"):
        words.append(f"for {wording.roughly(float(str(heartbeat)))}")
    if row["restarts"]:
        words.append(f"({wording.plural(int(str(row['restarts'])), 'restart')})")
    if not row.get("managed", True):
        words.append("(a crawl of its own: takes no orders)")
    if row["trouble"]:
        words.append(f"- {row['trouble']}")
    return " ".join(words)


def history(workers: Sequence[Facts]) -> list[str]:
    """Return the list of one node as aligned lines."""
    heads = (
        "WORKER",
        "KIND",
        "PRIORITY",
        "STATE",
        "WANTED",
        "PID",
        "STARTED",
        "ENDED",
        "WHY",
        "LOG",
    )
    rows = [
        (
            str(one["worker"]),
            str(one["kind"]),
            str(one["priority"]),
            str(one["state"]),
            "yes" if one["wanted"] else "no",
            str(one["pid"] or _UNKNOWN),
            str(one["started"] or _UNKNOWN),
            str(one["ended"] or _UNKNOWN),
            str(one["exit_reason"] or _UNKNOWN),
            str(one["log"] or _UNKNOWN),
        )
        for one in workers
    ]
    return _aligned([heads, *rows])


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, wide, strict=True)).rstrip()
        for row in rows
    ]


def _print_json(found: Sequence[Facts]) -> None:
    for facts in found:
        print(json.dumps(facts, ensure_ascii=False))
