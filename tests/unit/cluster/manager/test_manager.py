"""The manager of one machine and its processes: limits, crashes, orders, restarts, logs."""

import asyncio
import logging
import os
import signal
from pathlib import Path

import pytest
from manager_rig import STAY, Node, plans

from skitter.clock import SystemClock
from skitter.cluster.manager import manager as manager_module
from skitter.cluster.manager import roster as roster_module
from skitter.cluster.manager.ledger import Kept, Ledger, read_kept
from skitter.cluster.manager.notices import (
    MANAGER,
    SHOWN,
    Deed,
    Order,
    ReadLogs,
    Start,
    Stop,
)
from skitter.cluster.manager.processes import born, is_alive
from skitter.cluster.manager.roster import ListedWorker, Roster, Stored
from skitter.errors import ConfigError


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(roster_module, "FIRST_REST_S", 0.02)
    monkeypatch.setattr(manager_module, "LOOK_S", 0.05)


def order(deed: Deed, name: str = "one") -> Order:
    return Order(id=name, deadline_ms=0, deed=deed)


async def test_workers_run_up_to_the_limit_and_the_next_begins_when_one_has_ended(
    tmp_path: Path,
) -> None:
    async with Node(tmp_path, plans(wanted=1, limit=2)) as node:
        await node.running(1)
        answer = await node.manager.obey(order(Start(kind="site", priority=7, count=2)))
        assert [worker.state.value for worker in answer.workers] == ["waiting", "waiting"]
        running = await node.running(2)
        assert [worker.kind for worker in running] == ["all", "site"]
        assert len(node.workers("waiting")) == 1
        assert running[1].arguments == (str(running[1].place), "site")
        answer = await node.manager.obey(order(Stop(worker=running[0].id), "two"))
        assert answer.workers[0].state.value == "stopping"
        await node.until(lambda: not node.workers("waiting"))
        [stopped] = node.workers("finished")
        assert (stopped.ended, stopped.pid) == ("stopped", 0)
        assert len(await node.running(2)) == 2
        kept = read_kept(node.ledger.folder)
        assert kept is not None
        assert len(kept.roster.workers) == 3


async def test_a_worker_that_is_killed_is_started_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with Node(tmp_path, plans()) as node:
        [first] = await node.running(1)
        os.kill(first.pid, signal.SIGKILL)
        await node.until(lambda: node.workers("running") and node.workers("running")[0].starts == 2)
        [again] = await node.running(1)
        assert (again.id, again.ended, again.place) == (first.id, "signal SIGKILL", first.place)
        assert again.pid != first.pid
        assert f"worker {first.id} ended (signal SIGKILL); again in 0.0 s" in caplog.text


async def test_an_order_is_carried_out_once_however_often_it_comes(tmp_path: Path) -> None:
    async with Node(tmp_path, plans(wanted=0, limit=9)) as node:
        told = order(Start(count=2))
        first = await node.manager.obey(told)
        assert await node.manager.obey(told) == first
        await node.running(2)
    async with Node(tmp_path, plans(wanted=0, limit=9)) as again:
        assert await again.manager.obey(told) == first
        assert len(await again.running(2)) == 2


async def test_an_order_that_cannot_be_is_refused_in_words(tmp_path: Path) -> None:
    async with Node(tmp_path, plans(wanted=1)) as node:
        await node.running(1)
        before = node.manager.report()
        refusals: list[tuple[Deed, str]] = [
            (Start(kind="sites"), "kind 'sites'"),
            (Start(priority=11), "priority 11"),
            (Start(count=0), "count 0"),
            (Stop(worker=9), "worker 9: there is none of that number; at work: 1"),
            (ReadLogs(worker=9), "worker 9: there is none of that number"),
            (ReadLogs(worker=1, after={1: "1:-5"}), "place '1:-5' in a log; wanted one"),
        ]
        for number, (deed, said) in enumerate(refusals):
            answer = await node.manager.obey(order(deed, str(number)))
            assert said in answer.refused
        assert node.manager.report() == before


async def test_logs_that_cannot_be_read_end_nobody(tmp_path: Path) -> None:
    async with Node(tmp_path, plans(wanted=0)) as node:
        node.ledger.log_of(0).unlink()
        node.ledger.log_of(0).mkdir()
        answer = await node.manager.obey(order(ReadLogs()))
        assert answer.refused == "logs cannot be read: Is a directory"


async def test_a_worker_that_rests_is_stopped_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roster_module, "FIRST_REST_S", 120.0)
    async with Node(tmp_path, plans(code="raise SystemExit(1)")) as node:
        await node.until(lambda: node.workers("resting"))
        answer = await node.manager.obey(order(Stop(worker=1)))
        assert (answer.workers[0].state.value, answer.workers[0].ended) == ("finished", "stopped")
        again = await node.manager.obey(order(Stop(worker=1), "two"))
        assert again.refused == "worker 1: it is gone already: stopped"


async def test_a_node_that_is_stopped_lets_its_workers_finish_and_goes_on_later(
    tmp_path: Path,
) -> None:
    async with Node(tmp_path, plans(wanted=2, limit=3)) as node:
        await node.manager.obey(order(Start(kind="web")))
        running = await node.running(3)
        node.manager.stop()
        assert node.task is not None
        async with asyncio.timeout(60):
            await node.task
        assert {worker.ended for worker in node.workers("finished")} == {"its node was stopped"}
        assert not any(is_alive(worker) for worker in running)
        refused = await node.manager.obey(order(Start(), "late"))
        assert "about to end" in refused.refused
    async with Node(tmp_path, plans(wanted=1, limit=3)) as again:
        kinds = sorted(worker.kind for worker in await again.running(2))
        assert kinds == ["all", "web"]


async def test_a_node_that_rests_ends_when_it_is_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(roster_module, "FIRST_REST_S", 120.0)
    async with Node(tmp_path, plans(code="raise SystemExit(1)")) as node:
        await node.until(lambda: node.workers("resting"))
        node.manager.stop()
        assert node.task is not None
        async with asyncio.timeout(30):
            await node.task


async def test_with_an_end_in_sight_the_node_ends_with_its_last_worker(tmp_path: Path) -> None:
    async with Node(tmp_path, plans(code="", wanted=3, ends_idle=True)) as node:
        assert node.task is not None
        async with asyncio.timeout(60):
            await node.task
        assert [worker.ended for worker in node.workers("finished")] == ["ended by itself"] * 3


async def test_a_node_ends_with_the_word_of_a_worker_that_refuses(tmp_path: Path) -> None:
    code = f"import sys\nif sys.argv[1] == '1':\n  sys.exit('skitter: no such thing')\n{STAY}"
    code = code.replace(
        "sys.exit('skitter: no such thing')",
        "print('2026-01-02T03:04:05Z skitter: no such thing', file=sys.stderr); sys.exit(2)",
    )
    async with Node(tmp_path, plans(code=code, wanted=2)) as node:
        assert node.task is not None
        with pytest.raises(ConfigError, match="worker 1 refuses to work: no such thing"):
            async with asyncio.timeout(60):
                await node.task
        assert node.workers("running") == []


async def test_a_program_that_cannot_be_started_is_tried_again_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    given = plans(command=lambda worker: ["/no/such/program"], program=0)
    async with Node(tmp_path, given) as node:
        await node.until(lambda: "could not be started: No such file" in caplog.text)
        await node.until(lambda: node.manager.report().workers[0].starts > 2)


async def test_what_workers_say_is_kept_passed_on_and_read_from_afar(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with Node(tmp_path, plans(wanted=2)) as node:
        await node.running(2)
        await node.until(lambda: caplog.text.count("kind all") == 2)
        assert "worker 2: place 2 kind all" in caplog.text
        logs = (await node.manager.obey(order(ReadLogs()))).logs
        assert sorted(logs) == [MANAGER, 1, 2]
        assert logs[1].text == "place 1 kind all\n"
        assert "worker 2 begins as process" in logs[MANAGER].text
        with node.ledger.log_of(2).open("a") as file:
            file.write("more\n")
        after = {number: piece.cursor for number, piece in logs.items()}
        [piece] = (await node.manager.obey(order(ReadLogs(worker=2, after=after)))).logs.values()
        assert piece.text == "more\n"


async def test_workers_are_counted_together_and_their_speed_is_told(tmp_path: Path) -> None:
    async with Node(tmp_path, plans(wanted=2)) as node:
        await node.running(2)
        await node.until(lambda: node.manager.standing.pages == 10)
        pulse = node.manager.pulse(17)
        assert (pulse.at_ms, len(pulse.workers)) == (17, 2)
        reading = pulse.workers[1]
        assert (reading.pages, reading.in_flight, reading.member) == (5, 2, "m1")
        await node.manager.obey(order(Stop(worker=1)))
        await node.until(lambda: node.workers("finished"))
        assert node.manager.standing.pages == 10, "what one did that has ended stays"
        assert node.manager.standing.in_flight == 2


async def test_only_some_of_those_that_have_ended_are_told_of(tmp_path: Path) -> None:
    async with Node(tmp_path, plans(code="", wanted=SHOWN + 5, limit=3)) as node:
        await node.until(lambda: node.manager._roster.is_empty)
        assert len(node.manager.report().workers) == SHOWN


async def leave_behind(data: Path) -> asyncio.subprocess.Process:
    """Be a manager that was killed, with a process that goes on."""
    left = await asyncio.create_subprocess_exec("sleep", "60", start_new_session=True)
    ledger = Ledger.take(data)
    before = Roster(1, SystemClock())
    before.take_over(Stored(), 1, is_alive)
    before.begin(1)
    before.began(1, left.pid, born(left.pid))
    ledger.write(Kept(roster=before.stored))
    ledger.close()
    return left


async def test_a_process_of_an_earlier_manager_has_room_until_it_is_gone(tmp_path: Path) -> None:
    left = await asyncio.create_subprocess_exec("sleep", "60", start_new_session=True)
    ledger = Ledger.take(tmp_path)

    before = Roster(1, SystemClock())
    before.take_over(Stored(), 1, is_alive)
    before.begin(1)
    before.began(1, left.pid, born(left.pid))
    ledger.write(Kept(roster=before.stored))
    ledger.close()
    async with Node(tmp_path, plans(wanted=1, limit=1)) as node:
        await asyncio.sleep(0.5)
        assert [worker.id for worker in node.workers("stopping")] == [1]
        assert node.workers("running") == []
        left.terminate()
        await left.wait()
        [running] = await node.running(1)
        assert running.follows == 1
        [ended] = node.workers("finished")
        assert ended.ended == "its manager ended"


async def test_a_process_that_stays_too_long_is_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:

    monkeypatch.setattr(roster_module, "LAST_WORDS_S", 0.3)
    left = await leave_behind(tmp_path)
    async with Node(tmp_path, plans(wanted=1, limit=1)) as node:
        await node.running(1)
        assert await left.wait() == -signal.SIGKILL


async def test_a_full_disk_ends_nobody(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with Node(tmp_path, plans(limit=3)) as node:
        await node.running(1)

        def full(kept: object) -> None:
            raise OSError(28, "No space left on device")

        monkeypatch.setattr(node.ledger, "write", full)
        with caplog.at_level(logging.WARNING):
            await node.manager.obey(order(Start()))
        await node.running(2)
        assert "the list of workers could not be kept: No space left on device" in caplog.text


def test_a_number_that_another_process_has_is_not_the_worker() -> None:

    here = ListedWorker(id=1, pid=os.getpid(), born=born(os.getpid()))
    assert is_alive(here)
    assert not is_alive(ListedWorker(id=1, pid=os.getpid(), born=here.born - 1))
    assert not is_alive(ListedWorker(id=1, pid=0, born=0))
    assert born(2**22 + 1) == 0
