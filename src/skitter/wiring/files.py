"""The outputs of a job: opened where they were left, and never mixed up with others."""

from collections.abc import Sequence
from contextlib import AsyncExitStack

from skitter.crawl.recording import job_mark
from skitter.errors import ConfigError
from skitter.pipeline.base import SINK_MARKS, Archive, Sink
from skitter.pipeline.upsert import DatabaseSink
from skitter.types import JobNumber
from skitter.wiring.answers import MEMBER_SIGN, archive_paths, output_paths
from skitter.wiring.store import Store


async def open_sinks(
    stack: AsyncExitStack, store: Store, job: JobNumber, sinks: Sequence[Sink]
) -> Sequence[Sink]:
    """Open the outputs of a job where their marks say; the stack closes them."""
    await refuse_other_files(store, job, sinks)
    marks = {}
    for sink in sinks:
        name = job_mark(job, sink.mark_name)
        marks[name] = await sink.open(await store.reader.mark(name))
        stack.push_async_callback(sink.close)
    await store.frontier.ack([], marks=marks)
    return sinks


async def refuse_other_files(store: Store, job: JobNumber, sinks: Sequence[Sink]) -> None:
    """Raise when the records of this crawl go elsewhere: some outputs would miss a part of them."""
    marks = await store.reader.marks(job_mark(job, SINK_MARKS))
    known = {name.partition(MEMBER_SIGN)[0] for name in marks}
    wanted = {job_mark(job, sink.mark_name): sink for sink in sinks}
    if not known or known == wanted.keys():
        return
    places = ", ".join(await output_paths(store.reader, job))
    strangers = [sink for name, sink in wanted.items() if name not in known]
    named = f"{_field_of(strangers[0])} {strangers[0].place}: " if strangers else "--out: "
    raise ConfigError(
        f"{named}this crawl writes to {places}; name the same to go on, --fresh to start over,"
        " or get another format with: skitter job export"
    )


def _field_of(sink: Sink) -> str:
    return "sinks" if isinstance(sink, DatabaseSink) else "--out"


async def refuse_other_archive(store: Store, job: JobNumber, archive: Archive | None) -> None:
    """Raise when the archive of this crawl is in another directory, or it has begun without."""
    known = await archive_paths(store.reader, job)
    # A crawl that was killed while it was opened may know its outputs and not yet its archive.
    opened = await store.reader.marks(job_mark(job, SINK_MARKS))
    begun = opened and await store.reader.tallies(job)
    if archive is None and known:
        raise ConfigError(
            f"--warc: this crawl is archived in {known[0]};"
            " name the same to go on, or --fresh to start over"
        )
    place = archive.mark_name.removeprefix("archive:") if archive is not None else ""
    if archive is not None and (known or begun) and place not in known:
        where = ", ".join(known) or "no archive"
        raise ConfigError(
            f"--warc {place}: this crawl has begun with"
            f" {where}; go on with that, or --fresh to start over"
        )
