"""The jobs of a running master: added, listed, shown."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import uvloop

from skitter.config import STATE_DIR
from skitter.crawl.inspect import ask_running
from skitter.errors import ConfigError, DataDirError
from skitter.job.load import load_job

_COLUMNS = (
    "id",
    "state",
    "pages",
    "ok",
    "failed",
    "refused",
    "duplicates",
    "queued",
    "leased",
    "stopped_by",
    "outputs",
)


def add_job(file: Path, data: Path | None, *, as_json: bool) -> None:
    """Send a job file to the master, checked here first so that its faults are named."""
    job = load_job(file)
    show_jobs(
        {"add_job": job.model_dump(mode="json", by_alias=True), "source": str(file)},
        data,
        as_json=as_json,
    )


def show_jobs(question: Mapping[str, object], data: Path | None, *, as_json: bool) -> None:
    """Ask the master and print what it says of its jobs."""
    master = data or STATE_DIR / "up"
    if not master.is_dir():
        raise DataDirError(f"--data {master}: no such directory; wanted that of a skitter up")
    facts = uvloop.run(_ask(master, question))
    if as_json:
        for one in facts:
            print(json.dumps(one, ensure_ascii=False))
    elif facts:
        _print_table(facts)
    else:
        print("no jobs")


async def _ask(data: Path, question: Mapping[str, object]) -> list[dict[str, object]]:
    found: list[dict[str, object]] = []
    answered = False
    async for line in ask_running(data, question):
        answered = True
        said = json.loads(line)
        if "error" in said:
            raise ConfigError(said["error"])
        if "complete" not in said:
            found.append(said)
    if not answered:
        raise DataDirError(f"--data {data}: nothing runs there; start it with: skitter up")
    return found


def _print_table(facts: Sequence[Mapping[str, object]]) -> None:
    rows = [_COLUMNS, *(tuple(_cell(one.get(name, "")) for name in _COLUMNS) for one in facts)]
    wide = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, wide, strict=True)).rstrip())


def _cell(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
