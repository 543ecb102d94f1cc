"""Worker processes are watched, started again, counted together, and end with their parent."""

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from skitter.cluster import crew as crew_module
from skitter.cluster.crew import Crew, Standing, Worker, encode_standing, worker_command
from skitter.errors import ConfigError
from skitter.observability.stats import CrawlStats

ENV = dict(os.environ)


def python(code: str) -> list[str]:
    return [sys.executable, "-S", "-c", code]


def shell(code: str) -> list[str]:
    return ["/bin/sh", "-c", code]


def alive(pid: int) -> bool:
    """Tell whether a process runs; one that nobody has asked for is dead as well."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


async def until(what: str, seconds: float = 60.0) -> None:
    """Wait for a file to hold something."""
    async with asyncio.timeout(seconds):
        while not Path(what).exists() or not Path(what).read_text(encoding="utf-8"):
            await asyncio.sleep(0.01)


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crew_module, "FIRST_WAIT_S", 0.02)


async def test_a_worker_that_ends_in_good_order_is_not_started_again(tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    async with asyncio.timeout(50):
        await Worker("1", shell(f"echo x >> {starts}"), ENV).run()
    assert starts.read_text() == "x\n"


async def test_a_worker_that_crashes_is_started_again_after_longer_and_longer_waits(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crew_module, "LONGEST_WAIT_S", 0.05)
    starts = tmp_path / "starts"
    code = f"echo x >> {starts}; [ $(wc -l < {starts}) -ge 5 ] && exit 0; exit 3"
    with caplog.at_level(logging.WARNING):
        async with asyncio.timeout(50):
            await Worker("7", shell(code), ENV).run()
    assert starts.read_text() == "x\n" * 5
    assert [record.getMessage() for record in caplog.records] == [
        f"worker 7 ended (exit code 3); again in {wait} s" for wait in ("0.0", "0.0", "0.1", "0.1")
    ]


async def test_a_long_life_makes_the_waits_short_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crew_module, "CALM_S", 0.0)
    monkeypatch.setattr(crew_module, "LONGEST_WAIT_S", 120.0)
    starts = tmp_path / "starts"
    code = f"echo x >> {starts}; [ $(wc -l < {starts}) -ge 12 ] && exit 0; exit 1"
    async with asyncio.timeout(50):
        await Worker("1", shell(code), ENV).run()


async def test_a_killed_worker_is_named_by_its_signal(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    once = tmp_path / "once"
    code = f"[ -e {once} ] && exit 0; touch {once}; kill -9 $$"
    with caplog.at_level(logging.WARNING):
        async with asyncio.timeout(50):
            await Worker("1", shell(code), ENV).run()
    assert "signal SIGKILL" in caplog.text


async def test_a_worker_that_refuses_is_not_started_again() -> None:
    with pytest.raises(ConfigError, match="worker 3 refuses to work; it has said why above"):
        async with asyncio.timeout(50):
            await Worker("3", shell("exit 2"), ENV).run()


async def test_one_that_refuses_ends_the_crew_and_the_rest_can_be_killed(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    lasting = f"echo $$ > {pid}; exec sleep 60"
    commands = {1: lasting, 2: f"while [ ! -s {pid} ]; do sleep 0.01; done; exit 2"}
    crew = Crew(2, lambda index: shell(commands[index]), ENV)
    with pytest.raises(ExceptionGroup) as raised:
        async with asyncio.timeout(50):
            await crew.run()
    assert raised.group_contains(ConfigError)
    crew.kill()
    # Before a worker that does not listen would be killed.
    async with asyncio.timeout(crew_module.STOP_S - 1):
        await crew.stop()
    assert not alive(int(pid.read_text()))


async def test_stop_lets_a_worker_finish(tmp_path: Path) -> None:
    ready, ended = tmp_path / "ready", tmp_path / "ended"
    code = (
        f"trap 'echo done > {ended}; exit 0' TERM; echo x > {ready}; while :; do sleep 0.05; done"
    )
    worker = Worker("1", shell(code), ENV)
    running = asyncio.create_task(worker.run())
    await until(str(ready))
    await worker.stop()
    async with asyncio.timeout(30):
        await running
    assert ended.read_text() == "done\n"


async def test_stop_kills_a_worker_that_does_not_end(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    worker = Worker(
        "1", shell(f"trap '' TERM; echo $$ > {ready}; while :; do sleep 0.05; done"), ENV
    )
    running = asyncio.create_task(worker.run())
    await until(str(ready))
    began = time.monotonic()
    await worker.stop(0.2)
    async with asyncio.timeout(30):
        await running
    assert 0.2 <= time.monotonic() - began < crew_module.STOP_S - 1
    assert not alive(int(ready.read_text()))
    assert worker.pid is None


@pytest.mark.parametrize("at_once", [False, True])
async def test_a_worker_that_is_just_being_started_ends_as_well(
    tmp_path: Path, *, at_once: bool
) -> None:
    ready, stopped = tmp_path / "ready", asyncio.Event()

    class Slow(Worker):
        async def _begin(self) -> asyncio.subprocess.Process:
            process = await super()._begin()
            await until(str(ready))
            if at_once:
                await stopped.wait()
            else:
                await asyncio.sleep(0.1)
            return process

    deaf = shell(f"trap '' TERM; echo $$ > {ready}; while :; do sleep 0.05; done")
    worker = Slow("1", deaf, ENV)
    running = asyncio.create_task(worker.run())
    await until(str(ready))
    if at_once:
        worker.kill()
        stopped.set()
    else:
        await worker.stop(0.2)
    async with asyncio.timeout(30):
        await running
    assert not alive(int(ready.read_text()))


async def test_stop_does_not_wait_for_a_worker_that_was_to_be_started_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(crew_module, "FIRST_WAIT_S", 120.0)
    crew = Crew(1, lambda _: shell("exit 1"), ENV)
    running = asyncio.create_task(crew.run())
    async with asyncio.timeout(50):
        while "again in 120.0 s" not in caplog.text:
            await asyncio.sleep(0.01)
        await crew.stop()
        await running


async def test_a_worker_told_to_stop_before_it_was_started_does_not_start(tmp_path: Path) -> None:
    worker = Worker("1", shell(f"touch {tmp_path / 'started'}"), ENV)
    await worker.stop()
    await worker.run()
    assert not (tmp_path / "started").exists()


def told(*standings: Standing) -> str:
    lines = b"".join(encode_standing(one) + b"\n" for one in standings).decode()
    return f"import sys; sys.stdout.write({lines!r}); sys.stdout.flush()"


async def test_standings_add_up_over_workers_and_restarts(tmp_path: Path) -> None:
    first = Standing(3, 300, 9, {200: 2, 404: 1}, {"dns": 1}, "store is away")
    again = Standing(5, 500, 4, {200: 5}, {"dns": 2})
    other = Standing(7, 700, 1, {500: 7}, {"timeout": 1})
    once, here = tmp_path / "once", tmp_path / "here"
    stay = f"open({str(here)!r}, 'a').write('x'); import time; time.sleep(60)"
    commands = {
        1: f"import os\nif os.path.exists({str(once)!r}):\n  {told(again)}; {stay}\n"
        f"open({str(once)!r}, 'w').close(); {told(first)}; sys.exit(1)",
        2: f"{told(other)}; {stay}",
    }
    crew = Crew(2, lambda index: python(commands[index]), ENV)
    running = asyncio.create_task(crew.run())
    stats = CrawlStats()
    async with asyncio.timeout(50):
        while stats.run_pages < 15:
            crew.add_to(stats)
            await asyncio.sleep(0.01)
    assert (stats.run_pages, stats.pages, stats.run_bytes) == (15, 15, 1500)
    assert stats.status_codes == {200: 7, 404: 1, 500: 7}
    assert stats.errors == {"dns": 3, "timeout": 1}
    assert stats.in_flight == 5, "requests of a process that is gone are not in flight"
    assert stats.note == "", "nor is its trouble anybody's"
    crew.kill()
    await running


async def test_what_is_left_is_that_of_the_store_not_of_each_worker() -> None:
    tells = {
        1: told(Standing(1, queued=70, left=40, hosts=7)),
        2: told(Standing(1, queued=71, left=41, hosts=6)),
        3: told(Standing(1)),
    }
    crew = Crew(3, lambda index: python(f"{tells[index]}; import time; time.sleep(60)"), ENV)
    running = asyncio.create_task(crew.run())
    stats = CrawlStats()
    async with asyncio.timeout(50):
        while stats.run_pages < 3:
            crew.add_to(stats)
            await asyncio.sleep(0.01)
    assert (stats.queued, stats.left, stats.hosts) == (71, 41, 7)
    crew.kill()
    await running
    crew.add_to(stats)
    assert (stats.run_pages, stats.left) == (3, None), "what workers had seen went with them"


def test_without_workers_nothing_is_known() -> None:
    stats = CrawlStats()
    Crew(0, lambda index: [str(index)], ENV).add_to(stats)
    assert (stats.queued, stats.left, stats.hosts) == (0, None, 0)


async def test_lines_that_are_no_standing_are_passed_over() -> None:
    code = f"print('hello'); print('{{\"pages\": \"many\"}}'); {told(Standing(2))}"
    worker = Worker("1", python(code), ENV)
    await worker.run()
    assert worker.standing.pages == 2


async def test_what_a_worker_tells_reads_as_json() -> None:
    line = encode_standing(Standing(1, 2, note="waits"))
    assert json.loads(line) == {"pages": 1, "bytes": 2, "note": "waits"}


def test_a_worker_runs_this_program() -> None:
    command = worker_command("version")
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=30)
    assert done.stdout.startswith("skitter")


CHILD = """
import signal, sys, time
from skitter.cluster import crew
crew.PARENT_S, crew.ORPHAN_S = 0.1, 0.3
if sys.argv[1] == "deaf":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
crew.die_with_parent()
print("ready", flush=True)
time.sleep(60)
"""
PARENT = f"""
import subprocess, sys, time
child = subprocess.Popen(
    [sys.executable, "-c", {CHILD!r}, sys.argv[1]], stdout=subprocess.PIPE, start_new_session=True
)
child.stdout.readline()
print(child.pid, flush=True)
time.sleep(60)
"""


@pytest.mark.parametrize("kind", ["told to stop", "deaf"])
def test_a_worker_ends_with_a_parent_that_is_killed(kind: str) -> None:
    words = [sys.executable, "-c", PARENT, kind]
    parent = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert alive(child)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()
    deadline = time.monotonic() + 30
    while alive(child):
        assert time.monotonic() < deadline, "it outlives its parent"
        time.sleep(0.01)
