"""Everything known of one page, found and laid out."""

import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import uvloop

from skitter.config import STATE_DIR, resolve
from skitter.errors import ConfigError
from skitter.job.entry import entry_url
from skitter.wiring.look import Where, explain_page, read_archived


def print_page(url: str, where: Where, *, as_json: bool) -> None:
    """Print what a crawl knows of ``url``."""
    wanted = entry_url(url)
    found = uvloop.run(explain_page(where, wanted))
    if as_json:
        print(json.dumps(found, default=str, ensure_ascii=False))
    else:
        print("\n".join(readable(found)))


def print_archived(url: str, where: Where, *, headers: bool, body: bool) -> None:
    """Print the response of ``url`` as the archive has it, byte by byte."""
    wanted = entry_url(url)
    found = uvloop.run(explain_page(where, wanted))
    place = found.get("archive")
    if not isinstance(place, Mapping):
        raise ConfigError(f"{url}: {_why_not_archived(found)}")
    page = read_archived(place)
    out = sys.stdout.buffer
    if headers:
        out.write(page.head)
    if body:
        out.write(page.body)
    out.flush()


def _why_not_archived(found: Mapping[str, object]) -> str:
    record = found.get("record")
    if not isinstance(record, Mapping):
        return f"has no response to show; {found['why']}"
    if record.get("status") is None:
        return f"brought no response; {found['why']}"
    return "was not archived; crawl with --warc DIR to keep bodies and headers"


def named_place(data: Path | None, store: str | None, job: str | None = None) -> Where:
    """Return the crawl meant by flag, environment or configuration; a flag wins."""
    if data is not None and store is not None:
        raise ConfigError("--data and --store: wanted one of them")
    settings = resolve({"data": data, "store": store}, os.environ, Path.cwd()).settings
    if settings.store is not None and data is None:
        return Where(store=settings.store, job=job)
    return Where(data=data_directory(settings.data, Path.cwd()), job=job)


def place_of_job(job: str | None, data: Path | None, store: str | None) -> Where:
    """Return the crawl meant by the id of its job, if nothing else names one."""
    if data is None and store is None and job is not None:
        directory = STATE_DIR / job
        if directory.is_dir():
            return Where(data=directory, job=job)
        if "SKITTER_STORE" not in os.environ:
            raise ConfigError(
                f"job {job}: no state in {directory}; name its directory with --data DIR,"
                " or its store with --store URL"
            )
    return named_place(data, store, job)


def data_directory(named: Path | None, cwd: Path) -> Path:
    """Return the state directory meant: the one named, else the only one there is."""
    if named is not None:
        if not named.is_dir():
            raise ConfigError(f"{named}: no such state directory")
        return named
    base = cwd / STATE_DIR
    found = sorted(path for path in base.iterdir() if path.is_dir()) if base.is_dir() else []
    match found:
        case [only]:
            return only
        case []:
            raise ConfigError(f"no crawl has left its state in {base}; name one with --data DIR")
        case _:
            names = ", ".join(str(path.relative_to(cwd)) for path in found)
            raise ConfigError(f"several crawls here; name one with --data DIR: {names}")


def readable(found: Mapping[str, object]) -> list[str]:
    """Return a document of facts as aligned lines, tables inside it indented by dotted names."""
    rows = list(_rows(found))
    width = max((len(name) for name, _ in rows), default=0)
    return [f"{name:<{width}}  {value}".rstrip() for name, value in rows]


def _rows(found: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in found.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and value:
            yield from _rows(value, f"{name}.")
        elif isinstance(value, Sequence) and not isinstance(value, str | bytes) and value:
            for position, item in enumerate(value):
                yield (name if position == 0 else "", _text(item))
        elif not prefix or value not in (None, "", [], {}):
            # Most fields of a record without a response say nothing.
            yield name, _text(value)


def _text(value: object) -> str:
    if value in (None, "", [], {}, ()):
        return "-"
    match value:
        case bool():
            return "yes" if value else "no"
        case str():
            return " ".join(value.split())
        case int() | float():
            return str(value)
        case _:
            return json.dumps(value, default=str, ensure_ascii=False)
