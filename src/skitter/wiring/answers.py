"""Questions about a crawl's store and their answers, as lines of JSON."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

import msgspec

from skitter.crawl.aliases.undo import AliasDesk, list_aliases
from skitter.crawl.explain import Explainer
from skitter.crawl.extraction import read_rejects
from skitter.crawl.inspect import error_facts
from skitter.crawl.linked import LinkedTable, host_ranking, linked_mark, merged, read_table
from skitter.crawl.recording import job_mark
from skitter.errors import ConfigError
from skitter.frontier.base import FrontierReader
from skitter.frontier.model import own_note
from skitter.pipeline.base import SINK_MARKS
from skitter.pipeline.record import decode_line, is_listed
from skitter.pipeline.upsert import SetAside, read_aside
from skitter.types import JobNumber

Question = Mapping[str, object]

ARCHIVE_MARKS = "archive:"
MEMBER_SIGN = "\t"
"""Stands between the directory of an archive and the member that writes there."""
NAME_ONE = "name one of them (page URL --job ID, job export ID)"
"""What to do where several jobs are, or not the one that was named."""
FETCHED = frozenset({"ok", "noindex"})
YIELD_EVERY = 100


class _Kind(msgspec.Struct):
    """What of a record says whether it is one of a page."""

    page_class: str
    url: str
    outcome: str


_kind = msgspec.json.Decoder(_Kind).decode


class Answers:
    """Answers for one job, from an open store.

    ``linked`` gives what a crawl has counted up to this moment; without it, what is stored counts.
    """

    def __init__(
        self,
        reader: FrontierReader,
        number: JobNumber,
        explainer: Explainer,
        linked: Callable[[], LinkedTable] | None = None,
        aliases: AliasDesk | None = None,
    ) -> None:
        self._reader = reader
        self._number = number
        self._explainer = explainer
        self._table = linked
        self._aliases = aliases

    async def answer(self, question: Question) -> AsyncIterator[bytes]:
        """Yield the lines of the answer; the last one of a list says that it is complete."""
        match question:
            case {"job": str(job)} if job != self._explainer.job.id:
                yield _line({"error": f"holds the job {self._explainer.job.id!r}, not {job!r}"})
            case {"page": str(url)}:
                yield _line(await self._page(url))
            case {"outputs": _}:
                yield _line({"outputs": await output_paths(self._reader, self._number)})
            case _:
                async for line in self._list(question):
                    yield line

    def _list(self, question: Question) -> AsyncIterator[bytes]:
        match question:
            case {"records": _}:
                return self._records()
            case {"rejects": _}:
                return self._rejects()
            case {"aliases": _} | {"undo_alias": _}:
                return self._of_aliases(question)
            case {"linked": int(most)}:
                return self._linked(most)
            case _:
                return _unknown()

    async def _of_aliases(self, question: Question) -> AsyncIterator[bytes]:
        job = self._explainer.job.id
        match question:
            case {"undo_alias": str(host)} if self._aliases is not None:
                try:
                    yield _line(await self._aliases.undo(host))
                except ConfigError as error:
                    yield _line(error_facts(error))
            case _:
                found = await list_aliases(self._reader, self._number)
                for row in found:
                    yield _line({"job": job, **row})
                yield _line({"complete": len(found)})

    async def _page(self, url: str) -> dict[str, object]:
        found = await self._explainer.explain(url)
        record = found.get("record")
        if isinstance(record, dict) and record.get("warc_file"):
            file = await self._archive_file(str(record["warc_file"]))
            if file is not None:
                found["archive"] = {"file": str(file), "offset": record["warc_offset"]}
        return found

    async def _archive_file(self, name: str) -> Path | None:
        """Return where an archive file is, or would be if it is not on this machine."""
        paths = [Path(path) / name for path in await archive_paths(self._reader, self._number)]
        return next((path for path in paths if path.exists()), next(iter(paths), None))

    async def _records(self) -> AsyncIterator[bytes]:
        after, count = b"", 0
        while True:
            notes, after = await self._reader.notes(self._number, after)
            for note in notes:
                kind = _kind(note)
                if is_listed(kind.page_class, kind.outcome):
                    count += 1
                    yield note
            if not after:
                break
        yield _line({"complete": count})

    async def _rejects(self) -> AsyncIterator[bytes]:
        """Yield the records that were set aside: by field that was wanting, by database."""
        after, count = b"", 0
        while True:
            notes, after = await self._reader.notes(self._number, after)
            for note in notes:
                if b'"error":"rule ' in note:
                    record = decode_line(note)
                    for reject in read_rejects(record.error):
                        count += 1
                        facts = {"job": record.job, "url": record.url, **reject._asdict()}
                        yield _line({**facts, "fetched_at": record.fetched_at})
            if not after:
                break
        for facts in await set_aside(self._reader, self._number):
            count += 1
            yield _line({"job": self._explainer.job.id, **facts})
        yield _line({"complete": count})

    async def _linked(self, most: int) -> AsyncIterator[bytes]:
        """Yield the most linked pages that were fetched, then the most linked hosts."""
        if self._table is not None:
            table = self._table()
        else:
            stored = await self._reader.marks(linked_mark(self._number))
            table = merged(read_table(value) for value in stored.values())
        pages = await self._most_linked(table, most)
        for links, url in pages:
            yield _line({"kind": "page", "url": url, "links": links})
        hosts = list(host_ranking(table).items())[:most]
        for origin, links in hosts:
            yield _line({"kind": "host", "url": f"{origin}/", "links": links})
        yield _line({"complete": len(pages) + len(hosts)})

    async def _most_linked(self, table: LinkedTable, most: int) -> list[tuple[int, str]]:
        """Return the most linked pages that were fetched; of equals the first by URL."""
        found: list[tuple[int, str]] = []
        for number, page in enumerate(table.pages):
            if len(found) >= most and page.links < found[most - 1][0]:
                break
            if number % YIELD_EVERY == 0:
                # A crawl may be running in this process.
                await asyncio.sleep(0)
            note = own_note(await self._reader.note(self._number, page.host, page.fp))
            if note and (record := _kind(note)).outcome in FETCHED:
                found.append((page.links, record.url))
        return sorted(found, key=lambda pair: (-pair[0], pair[1]))[:most]


async def _unknown() -> AsyncIterator[bytes]:
    yield _line({"error": "not a question this version knows"})


async def output_paths(reader: FrontierReader, job: JobNumber) -> list[str]:
    """Return the files and databases that a job's records go to."""
    prefix = job_mark(job, SINK_MARKS)
    names = {name[len(prefix) :].partition(MEMBER_SIGN)[0] for name in await reader.marks(prefix)}
    return sorted(name.split(":", 1)[1] for name in names)


async def set_aside(reader: FrontierReader, job: JobNumber) -> list[dict[str, object]]:
    """Return the latest records that databases did not take, in the form of rejects."""
    prefix = job_mark(job, SINK_MARKS)
    found: dict[tuple[str, SetAside], None] = {}
    for name, mark in sorted((await reader.marks(prefix)).items()):
        place = name[len(prefix) :].partition(MEMBER_SIGN)[0]
        found |= {(place, one): None for one in read_aside(mark).latest}
    return [
        {
            "url": one.url,
            "rule": "sinks",
            "field": place,
            "reason": one.why,
            "fetched_at": one.fetched_at,
        }
        for place, one in found
    ]


async def archive_paths(reader: FrontierReader, job: JobNumber) -> list[str]:
    """Return the directories a job is archived in, each on the machine of its member."""
    prefix = job_mark(job, ARCHIVE_MARKS)
    names = [name[len(prefix) :] for name in await reader.marks(prefix)]
    return sorted({name.partition(MEMBER_SIGN)[0] for name in names})


def _line(value: Mapping[str, object]) -> bytes:
    return json.dumps(value, default=str, ensure_ascii=False).encode() + b"\n"
