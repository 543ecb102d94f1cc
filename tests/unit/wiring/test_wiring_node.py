"""A member that serves many jobs, one after the other."""

import asyncio
from pathlib import Path

import pytest
from serving import Answer, SmallSite

from skitter.clock import SystemClock
from skitter.crawl import desk as desk_module
from skitter.crawl.recording import Recording
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.model import Link
from skitter.frontier.remote.server import RemoteServer
from skitter.frontier.remote.shell import RemoteShell
from skitter.job.spec import check_job
from skitter.types import JobNumber
from skitter.url.fingerprint import Fingerprinter
from skitter.url.normalise import Normaliser
from skitter.wiring.node import open_member
from skitter.wiring.node_options import NodeOptions
from skitter.wiring.parts import job_entry

JOBS = 25


def open_files(under: Path) -> list[str]:
    """Return the files below a directory that this process has open."""
    found = []
    for one in Path("/proc/self/fd").iterdir():
        try:
            found.append(str(one.readlink()))
        except FileNotFoundError:
            continue
    return [name for name in found if name.startswith(str(under))]


def for_jobs(names: list[str]) -> list[str]:
    """Return the files among some that a member has open for its jobs, not for itself."""
    return [name for name in names if not name.endswith("lock")]


class World:
    """A master in this process, and a site with a page for each job."""

    def __init__(self, folder: Path, site: SmallSite) -> None:
        self.folder = folder
        self.site = site
        self.store = EmbeddedFrontier(folder / "store", durable=False)
        self.recording = Recording()

    async def open(self) -> None:
        await self.store.open()
        self.store.records = self.recording
        server = RemoteServer(self.store, secret=self.store.secret, clock=SystemClock())
        self.shell = RemoteShell(server, socket_path=self.folder / "master.sock")
        await self.shell.open()

    async def close(self) -> None:
        await self.shell.close()
        await self.store.close()

    async def add(self, name: str, path: str) -> JobNumber:
        url = self.site.url(path)
        job = check_job(
            {
                "id": name,
                "entries": [url],
                "sitemaps": "no",
                "polite": {"delay": 0, "robots": False, "per_host": 8},
                "archive": {"directory": str(self.folder / "warc" / name)},
            },
            "test",
        )
        number = await self.store.put_job(job_entry(job))
        self._normal = Normaliser(job.urls.rules(), Fingerprinter(self.store.secret)).absolute
        await self.offer(number, path)
        return number

    async def offer(self, job: JobNumber, path: str) -> None:
        normal = self._normal(self.site.url(path))
        await self.store.offer([Link(normal.url, normal.fp, normal.host, job)])

    async def done(self, *jobs: JobNumber) -> None:
        async with asyncio.timeout(60):
            for job in jobs:
                while (await self.store.counts(job)).done < 1:
                    await asyncio.sleep(0.02)


async def test_a_member_closes_what_it_had_open_for_jobs_that_have_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(desk_module, "TEND_S", 0.05)
    monkeypatch.setattr(desk_module, "IDLE_S", 0.2)
    pages = {f"/{n}": Answer(b"<title>page</title>") for n in range(JOBS + 1)}
    with SmallSite(pages) as site:
        world = World(tmp_path, site)
        await world.open()
        node = NodeOptions(
            control=str(tmp_path / "master.sock"),
            data=tmp_path / "node",
            allow_private=True,
            concurrency=8,
        )
        async with open_member(node) as member:
            running = asyncio.create_task(member.run())
            jobs = [await world.add(f"job{n}", f"/{n}") for n in range(JOBS)]
            await world.done(*jobs)
            async with asyncio.timeout(60):
                while open_files(tmp_path / "warc") or for_jobs(open_files(tmp_path / "node")):
                    await asyncio.sleep(0.05)
            # A job whose desk was closed is taken up again, and its archive is gone on with.
            await world.offer(jobs[0], f"/{JOBS}")
            async with asyncio.timeout(60):
                while (await world.store.counts(jobs[0])).done < 2:
                    await asyncio.sleep(0.02)
            member.stop()
            assert await running == "interrupted"
        await world.close()
    kept = [path for path in (tmp_path / "warc" / "job0").iterdir() if ".warc" in path.name]
    assert len(kept) == 1
    assert len(list((tmp_path / "warc").iterdir())) == JOBS
