"""A master and its children as real processes: killed, stopped, restarted and cut off.

Run as a program, this file is the master or a child of these tests.
"""

import asyncio
import json
import os
import random
import signal
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from skitter.clock import SystemClock
from skitter.errors import ConfigError, Fenced
from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.model import Ack, JobEntry, Link, Result
from skitter.frontier.remote.client import RemoteFrontier
from skitter.frontier.remote.link import Patience
from skitter.frontier.remote.server import RemoteServer
from skitter.frontier.remote.shell import RemoteShell
from skitter.types import Fingerprint, HostKey, JobNumber

TOKEN = "a-token-for-tests"
TAKEOVER_S = 30.0
"""What a silent child held is free after some 6 s; its leases alone would last for two minutes."""
JOB = JobNumber(1)


def links(numbers: Sequence[int], **fields: Any) -> list[Link]:
    return [
        Link(f"http://h{n}.test/", Fingerprint(n + 1), HostKey(f"h{n}.test"), JOB, **fields)
        for n in numbers
    ]


# The programs


async def be_master(folder: Path, port: int) -> None:
    store = EmbeddedFrontier(folder)
    await store.open()
    clock = SystemClock()
    core = RemoteServer(store, secret=store.secret, clock=clock, token=TOKEN, quiet_s=1.2)
    shell = RemoteShell(core, tcp=("127.0.0.1", port))
    await shell.open()
    print(shell.port, flush=True)
    ended = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, ended.set)
    await ended.wait()
    await shell.close()
    await store.close()


async def be_child(port: int, name: str) -> None:
    """Do what the lines of standard input say, one JSON answer for each."""
    child = RemoteFrontier(f"http://127.0.0.1:{port}", TOKEN, name=name)
    await child.open()
    print(json.dumps("open"), flush=True)
    grants = await child.own(name, [0])
    held = {}
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        match line.split():
            case ["claim", k]:
                leases = (await child.claim(grants, int(k))).leases
                held.update({lease.url: lease for lease in leases})
                answer: Any = [[lease.url, lease.lost] for lease in leases]
            case ["ack"]:
                receipt = await child.ack([Ack(x, Result.DONE) for x in held.values()])
                answer = [receipt.accepted, len(receipt.stale)]
            case ["leave"]:
                await child.close()
                return
            case _:
                raise AssertionError(line)
        print(json.dumps(answer), flush=True)


class Process:
    """One of the programs above."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    @classmethod
    async def start(cls, *arguments: object) -> "Process":
        pipe = asyncio.subprocess.PIPE
        command = [sys.executable, __file__, *map(str, arguments)]
        return cls(await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe))

    async def read(self) -> Any:
        assert self.process.stdout is not None
        async with asyncio.timeout(60):
            line = await self.process.stdout.readline()
        return json.loads(line)

    def tell(self, command: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(command.encode() + b"\n")

    async def ask(self, command: str) -> Any:
        self.tell(command)
        return await self.read()

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    async def end(self, number: int = signal.SIGKILL) -> None:
        if self.process.returncode is None:
            self.process.send_signal(number)
        await self.process.wait()
        transport = self.process._transport  # type: ignore[attr-defined]
        transport.close()


class Fleet:
    """The processes of one test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self.started: list[Process] = []

    async def master(self) -> Process:
        process = await self._start("master", self.folder, self.port)
        self.port = await process.read()
        return process

    async def child(self, name: str) -> Process:
        process = await self._start("child", self.port, name)
        assert await process.read() == "open"
        return process

    @asynccontextmanager
    async def joined(self, **patience: float) -> AsyncIterator[RemoteFrontier]:
        """Be a child in this process."""
        made = RemoteFrontier(
            f"http://127.0.0.1:{self.port}", TOKEN, name="here", patience=Patience(**patience)
        )
        await made.open()
        try:
            yield made
        finally:
            await made.close()

    async def _start(self, *arguments: object) -> Process:
        process = await Process.start(*arguments)
        self.started.append(process)
        return process

    async def end(self) -> None:
        for process in self.started:
            if process.process.returncode is None:
                process.send(signal.SIGCONT)
            await process.end()


@pytest.fixture
async def fleet(tmp_path: Path) -> AsyncIterator[Fleet]:
    made = Fleet(tmp_path / "store")
    yield made
    await made.end()


async def test_what_a_killed_child_held_is_handed_out_long_before_its_leases_end(
    fleet: Fleet,
) -> None:
    await fleet.master()
    async with fleet.joined() as here:
        await here.put_job(JobEntry(id="job", delay_ms=0))
        await here.offer(links(range(6)))
        doomed = await fleet.child("doomed")
        held = await doomed.ask("claim 4")
        assert len(held) == 4
        await doomed.end(signal.SIGKILL)
        killed_at = time.monotonic()
        grants = await here.own("here", [0])
        taken = list((await here.claim(grants, 10)).leases)
        assert len(taken) == 2
        while len(taken) < 6 and time.monotonic() - killed_at < TAKEOVER_S:
            await asyncio.sleep(0.1)
            taken += (await here.claim(grants, 10)).leases
        again = {lease.url for lease in taken if lease.lost == 1}
        assert again == {url for url, _ in held}
        assert (await here.ack([Ack(lease, Result.DONE) for lease in taken])).accepted == 6


async def test_a_child_that_was_stopped_for_too_long_changes_nothing(fleet: Fleet) -> None:
    await fleet.master()
    async with fleet.joined() as here:
        await here.put_job(JobEntry(id="job", delay_ms=0))
        await here.offer(links(range(3)))
        stopped = await fleet.child("stopped")
        assert len(await stopped.ask("claim 3")) == 3
        stopped.send(signal.SIGSTOP)
        grants = await here.own("here", [0])
        deadline = time.monotonic() + TAKEOVER_S
        taken = list((await here.claim(grants, 10)).leases)
        while len(taken) < 3 and time.monotonic() < deadline:
            await asyncio.sleep(0.1)
            taken += (await here.claim(grants, 10)).leases
        assert len(taken) == 3
        stopped.send(signal.SIGCONT)
        assert await stopped.ask("ack") == [0, 3]
        assert (await here.counts(JOB)).leased == 3
        assert (await here.ack([Ack(lease, Result.DONE) for lease in taken])).accepted == 3
        # It is a child like any other again.
        await here.offer(links([7]))
        assert await stopped.ask("claim 5") == [["http://h7.test/", 0]]


async def test_a_short_stop_costs_nothing(fleet: Fleet) -> None:
    await fleet.master()
    async with fleet.joined() as here:
        await here.put_job(JobEntry(id="job", delay_ms=0))
        await here.offer(links(range(3)))
        stopped = await fleet.child("stopped")
        await stopped.ask("claim 3")
        stopped.send(signal.SIGSTOP)
        await asyncio.sleep(1)
        stopped.send(signal.SIGCONT)
        assert await stopped.ask("ack") == [3, 0]


async def test_a_child_that_leaves_gives_back_at_once_and_without_a_loss(fleet: Fleet) -> None:
    await fleet.master()
    async with fleet.joined() as here:
        await here.put_job(JobEntry(id="job", delay_ms=0))
        await here.offer(links(range(3)))
        leaving = await fleet.child("leaving")
        await leaving.ask("claim 3")
        leaving.tell("leave")
        await leaving.process.wait()
        grants = await here.own("here", [0])
        taken = (await here.claim(grants, 10)).leases
        assert [lease.lost for lease in taken] == [0, 0, 0]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_children_wait_for_a_master_that_restarts_and_go_on(
    fleet: Fleet, how: signal.Signals
) -> None:
    master = await fleet.master()
    async with fleet.joined(most_s=0.2) as here:
        await here.put_job(JobEntry(id="job", delay_ms=0))
        await here.offer(links(range(4)))
        grants = await here.own("here", [0])
        first, second, *_ = (await here.claim(grants, 10)).leases
        assert (await here.ack([Ack(first, Result.DONE, links=links([9]))])).accepted == 1
        epoch, version = here.epoch, here.version
        await master.end(how)
        waiting = asyncio.create_task(here.counts(JOB))
        async with asyncio.timeout(60):
            while f"master http://127.0.0.1:{fleet.port} does not answer for " not in here.trouble:
                await asyncio.sleep(0.05)
        assert not waiting.done()
        await fleet.master()
        counts = await waiting
        assert here.trouble == ""
        assert (counts.done, counts.queued, counts.leased) == (1, 4, 0)
        assert (here.epoch, here.version > version) == (epoch + 1, True)
        assert (await here.ack([Ack(second, Result.DONE)])).stale == (second.id,)
        with pytest.raises(Fenced):
            await here.claim(grants, 1)
        grants = await here.own("here", [0])
        claim = await here.claim(grants, 10)
        # Others may still be at work on what they had: nothing is handed out yet.
        assert claim.leases == ()
        assert claim.next_ready_ms is not None
        await asyncio.sleep((claim.next_ready_ms - here.clock.now_ms()) / 1000 + 0.01)
        assert len((await here.claim(grants, 10)).leases) == 4


async def test_a_wrong_token_is_refused_at_once(fleet: Fleet) -> None:
    await fleet.master()
    patience = Patience(open_s=60)
    wrong = RemoteFrontier(f"http://127.0.0.1:{fleet.port}", "wrong", name="x", patience=patience)
    started = time.monotonic()
    with pytest.raises(ConfigError, match="refuses the token"):
        await wrong.open()
    assert time.monotonic() - started < 30


class FlakyWire:
    """A proxy that cuts connections in the middle of calls and of answers."""

    def __init__(self, port: int, seed: int) -> None:
        self._target = port
        self._rng = random.Random(seed)
        self.cuts = 0
        self.port = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        self._server = await asyncio.start_server(self._begin, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]

    async def close(self) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _begin(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.get_running_loop().create_task(self._pass_on(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _pass_on(self, near: asyncio.StreamReader, out: asyncio.StreamWriter) -> None:
        try:
            far, into = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            out.transport.abort()
            return
        try:
            ways = [self._copy(near, into), self._copy(far, out)]
            tasks = [asyncio.ensure_future(way) for way in ways]
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            for writer in (out, into):
                writer.transport.abort()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            cut = self._rng.random() < 0.08
            writer.write(data[: self._rng.randrange(len(data))] if cut else data)
            await writer.drain()
            if cut:
                self.cuts += 1
                return


async def work(address: str | Path, name: str, total: int, fetched: list[int]) -> int:
    """Crawl numbers: page n links to 2n+1 and 2n+2. Answers how many acks came too late."""
    hasty = Patience(first_s=0.005, most_s=0.05)
    child = RemoteFrontier(address, TOKEN, name=name, patience=hasty)
    await child.open()
    late = 0
    grants = await child.own(name, [0])
    while True:
        try:
            claim = await child.claim(grants, 5)
        except Fenced:
            grants = await child.own(name, [0])
            continue
        if not claim.leases:
            if (await child.counts(JOB)).done == total:
                break
            await asyncio.sleep(0.02)
            continue
        acks = []
        for lease in claim.leases:
            number = lease.fp - 1
            fetched.append(number)
            found = [n for n in (2 * number + 1, 2 * number + 2) if n < total]
            tally = (("pages", 1), ("sum", number))
            acks.append(Ack(lease, Result.DONE, links=links(found), tally=tally))
        late += len((await child.ack(acks)).stale)
    await child.close()
    return late


@pytest.mark.parametrize("seed", [1, 2])
async def test_on_a_line_that_breaks_all_the_time_everything_happens_once(
    tmp_path: Path, seed: int
) -> None:
    store = EmbeddedFrontier(tmp_path, durable=False)
    await store.open()
    core = RemoteServer(store, secret=store.secret, clock=SystemClock(), token=TOKEN)
    shell = RemoteShell(core, tcp=("127.0.0.1", 0))
    await shell.open()
    wire = FlakyWire(shell.port, seed)
    await wire.open()
    await store.put_job(JobEntry(id="job", delay_ms=0))
    await store.offer(links([0]))
    total, fetched = 1_000, list[int]()
    async with asyncio.timeout(120):
        late = await asyncio.gather(
            *(work(f"http://127.0.0.1:{wire.port}", f"child-{n}", total, fetched) for n in range(3))
        )
    assert late == [0, 0, 0]
    assert sorted(fetched) == list(range(total))
    assert await store.tallies(JOB) == {"pages": total, "sum": sum(range(total))}
    assert wire.cuts > 20
    await wire.close()
    await shell.close()
    await store.close()


async def test_a_master_that_keeps_restarting_loses_nothing_and_counts_nothing_twice(
    tmp_path: Path,
) -> None:
    total, fetched = 4_000, list[int]()
    socket = tmp_path / "master.sock"
    finished = asyncio.Event()
    openings = 0

    async def serve() -> None:
        nonlocal openings
        while not finished.is_set():
            store = EmbeddedFrontier(tmp_path / "store", durable=False)
            await store.open()
            if not openings:
                await store.put_job(JobEntry(id="job", delay_ms=0))
                await store.offer(links([0]))
            openings += 1
            core = RemoteServer(store, secret=store.secret, clock=SystemClock(), quiet_s=0.01)
            shell = RemoteShell(core, socket_path=socket)
            await shell.open()
            try:
                # A machine that is busy with other things gets somewhere as well, in the end.
                async with asyncio.timeout(0.02 + openings * 0.02):
                    await finished.wait()
            except TimeoutError:
                pass
            await shell.close()
            await store.close()

    master = asyncio.create_task(serve())
    async with asyncio.timeout(120):
        await asyncio.gather(*(work(socket, f"child-{n}", total, fetched) for n in range(3)))
    finished.set()
    await master
    assert set(fetched) == set(range(total))
    assert openings > 3
    store = EmbeddedFrontier(tmp_path / "store", durable=False)
    await store.open()
    assert await store.tallies(JOB) == {"pages": total, "sum": sum(range(total))}
    await store.close()


if __name__ == "__main__":
    os.environ.pop("PYTHONWARNINGS", None)
    match sys.argv[1:]:
        case ["master", folder, port]:
            asyncio.run(be_master(Path(folder), int(port)))
        case ["child", port, name]:
            asyncio.run(be_child(int(port), name))
