"""Records and seeds of a crawl, written to a file or to standard output."""

import json
import sys
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

import uvloop

from skitter.cli.place import Flags, place_of_job
from skitter.cli.wording import plural
from skitter.errors import ConfigError, SinkError
from skitter.pipeline.sinks import check_ending, write_all
from skitter.wiring.look import Where, archived_records, complete_answer, crawl_outputs

_SHOW_EVERY = 5_000


@dataclass(frozen=True, slots=True)
class Export:
    """What a command line asks for."""

    job: str | None
    out: Path | None
    place: Flags
    warc: Path | None
    seeds: int | None
    json: bool
    force: bool


def run_export(export: Export) -> None:
    """Check what was asked for, then do it; an unfinished file is never left behind."""
    _check(export)
    count = uvloop.run(_seeds(export) if export.seeds else _records(export))
    if export.out is not None:
        what = "seed" if export.seeds else "record"
        print(f"{plural(count, what)} in {export.out}", file=sys.stderr)


def _check(export: Export) -> None:
    if export.seeds and export.warc is not None:
        raise ConfigError("--seeds and --warc: links are counted in the state; wanted --data DIR")
    if export.warc is not None and export.place.named:
        raise ConfigError(f"{export.place.named[0]} and --warc: wanted one of them")
    if export.out is None:
        return
    if export.json and not export.seeds:
        raise ConfigError(
            "--json and --out: the file's ending says its format; --json is for seeds"
        )
    if not export.seeds:
        check_ending(export.out)
    if export.out.exists() and not export.force:
        raise ConfigError(f"--out {export.out}: exists; wanted another file, or --force")
    if not export.out.parent.is_dir():
        raise ConfigError(f"--out {export.out}: {export.out.parent} is not a directory")


async def _refuse_own_output(export: Export) -> None:
    """Raise when the file is one the crawl itself writes: it could not go on with it."""
    if export.out is None or export.warc is not None:
        return
    own = await crawl_outputs(_place(export))
    if export.out.resolve() in own:
        raise ConfigError(f"--out {export.out}: the crawl itself writes to it; wanted another file")


async def _records(export: Export) -> int:
    await _refuse_own_output(export)
    # Whoever reads may leave before the end: the connection is closed then, not by chance later.
    async with (
        aclosing(_source(export)) as found,
        aclosing(_counted(found, show=export.out is not None)) as lines,
    ):
        if export.out is not None:
            return await write_all(export.out, lines, overwrite=export.force)
        return await _print(lines)


async def _print(lines: AsyncIterator[bytes]) -> int:
    count = 0
    async for line in lines:
        sys.stdout.buffer.write(line)
        count += 1
    sys.stdout.buffer.flush()
    return count


def _source(export: Export) -> AsyncGenerator[bytes, None]:
    if export.warc is not None:
        if not export.warc.is_dir():
            raise ConfigError(f"--warc {export.warc}: no such directory")
        return archived_records(export.warc, export.job)
    return complete_answer(_place(export), {"records": True})


def _place(export: Export) -> Where:
    return place_of_job(export.job, export.place)


async def _counted(lines: AsyncIterator[bytes], *, show: bool) -> AsyncGenerator[bytes, None]:
    """Pass lines on and show how many there are, where someone watches."""
    count, show = 0, show and sys.stderr.isatty()
    async for line in lines:
        yield line
        count += 1
        if show and count % _SHOW_EVERY == 0:
            print(f"\r{plural(count, 'record')}", end="", file=sys.stderr, flush=True)
    if show and count >= _SHOW_EVERY:
        print("\r", end="", file=sys.stderr)


async def _seeds(export: Export) -> int:
    assert export.seeds is not None
    found = [
        json.loads(line) async for line in complete_answer(_place(export), {"linked": export.seeds})
    ]
    text = _as_json(found) if export.json else _as_list(found)
    if export.out is None:
        print(text, end="")
    else:
        _write_whole(export.out, text)
    return len({one["url"] for one in found})


def _as_json(found: list[dict[str, object]]) -> str:
    return "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in found)


def _as_list(found: list[dict[str, object]]) -> str:
    """Return a seed list: each URL once, pages before hosts."""
    lines: list[str] = []
    for kind in ("page", "host"):
        urls = [str(one["url"]) for one in found if one["kind"] == kind]
        mine = [url for url in urls if url not in lines]
        lines += [f"# the most linked {kind}s", *mine] if mine else []
    return "".join(f"{line}\n" for line in lines)


def _write_whole(path: Path, text: str) -> None:
    """Write a file so that it is there complete or not at all."""
    temporary = path.with_name(f".{path.name}.part")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise SinkError(f"--out {path}: cannot be written ({error.strerror})") from error
