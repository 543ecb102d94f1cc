"""Which sink a file gets, by its ending, and a database; whole files made at once."""

import shutil
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from skitter.errors import ConfigError, SinkError
from skitter.pipeline.base import Batch, Sink
from skitter.pipeline.file_sink import FileSink, sync_directory, sync_file
from skitter.pipeline.record import PageRecord, encode_line
from skitter.pipeline.upsert import Table

ENDINGS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".csv": "csv",
    ".parquet": "parquet",
    ".sqlite": "sqlite",
}
"""What the ending of an output says of its format."""

_BATCH = 1_000
_decode = msgspec.json.Decoder(PageRecord).decode


def check_ending(path: Path) -> None:
    """Raise ``ConfigError`` unless the ending of a file says its format."""
    _kind(path)


def make_sink(path: Path, *, durable: bool = True, overwrite: bool = False) -> FileSink:
    """Return the sink that writes to a file, not open yet."""
    return _class(_kind(path))(path, durable=durable, overwrite=overwrite)


def make_table(kind: str, url: str, place: str, *, what: str, durable: bool = True) -> Table:
    """Return a table or a collection in a database, not open yet; ``what`` begins its messages."""
    try:
        if kind == "mongodb":
            from skitter.pipeline.mongo import MongoCollection  # noqa: PLC0415  brings a client

            return MongoCollection(url, place, what=what, durable=durable)
        from skitter.pipeline.postgres import PostgresTable  # noqa: PLC0415  brings a client

        return PostgresTable(url, place.split(".", 1), what=what, durable=durable)
    except ImportError:
        extra = {"mongodb": "mongo"}.get(kind, "postgres")
        raise ConfigError(
            f"{what}: the client for {kind} is missing; pip install 'skitter[{extra}]'"
        ) from None


def _kind(path: Path) -> str:
    kind = ENDINGS.get(path.suffix.lower())
    if kind is None:
        raise ConfigError(
            f"--out {path}: its ending says no format; wanted a file that ends in"
            " .jsonl, .csv, .parquet or .sqlite"
        )
    return kind


def _class(kind: str) -> type[FileSink]:
    """Return a kind's class; what a kind needs is only loaded when it is asked for."""
    match kind:
        case "csv":
            from skitter.pipeline.csv_file import CsvSink  # noqa: PLC0415

            return CsvSink
        case "parquet":
            from skitter.pipeline.parquet import ParquetSink  # noqa: PLC0415  heavy

            return ParquetSink
        case "sqlite":
            from skitter.pipeline.sqlite import SqliteSink  # noqa: PLC0415

            return SqliteSink
        case _:
            from skitter.pipeline.jsonl import JsonlSink  # noqa: PLC0415

            return JsonlSink


async def write_all(
    path: Path, lines: Iterable[bytes] | AsyncIterable[bytes], *, overwrite: bool = False
) -> int:
    """Make a file of records given as lines of JSON; answers how many there were.

    The file is made elsewhere and put in its place when it is complete, so that ``path`` is never
    half a file: when anything fails it is what it was.
    """
    make = _class(_kind(path))
    target = make(path)
    with _made_elsewhere(target, overwrite=overwrite) as place:
        return await _fill(make(place, durable=False), lines)


@contextmanager
def _made_elsewhere(target: FileSink, *, overwrite: bool) -> Iterator[Path]:
    """Yield where to make a file that takes its place when it is complete."""
    target.check()
    if target.path.exists() and not overwrite:
        raise ConfigError(f"--out {target.path}: exists; wanted the name of a file that does not")
    place = target.path.resolve()
    workshop = place.with_name(f".{place.name}.partial")
    shutil.rmtree(workshop, ignore_errors=True)
    try:
        workshop.mkdir()
        made = workshop / place.name
        yield made
        sync_file(made)
        target.drop_companions()
        made.replace(place)
        sync_directory(place.parent)
    except OSError as error:
        raise SinkError(f"--out {target.path}: cannot be written ({error.strerror})") from error
    finally:
        shutil.rmtree(workshop, ignore_errors=True)


async def _fill(sink: Sink, lines: Iterable[bytes] | AsyncIterable[bytes]) -> int:
    await sink.open(None)
    records: list[PageRecord] = []
    count = 0
    try:
        async for line in _each(lines):
            count += 1
            records.append(_record(line, count))
            if len(records) == _BATCH:
                await sink.write(_batch(records))
                records = []
        await sink.write(_batch(records))
    finally:
        await sink.close()
    return count


async def _each(lines: Iterable[bytes] | AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    if isinstance(lines, AsyncIterable):
        async for line in lines:
            yield line
    else:
        for line in lines:
            yield line


def _record(line: bytes, number: int) -> PageRecord:
    try:
        return _decode(line)
    except msgspec.MsgspecError as error:
        raise SinkError(f"record {number} cannot be read ({error})") from error


def _batch(records: list[PageRecord]) -> Batch:
    return Batch(records, [encode_line(record) for record in records])
