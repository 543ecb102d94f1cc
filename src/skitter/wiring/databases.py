"""The databases that the records of a job go to, and who writes them.

Where one process has the store to itself, it writes them with its files. On a shared store every
member writes them itself, before its acks: a database keeps each record once, whoever brings it.
"""

from collections.abc import Mapping
from contextlib import AsyncExitStack

from skitter.crawl.recording import job_mark
from skitter.errors import ConfigError
from skitter.job.spec import Job
from skitter.pipeline.base import Sink
from skitter.pipeline.sinks import make_table
from skitter.pipeline.upsert import DatabaseSink
from skitter.types import JobNumber
from skitter.wiring.answers import MEMBER_SIGN
from skitter.wiring.store import Store


def make_databases(job: Job, *, durable: bool = True, fresh: bool = False) -> list[DatabaseSink]:
    """Return a sink for each database of a job, with its URL filled in."""
    made = []
    for number, output in enumerate(job.sinks):
        if output.is_file:
            continue
        what, name = f"sinks[{number}]", output.place(job.id)
        url = output.resolved_url(f"{what}.url")
        table = make_table(output.type.value, url, name, what=what, durable=durable)
        sink = DatabaseSink(
            table, kind=output.type.value, place=f"{output.said} {name}", job=job.id
        )
        sink.overwrite = fresh
        made.append(sink)
    if len({sink.mark_name for sink in made}) < len(made):
        raise ConfigError("sinks: the same table is named twice; wanted each once")
    return made


def database_places(job: Job) -> tuple[str, ...]:
    """Return where the databases of a job are, for a person."""
    return tuple(f"{one.said} {one.place(job.id)}" for one in job.sinks if not one.is_file)


async def check_databases(job: Job) -> None:
    """Raise ``ConfigError`` when a database cannot be used; changes nothing there."""
    for sink in make_databases(job):
        await sink.probe()


async def open_databases(
    stack: AsyncExitStack, store: Store, number: JobNumber, job: Job, *, durable: bool
) -> Mapping[str, Sink]:
    """Open the databases that this member writes itself, by the names of their marks."""
    opened: dict[str, Sink] = {}
    for sink in make_databases(job, durable=durable) if store.members_write else ():
        name = job_mark(number, f"{sink.mark_name}{MEMBER_SIGN}{store.member}")
        stack.push_async_callback(sink.close)
        await sink.open(await store.reader.mark(name))
        opened[name] = sink
    return opened
