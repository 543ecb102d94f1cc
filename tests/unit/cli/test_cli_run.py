"""Running a crawl: signals, exit codes, what is printed."""

import asyncio
import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from cli_fakes import FakeCrawl, RecordingDisplay, summary

from skitter.cli.report import INTERRUPTED, OK, most_telling
from skitter.cli.run import finish, run_crawl
from skitter.cli.watched import Interruptions
from skitter.config import RunOptions
from skitter.crawl.summary import Summary
from skitter.errors import SinkError
from skitter.job.spec import Job

QUIET = RunOptions(data=Path("d"), quiet=True)


def test_a_finished_crawl_exits_with_zero() -> None:
    crawl = FakeCrawl(summary())
    assert run_crawl(crawl.open, Job(id="j"), QUIET) == (summary(), OK)
    assert crawl.calls == ["open", "run", "close"]


def test_a_page_limit_is_no_failure() -> None:
    _, code = run_crawl(FakeCrawl(summary(stopped_by="pages limit")).open, Job(id="j"), QUIET)
    assert code == OK


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_drains_the_crawl_and_exits_with_130(number: int) -> None:
    class Signalled(FakeCrawl):
        async def run(self) -> Summary:
            os.kill(os.getpid(), number)
            return await super().run()

    crawl = Signalled()
    result, code = run_crawl(crawl.open, Job(id="j"), QUIET)
    assert code == INTERRUPTED
    assert result is not None
    assert result.stopped_by == "interrupted"
    assert crawl.calls == ["open", "run", "stop", "close"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_signal_before_the_crawl_is_open_leaves_at_once() -> None:
    @asynccontextmanager
    async def opening(*_: object) -> AsyncIterator[FakeCrawl]:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.Event().wait()
        yield FakeCrawl()

    assert run_crawl(opening, Job(id="j"), QUIET) == (None, INTERRUPTED)


def test_the_second_signal_stops_at_once_and_the_third_ends_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended: list[int] = []
    monkeypatch.setattr(os, "_exit", ended.append)
    crawl, display = FakeCrawl(), RecordingDisplay()
    interruptions = Interruptions(display)
    interruptions.watch(crawl)
    interruptions.interrupt()
    interruptions.interrupt()
    assert crawl.calls == ["stop", "abort"]
    assert display.said == [
        "stopping: finishing 3 requests (Ctrl-C again to stop at once)",
        "stopping at once",
    ]
    assert ended == []
    interruptions.interrupt()
    assert ended == [INTERRUPTED]


def test_a_fault_of_the_crawl_comes_out_as_what_it_was() -> None:
    crawl = FakeCrawl(SinkError("out.jsonl: disk full"))
    with pytest.raises(BaseException) as caught:  # noqa: PT011
        run_crawl(crawl.open, Job(id="j"), QUIET)
    assert str(most_telling(caught.value)) == "out.jsonl: disk full"


def test_warnings_become_single_lines_of_the_display(capsys: pytest.CaptureFixture[str]) -> None:
    class Warns(FakeCrawl):
        async def run(self) -> Summary:
            logging.getLogger("somewhere").warning("first %s\nsecond", "line")
            return await super().run()

    run_crawl(Warns(summary()).open, Job(id="j"), RunOptions(data=Path("d")))
    assert capsys.readouterr().err.splitlines() == ["first line…"]


def test_json_is_the_only_and_last_line_of_standard_output(
    capsys: pytest.CaptureFixture[str],
) -> None:
    finish(summary(), RunOptions(data=Path("d"), json=True), "again")
    [line] = capsys.readouterr().out.splitlines()
    assert json.loads(line)["pages"] == 12


def test_quiet_prints_nothing_but_json_where_asked(capsys: pytest.CaptureFixture[str]) -> None:
    finish(summary(), QUIET, "again")
    assert capsys.readouterr() == ("", "")
    finish(summary(), RunOptions(data=Path("d"), quiet=True, json=True), "again")
    assert capsys.readouterr().out.startswith('{"pages": 12,')


def test_people_get_words(capsys: pytest.CaptureFixture[str]) -> None:
    finish(summary(), RunOptions(data=Path("d")), "again")
    assert capsys.readouterr().out.startswith("Finished: 12 pages")


def test_an_interrupted_crawl_says_how_to_go_on_also_beside_json(
    capsys: pytest.CaptureFixture[str],
) -> None:
    hint = "interrupted; to go on: skitter crawl x\n"
    finish(None, RunOptions(data=Path("d")), "skitter crawl x")
    assert capsys.readouterr() == ("", hint)
    stopped = summary(stopped_by="interrupted", queued=1)
    finish(stopped, RunOptions(data=Path("d"), json=True), "skitter crawl x")
    out, err = capsys.readouterr()
    assert (json.loads(out)["queued"], err) == (1, hint)
    finish(None, QUIET, "skitter crawl x")
    assert capsys.readouterr() == ("", "")


def test_a_crawl_leaves_the_processor_to_whoever_has_it_unless_somebody_chose_otherwise() -> None:
    told = "import os\nfrom skitter.cli.watched import take_long_turns\n"
    for chosen, kept in (("SCHED_OTHER", "SCHED_BATCH"), ("SCHED_IDLE", "SCHED_IDLE")):
        program = (
            f"{told}os.sched_setscheduler(0, os.{chosen}, os.sched_param(0))\n"
            f"take_long_turns()\nassert os.sched_getscheduler(0) == os.{kept}\n"
        )
        subprocess.run([sys.executable, "-c", program], check=True)
