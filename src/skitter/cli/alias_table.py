"""Aliases as a table or as lines of JSON."""

import json
import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import uvloop

from skitter.cli import wording
from skitter.config import database_place, resolve
from skitter.wiring.look import Where, complete_answer
from skitter.wiring.undo import undo_alias

_COLUMNS = ("kept", "alias", "since", "equal pages", "links", "state", "for example")
_SHOWN_PATHS = 3

Facts = Mapping[str, object]


def print_aliases(where: Where, *, as_json: bool) -> None:
    """Print the aliases of a crawl."""
    found = uvloop.run(_read(where))
    if as_json:
        for one in found:
            print(json.dumps(one, ensure_ascii=False))
    elif found:
        print("\n".join(table(found)))
    else:
        print("no aliases")


async def _read(where: Where) -> list[Facts]:
    return [json.loads(line) async for line in complete_answer(where, {"aliases": True})]


def print_undone(host: str, where: Where, cold: str | None, *, as_json: bool) -> None:
    """Undo an alias and print what came of it."""
    resolved = resolve({"cold": cold}, os.environ, Path.cwd())
    place = database_place(resolved, "cold", joins_store=where.store is not None)
    found = uvloop.run(undo_alias(where, host, place))
    if as_json:
        print(json.dumps(found, ensure_ascii=False))
        return
    queued = wording.plural(int(str(found["queued"])), "URL")
    print(
        f"{found['alias']} is no alias of {found['kept']} any more in job {found['job']};"
        f" {queued} queued again"
    )


def table(found: Sequence[Facts]) -> list[str]:
    """Return aliases as aligned lines under their headings."""
    rows = [_COLUMNS, *map(_row, found)]
    wide = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    return [
        "  ".join(text.ljust(width) for text, width in zip(row, wide, strict=True)).rstrip()
        for row in rows
    ]


def _row(one: Facts) -> tuple[str, ...]:
    samples = one["samples"]
    assert isinstance(samples, Sequence)
    paths = " ".join(str(sample["path"]) for sample in samples[:_SHOWN_PATHS])
    return (
        str(one["kept"]),
        str(one["alias"]),
        _moment(one["since_ms"]),
        f"{one['equal']} of {one['compared']}",
        str(one["links"]),
        _state(one),
        paths,
    )


def _state(one: Facts) -> str:
    if one["undone_ms"]:
        return f"undone {_moment(one['undone_ms'])}"
    return "in force" if one["in_force"] else "contradicted"


def _moment(at_ms: object) -> str:
    when = datetime.fromtimestamp(int(str(at_ms)) / 1000, UTC)
    return when.strftime("%Y-%m-%d %H:%M:%SZ")
