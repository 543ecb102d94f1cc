"""Looks into a crawl's directory: through the process that holds it, or by opening it."""

import json
import random
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from pathlib import Path

from skitter.clock import SystemClock
from skitter.config import RunOptions
from skitter.crawl.commit import scope_mark, traps_mark
from skitter.crawl.explain import Explainer
from skitter.crawl.inspect import ask_running
from skitter.crawl.judge import Judge
from skitter.crawl.manners import Manners
from skitter.errors import DataDirError, FetchError
from skitter.fetch.decode import decode
from skitter.frontier.embedded.datadir import DataDir
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.job.spec import Job
from skitter.types import JobNumber
from skitter.url.fingerprint import Fingerprinter
from skitter.url.normalise import Normaliser
from skitter.url.scope import Scope
from skitter.wiring.answers import Answers, Question
from skitter.wiring.parts import make_fetcher, make_guard

MAX_BODY_BYTES = 1 << 30
_MAX_REVISITS = 8
"""How many repeats of repeats are followed to a body."""


@dataclass(frozen=True, slots=True)
class ArchivedPage:
    """A response as the archive has it."""

    head: bytes
    """Status line and headers as they came."""
    body: bytes
    """With transfer and content coding undone."""


async def ask(data: Path, question: Question) -> AsyncGenerator[bytes, None]:
    """Yield the answer about the crawl in ``data``, asking the process that runs it if any."""
    answered = False
    async with aclosing(ask_running(data, question)) as lines:
        async for line in lines:
            answered = True
            yield line
    if answered:
        return
    async with aclosing(_ask_directory(data, question)) as lines:
        async for line in lines:
            yield line


async def complete_answer(data: Path, question: Question) -> AsyncIterator[bytes]:
    """Yield the lines of a list, and raise when it breaks off before its end."""
    async with aclosing(ask(data, question)) as lines:
        async for line in lines:
            if line.startswith(b'{"complete":'):
                return
            if line.startswith(b'{"error":'):
                raise DataDirError(f"--data {data}: {json.loads(line)['error']}")
            yield line
    raise DataDirError(f"--data {data}: the crawl ended while it was read; ask again")


async def crawl_outputs(data: Path) -> set[Path]:
    """Return the files that the crawl in ``data`` writes its records to."""
    async with aclosing(ask(data, {"outputs": True})) as lines:
        async for line in lines:
            return {Path(path) for path in json.loads(line).get("outputs", ())}
    return set()


async def explain_page(data: Path, url: str) -> dict[str, object]:
    """Return everything known of ``url`` in a data directory."""
    async with aclosing(ask(data, {"page": url})) as lines:
        async for line in lines:
            found: dict[str, object] = json.loads(line)
            return found
    raise DataDirError(f"--data {data}: no answer from the crawl there; ask again")


def read_archived(archive: Mapping[str, object]) -> ArchivedPage:
    """Return the response at an archive's place; a revisit leads to the one it repeats."""
    from skitter.pipeline.archive.read import (  # noqa: PLC0415  for archives alone
        find_capture,
        read_response,
    )

    path, offset = Path(str(archive["file"])), int(str(archive["offset"]))
    where = f"{path}, byte {offset}"
    first = found = read_response(path, offset)
    for _ in range(_MAX_REVISITS):
        if found.refers_to is None:
            break
        url, date = found.refers_to
        place = find_capture(path.parent, url, date)
        if place is None:
            raise DataDirError(
                f"{where}: the page repeats {url} of {date}, which is not in {path.parent}"
            )
        found = read_response(*place)
    else:
        raise DataDirError(
            f"{where}: the page repeats one that repeats another, more than {_MAX_REVISITS}"
            " times, and none has a body"
        )
    if "" != first.payload_digest != found.payload_digest != "":
        raise DataDirError(
            f"{where}: the page repeats {found.url} of {found.date}, which has another body"
        )
    return ArchivedPage(first.head, _decoded(found.payload, found.content_encoding, found.url))


async def archived_records(directory: Path, job: str | None) -> AsyncIterator[bytes]:
    """Yield the page records that an archive holds, as lines of JSON."""
    from skitter.pipeline.archive.read import records_in  # noqa: PLC0415  for archives alone

    for line in records_in(directory, job):
        yield line if line.endswith(b"\n") else line + b"\n"


def _decoded(payload: bytes, coding: str | None, url: str) -> bytes:
    if not coding:
        return payload
    try:
        return decode(payload, coding, url=url, cap=MAX_BODY_BYTES, cut=True).body
    except FetchError:
        # The bytes as they came are better than none.
        return payload


async def _ask_directory(data: Path, question: Question) -> AsyncGenerator[bytes, None]:
    directory = DataDir(data)
    directory.require()
    directory.acquire()
    frontier = EmbeddedFrontier(directory.frontier, seen=None)
    try:
        await frontier.open()
        jobs = await frontier.jobs()
        if not jobs:
            raise DataDirError(f"--data {data}: no crawl has begun there")
        [(number, entry), *_] = jobs.items()
        explainer = await _explainer(frontier, number, Job.from_json(entry.spec), data)
        async for line in Answers(frontier, number, explainer).answer(question):
            yield line
    finally:
        await frontier.close()
        directory.release()


async def _explainer(
    frontier: EmbeddedFrontier, number: JobNumber, job: Job, data: Path
) -> Explainer:
    normaliser = Normaliser(job.urls.rules(), Fingerprinter(frontier.secret))
    scope = Scope(job.scope, [normaliser.absolute(entry).url for entry in job.entries])
    prefix = scope_mark(number)
    for name in await frontier.marks(prefix):
        scope.add(name[len(prefix) :])
    clock = SystemClock()
    guard = make_guard(job, clock)
    if guard is not None:
        traps = traps_mark(number)
        stored = await frontier.marks(traps)
        guard.restore({name[len(traps) :]: value for name, value in stored.items()})
    return Explainer(
        job=job,
        number=number,
        reader=frontier,
        judge=Judge(job, scope),
        normaliser=normaliser,
        manners=Manners(
            job,
            fetcher=make_fetcher(job, RunOptions(data=data)),
            reader=frontier,
            clock=clock,
            rng=random.Random(),  # noqa: S311  jitter, not secrets
        ),
        guard=guard,
    )
