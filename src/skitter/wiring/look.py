"""Looks into a crawl's directory: through the process that holds it, or by opening it."""

import json
import random
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, field
from pathlib import Path

from skitter.clock import SystemClock
from skitter.config import RunOptions
from skitter.crawl.aliases.book import AliasBook
from skitter.crawl.aliases.rows import read_aliases
from skitter.crawl.commit import scope_mark, traps_mark
from skitter.crawl.explain import Explainer
from skitter.crawl.inspect import ask_running, error_facts
from skitter.crawl.judge import Judge
from skitter.crawl.manners import Manners
from skitter.crawl.site_rules import SiteRules
from skitter.errors import DataDirError, FetchError, NotFound
from skitter.fetch.decode import decode
from skitter.frontier.base import FrontierReader
from skitter.frontier.embedded.datadir import DataDir
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.redis.address import without_password
from skitter.job.spec import Job
from skitter.politeness.settings.live import LiveSettings
from skitter.types import JobNumber
from skitter.url.fingerprint import Fingerprinter
from skitter.url.normalise import Normaliser
from skitter.url.scope import Scope
from skitter.wiring.answers import NAME_ONE, Answers, Question
from skitter.wiring.api_access import api_lines
from skitter.wiring.connect import read_redis
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


@dataclass(frozen=True, slots=True)
class Where:
    """Where a crawl is: in a directory of this machine, a store that many share, or a service."""

    data: Path | None = None
    store: str | None = None
    job: str | None = None
    """Which of the jobs there; None for the only one."""
    cold: str | None = None
    """PostgreSQL with the tails of long queues, for who is to change them."""
    index: str | None = None
    """PostgreSQL with the page index, for who is to read it."""
    api: str | None = None
    """URL of a service that has it."""
    token: str | None = field(default=None, repr=False)
    """What the service wants to see."""

    def __str__(self) -> str:
        if self.api is not None:
            return f"--api {self.api}"
        if self.store is not None:
            return f"--store {without_password(self.store)}"
        return f"--data {self.data}"


async def ask(where: Where, question: Question) -> AsyncGenerator[bytes, None]:
    """Yield the answer about a crawl, asking the process that runs it if its state is there."""
    if where.job is not None:
        question = {**question, "job": where.job}
    if where.api is not None:
        async with aclosing(api_lines(where.api, where.token, question)) as lines:
            async for line in lines:
                yield line
        return
    if where.store is not None:
        async with aclosing(_ask_store(where.store, where.index, question)) as lines:
            async for line in lines:
                yield line
        return
    data = where.data
    assert data is not None
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


async def complete_answer(where: Where, question: Question) -> AsyncGenerator[bytes, None]:
    """Yield the lines of a list, and raise when it breaks off before its end."""
    async with aclosing(ask(where, question)) as lines:
        async for line in lines:
            if line.startswith(b'{"complete":'):
                return
            if line.startswith(b'{"error":'):
                raise DataDirError(f"{where}: {json.loads(line)['error']}")
            yield line
    raise DataDirError(f"{where}: the crawl ended while it was read; ask again")


async def crawl_outputs(where: Where) -> set[Path]:
    """Return the files that a crawl writes its records to."""
    async with aclosing(ask(where, {"outputs": True})) as lines:
        async for line in lines:
            return {Path(path) for path in json.loads(line).get("outputs", ())}
    return set()


async def explain_page(where: Where, url: str) -> list[dict[str, object]]:
    """Return everything known of ``url``: by one job, by each that knows it in a service."""
    told: list[dict[str, object]] = []
    async with aclosing(ask(where, {"page": url})) as lines:
        async for line in lines:
            found: dict[str, object] = json.loads(line)
            if "error" in found and "url" not in found:
                raise DataDirError(f"{where}: {found['error']}")
            told += [found] if "url" in found else []
    if not told:
        raise DataDirError(f"{where}: no answer from the crawl there; ask again")
    return told


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


async def archived_records(directory: Path, job: str | None) -> AsyncGenerator[bytes, None]:
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
    if not directory.frontier.is_dir():
        yield _no_crawl(" in this directory; where it is in a store, name that with --store URL")
        return
    await directory.acquire_when_free()
    frontier = EmbeddedFrontier(directory.frontier, seen=None)
    try:
        await frontier.open()
        async with aclosing(answer_from(frontier, frontier.secret, data, question)) as lines:
            async for line in lines:
                yield line
    finally:
        await frontier.close()
        directory.release()


async def _ask_store(
    url: str, index: str | None, question: Question
) -> AsyncGenerator[bytes, None]:
    async with AsyncExitStack() as stack:
        frontier = await read_redis(stack, url, index)
        if frontier is None:
            yield _no_crawl()
            return
        here = Path()
        async with aclosing(answer_from(frontier, frontier.secret, here, question)) as lines:
            async for line in lines:
                yield line


async def answer_from(
    reader: FrontierReader, secret: bytes, data: Path, question: Question
) -> AsyncGenerator[bytes, None]:
    """Yield the answer about the job that is asked for, or about the only one."""
    jobs = await reader.jobs()
    wanted = question.get("job")
    found = [number for number, entry in jobs.items() if wanted in (None, entry.id)]
    if len(found) != 1:
        known = ", ".join(sorted(entry.id for entry in jobs.values()))
        why = NotFound(f"jobs there: {known}; {NAME_ONE}")
        yield json.dumps(error_facts(why)).encode() + b"\n" if jobs else _no_crawl()
        return
    [number] = found
    job = Job.from_json(jobs[number].spec)
    explainer = await make_explainer(reader, secret, number, job, data)
    async for line in Answers(reader, number, explainer).answer(question):
        yield line


def _no_crawl(where: str = " there") -> bytes:
    return json.dumps(error_facts(NotFound(f"no crawl has begun{where}"))).encode() + b"\n"


async def make_explainer(
    reader: FrontierReader, secret: bytes, number: JobNumber, job: Job, data: Path
) -> Explainer:
    """Return what answers questions about a job that this process does not work on."""
    normaliser = Normaliser(job.urls.rules(), Fingerprinter(secret))
    scope = Scope(job.scope, [normaliser.absolute(entry).url for entry in job.entries])
    prefix = scope_mark(number)
    for name in await reader.marks(prefix):
        scope.add(name[len(prefix) :])
    clock = SystemClock()
    settings = LiveSettings()
    await settings.refresh(reader)
    sites = SiteRules(job, settings)
    guard = make_guard(job, clock)
    if guard is not None:
        traps = traps_mark(number)
        stored = await reader.marks(traps)
        guard.restore({name[len(traps) :]: value for name, value in stored.items()})
    aliases = AliasBook()
    if job.aliases.enabled:
        aliases.take(await read_aliases(reader, number))
    manners = Manners(
        job,
        fetcher=make_fetcher(job, RunOptions(data=data)),
        reader=reader,
        clock=clock,
        rng=random.Random(),  # noqa: S311  jitter, not secrets
    )
    manners.sites = sites
    return Explainer(
        job=job,
        number=number,
        reader=reader,
        judge=Judge(job, scope, sites),
        normaliser=normaliser,
        manners=manners,
        guard=guard,
        aliases=aliases,
    )
