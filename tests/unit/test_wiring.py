"""A job and options in, a running crawl out: opened, resumed, broken and opened again."""

import asyncio
import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from skitter.config import RunOptions
from skitter.crawl.inspect import ask_running
from skitter.crawl.summary import Summary
from skitter.demo.build import demo_web
from skitter.demo.model import Target
from skitter.demo.server import DemoServer
from skitter.demo.truth import Plan, ground_truth
from skitter.demo.verify import record_problems
from skitter.errors import ConfigError, DataDirError, SinkError, StoreUnavailable
from skitter.frontier.embedded.intake import Intake
from skitter.frontier.model import Ack, Receipt
from skitter.job.spec import Job, check_job
from skitter.pipeline.base import Batch
from skitter.pipeline.jsonl import JsonlSink
from skitter.wiring.crawl import open_crawl

DOCS = Target("docs", "/")


@pytest.fixture
async def server() -> AsyncIterator[DemoServer]:
    async with DemoServer(demo_web(pages=200)) as running:
        yield running


@pytest.fixture
def options(server: DemoServer, tmp_path: Path) -> RunOptions:
    hosts = tmp_path / "hosts"
    hosts.write_text(server.hosts_file())
    return RunOptions(
        data=tmp_path / "state",
        out=(tmp_path / "pages.jsonl",),
        hosts=hosts,
        allow_private=True,
        concurrency=4,
    )


def docs_job(server: DemoServer, **fields: Any) -> Job:
    data = {
        "id": "docs",
        "entries": [server.web.url(DOCS)],
        "polite": {"delay": 0.0, "per_host": 4},
        **fields,
    }
    return check_job(data, "test job")


async def crawl(job: Job, options: RunOptions, seeds: Iterator[str] | None = None) -> Summary:
    async with open_crawl(job, options, seeds) as opened:
        return await opened.run()


def records(options: RunOptions) -> list[dict[str, Any]]:
    return [json.loads(line) for line in options.out[0].read_bytes().splitlines()]


def assert_complete(server: DemoServer, options: RunOptions) -> None:
    """Check the results against the facts the web was made from."""
    truth = ground_truth(server.web, Plan(entries=(DOCS,), scope="host"))
    assert list(record_problems(truth, records(options))) == []


async def test_a_crawl_ends_with_a_summary_that_agrees_with_its_results(
    server: DemoServer, options: RunOptions
) -> None:
    summary = await crawl(docs_job(server), options)
    assert_complete(server, options)
    assert (summary.stopped_by, summary.queued, summary.hosts) == ("finished", 0, 1)
    assert summary.pages == len(records(options))
    assert sum(summary.status_codes.values()) == sum(
        record["status"] is not None for record in records(options)
    )


async def test_runs_of_a_few_pages_each_add_up_to_the_whole_crawl(
    server: DemoServer, options: RunOptions
) -> None:
    for limit in (3, 4):
        job = docs_job(server, limits={"pages": limit})
        summary = await crawl(job, options)
        assert (summary.pages, summary.stopped_by) == (limit, "pages limit")
    summary = await crawl(docs_job(server), options)
    assert summary.pages == len(records(options))
    assert_complete(server, options)
    robots = [hit for hit in server.log if hit.path == "/robots.txt"]
    assert len(robots) == 1, "the rules are kept between runs"


async def test_only_a_job_that_was_finished_when_a_run_began_was_finished_before(
    server: DemoServer, options: RunOptions
) -> None:
    """Whoever fetched the pages: here a worker process has them all."""
    async with open_crawl(docs_job(server), replace(options, workers=1)) as opened:

        async def watch() -> None:
            async with asyncio.timeout(60):
                while opened.stats.queued or not opened.stats.pages:
                    await asyncio.sleep(0.02)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(opened.engine, "run", watch)
            summary = await opened.run()
    assert_complete(server, options)
    assert (summary.stopped_by, summary.finished_before) == ("finished", False)
    assert summary.pages == len(records(options))
    again = await crawl(docs_job(server), options)
    assert (again.pages, again.finished_before) == (summary.pages, True)
    more = await crawl(docs_job(server), options, iter([server.web.url(Target("shop", "/"))]))
    assert (more.pages > summary.pages, more.finished_before) == (True, False)


async def test_a_start_that_failed_is_tried_again_and_was_not_finished_before(
    server: DemoServer, options: RunOptions
) -> None:
    job = docs_job(server, entries=[server.web.url(Target("docs", "/nothing-here"))])
    for pages in (1, 2):
        summary = await crawl(job, options)
        assert (summary.ok, summary.pages, summary.finished_before) == (0, pages, False)


async def test_starting_over_forgets_state_and_results(
    server: DemoServer, options: RunOptions
) -> None:
    job = docs_job(server, limits={"pages": 2})
    await crawl(job, options)
    fresh = RunOptions(
        data=options.data, out=options.out, hosts=options.hosts, allow_private=True, fresh=True
    )
    summary = await crawl(docs_job(server, limits={"pages": 1}), fresh)
    assert summary.pages == len(records(options)) == 1


async def test_a_crawl_without_results_keeps_only_its_state(
    server: DemoServer, options: RunOptions
) -> None:
    bare = RunOptions(data=options.data, hosts=options.hosts, allow_private=True)
    summary = await crawl(docs_job(server, limits={"pages": 2}), bare)
    assert (summary.pages, summary.out) == (2, ())


# When the very first records are on their way


@pytest.mark.parametrize("fault", ["store", "sink"])
async def test_a_crawl_that_broke_at_its_first_record_goes_on(
    server: DemoServer, options: RunOptions, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    """As when the process is killed, or the disk fills up, between a record and its ack."""
    write, acked = JsonlSink.write, Intake.ack

    def ack(self: Intake, acks: Sequence[Ack], marks: Mapping[str, bytes]) -> Receipt:
        if acks:
            raise StoreUnavailable("the frontier's disk cannot be written")
        return acked(self, acks, marks)

    async def torn(self: JsonlSink, batch: Batch) -> bytes:
        await write(self, Batch(None, [b"".join(batch.lines)[:-10]]))
        raise SinkError("pages.jsonl: cannot be written (No space left on device)")

    job = docs_job(server)
    with monkeypatch.context() as patch:
        if fault == "store":
            patch.setattr(Intake, "ack", ack)
        else:
            patch.setattr(JsonlSink, "write", torn)
        with pytest.raises((StoreUnavailable, SinkError)):
            await crawl(job, options)
    assert options.out[0].stat().st_size > 0
    await crawl(job, options)
    assert_complete(server, options)


# Seeds


async def test_seeds_beside_entries_are_crawled_too(
    server: DemoServer, options: RunOptions
) -> None:
    shop = server.web.url(Target("shop", "/"))
    summary = await crawl(docs_job(server, depth=0), options, iter([shop]))
    assert summary.pages == 2
    assert {record["url"] for record in records(options)} == {server.web.url(DOCS), shop}


async def test_pages_queued_by_an_earlier_run_are_judged_by_its_seeds(
    server: DemoServer, options: RunOptions
) -> None:
    """A resumed crawl may fetch long before its seed list has been read again."""
    docs = server.web.url(DOCS)
    await crawl(docs_job(server, entries=[], limits={"pages": 1}), options, iter([docs]))
    asked, read_on = len(server.log), threading.Event()

    def slow() -> Iterator[str]:
        assert read_on.wait(30)
        yield docs

    async def let_seeds_come() -> None:
        for _ in range(200):
            if len(server.log) > asked + 5:
                break
            await asyncio.sleep(0.01)
        read_on.set()

    async with asyncio.TaskGroup() as group:
        group.create_task(let_seeds_come())
        await crawl(docs_job(server, entries=[]), options, slow())
    assert_complete(server, options)


# Opening and closing


async def test_a_running_crawl_can_be_asked_and_an_ended_one_not(
    server: DemoServer, options: RunOptions
) -> None:
    async with open_crawl(docs_job(server), options) as opened:
        await opened.run()
        question = {"page": server.web.url(DOCS)}
        [found] = [json.loads(line) async for line in ask_running(options.data, question)]
        assert found["state"] == "done"
    assert [line async for line in ask_running(options.data, question)] == []


def a_bad_hosts_file(options: RunOptions) -> None:
    assert options.hosts is not None
    options.hosts.write_text("not-an-address a.test\n")


def a_foreign_file(options: RunOptions) -> None:
    options.out[0].write_text("mine\n")


@pytest.mark.parametrize("mishap", [a_bad_hosts_file, a_foreign_file])
async def test_a_crawl_that_could_not_be_opened_holds_nothing(
    server: DemoServer, options: RunOptions, mishap: Callable[[RunOptions], None]
) -> None:
    mishap(options)
    with pytest.raises(ConfigError):
        await crawl(docs_job(server), options)
    assert options.hosts is not None
    options.out[0].unlink(missing_ok=True)
    options.hosts.write_text(server.hosts_file())
    assert (await crawl(docs_job(server, limits={"pages": 1}), options)).pages == 1


async def test_a_header_nobody_has_set_is_named(server: DemoServer, options: RunOptions) -> None:
    job = docs_job(server, http={"headers": {"Cookie": "env:NOBODY_SET_THIS"}})
    with pytest.raises(ConfigError, match="NOBODY_SET_THIS"):
        await crawl(job, options)
    assert server.log == []


async def test_another_job_in_the_same_place_is_refused(
    server: DemoServer, options: RunOptions
) -> None:
    await crawl(docs_job(server, limits={"pages": 1}), options)
    with pytest.raises(DataDirError, match="'docs', not 'other'"):
        await crawl(docs_job(server, id="other"), options)
    with pytest.raises(DataDirError, match="depth"):
        await crawl(docs_job(server, depth=3), options)
    assert (await crawl(docs_job(server, limits={"pages": 2}), options)).pages == 2


async def test_a_crawl_that_is_stopped_ends_and_says_so(
    server: DemoServer, options: RunOptions
) -> None:
    async with open_crawl(docs_job(server), options) as opened:
        opened.stop()
        summary = await opened.run()
    assert (summary.stopped_by, summary.pages) == ("interrupted", 0)
    await crawl(docs_job(server), options)
    assert_complete(server, options)


@pytest.mark.parametrize("after", [1, 5, 20])
async def test_a_crawl_that_is_aborted_at_any_moment_loses_nothing(
    server: DemoServer, options: RunOptions, after: int
) -> None:
    async with open_crawl(docs_job(server), options) as opened:
        running = asyncio.create_task(opened.run())
        while len(server.log) < after and not running.done():
            await asyncio.sleep(0)
        opened.stop()
        opened.abort()
        assert (await running).stopped_by in ("interrupted", "finished")
    await crawl(docs_job(server), options)
    assert_complete(server, options)
