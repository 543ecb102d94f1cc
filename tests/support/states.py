"""State directories as crawls leave them, made without a crawl."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from skitter.crawl.linked import Linked, linked_mark
from skitter.frontier.embedded.datadir import DataDir
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.model import Ack, JobEntry, Link, Result
from skitter.job.spec import Job, check_job
from skitter.pipeline.record import SITEMAP_CLASS, PageRecord, encode_line
from skitter.types import JobNumber, Role
from skitter.url.fingerprint import Fingerprinter
from skitter.url.normalise import Normaliser

SITE = "http://site.test"


def site_job(**fields: Any) -> Job:
    """Return a job for one site."""
    return check_job({"id": "job", "entries": [f"{SITE}/"], **fields}, "test job")


class State:
    """An open store, to be filled."""

    def __init__(self, path: Path, job: Job | None = None) -> None:
        self.job = job or site_job()
        self._data = DataDir(path)

    async def __aenter__(self) -> "State":
        self._data.acquire()
        self.frontier = EmbeddedFrontier(self._data.frontier, durable=False)
        await self.frontier.open()
        entry = JobEntry(id=self.job.id, spec=self.job.to_json(), delay_ms=0, per_host=1000)
        self.number: JobNumber = await self.frontier.put_job(entry)
        self.normaliser = Normaliser(self.job.urls.rules(), Fingerprinter(self.frontier.secret))
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.frontier.close()
        self._data.release()

    async def add(
        self, *paths: str, result: Result = Result.DONE, role: Role = Role.PAGE, **fields: Any
    ) -> list[dict[str, Any]]:
        """Put records of visited URLs there; answers them as JSON."""
        links = [self.link(path, role) for path in paths]
        await self.frontier.offer(links)
        grants = await self.frontier.own("member", range(1))
        leases = (await self.frontier.claim(grants, len(links))).leases
        notes = {lease.id: encode_line(self._record(lease.url, role, fields)) for lease in leases}
        await self.frontier.ack([Ack(one, result, note=notes[one.id]) for one in leases])
        return [json.loads(note) for note in notes.values()]

    def link(self, path: str, role: Role = Role.PAGE) -> Link:
        """Return a URL of the site as a link."""
        normal = self.normaliser.absolute(f"{SITE}{path}")
        if role is Role.SITEMAP:
            normal = self.normaliser.as_sitemap(normal)
        return Link(normal.url, normal.fp, normal.host, self.number, role=role)

    def _record(self, url: str, role: Role, fields: Mapping[str, Any]) -> PageRecord:
        known = {
            "outcome": "ok",
            "depth": 0,
            "page_class": SITEMAP_CLASS if role is Role.SITEMAP else "data",
            "fetched_at": "2026-01-01T00:00:00.000Z",
            "visit": 1,
            "labels": self.job.labels,
        }
        return PageRecord(job=self.job.id, url=url, final_url=url, **{**known, **fields})

    async def count(self, paths: Sequence[str], hosts: Sequence[str] = ()) -> None:
        """Store how often pages and other hosts are linked: once for each time they are named."""
        linked = Linked()
        linked.count([linked.key(link.url, link.fp) for link in map(self.link, paths)])
        linked.count([linked.key(f"{host}/", None) for host in hosts])
        linked.mark_name = linked_mark(self.number)
        await self.frontier.ack([], marks=linked.take_mark(0.0, force=True))
