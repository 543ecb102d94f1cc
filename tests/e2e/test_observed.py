"""What every kind of process tells those who watch: events and counts are in the store after it."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from clusters import Background, ManyHosts, node
from crawling import command, summary
from stores import members_in, own_store

from skitter.frontier.embedded.frontier import EmbeddedFrontier
from skitter.frontier.redis.address import StoreAddress
from skitter.frontier.redis.frontier import RedisFrontier
from skitter.frontier.redis.nodes import Nodes

pytestmark = pytest.mark.e2e

FAR = 1 << 60
PAGES = 4 + 4 * 6 + 1


@pytest.fixture(scope="module")
def site() -> Iterator[ManyHosts]:
    with ManyHosts(4, 6) as made:
        yield made


async def _read(reader: Any) -> tuple[list[dict[str, Any]], dict[str, int]]:
    events = [json.loads(event) for _, event in await reader.events("", 10_000)]
    series = await reader.series("", "day", 0, FAR)
    series |= await reader.series("pages|host=", "day", 0, FAR)
    return events, {name: sum(steps.values()) for name, steps in series.items()}


async def _read_directory(data: Path) -> tuple[list[dict[str, Any]], dict[str, int]]:
    store = EmbeddedFrontier(data / "frontier")
    await store.open()
    try:
        return await _read(store)
    finally:
        await store.close()


async def _read_redis(url: str) -> tuple[list[dict[str, Any]], dict[str, int]]:
    nodes = Nodes(StoreAddress.parse(url))
    await nodes.open(to_read=True)
    store = RedisFrontier(nodes)
    try:
        assert await store.open_to_read()
        return await _read(store)
    finally:
        await store.close()
        await nodes.close()


def check(events: list[dict[str, Any]], counts: dict[str, int], nodes: int = 1) -> None:
    """Check that every page was told and counted once, whoever fetched it."""
    pages = Counter(event["url"] for event in events if event["type"] == "page")
    assert len(pages) == PAGES
    assert set(pages.values()) == {1}
    [job] = {event["job"] for event in events}
    assert counts["pages"] == counts[f"pages|job={job}"] == counts["ok"] == PAGES
    assert counts["status:200"] == PAGES
    assert counts["module:fetch"] >= PAGES
    assert counts["module:robots"] >= 4
    by_node = {name: n for name, n in counts.items() if name.startswith("pages|node=")}
    assert sum(by_node.values()) == PAGES
    assert len(by_node) >= nodes
    assert sum(n for name, n in counts.items() if name.startswith("pages|host=")) == PAGES


def job_words(events: list[dict[str, Any]]) -> list[str]:
    return [event["message"] for event in events if event["type"] == "job"]


def test_a_crawl_of_one_process(site: ManyHosts, tmp_path: Path) -> None:
    run = site.run(tmp_path)
    assert summary(run.finish())["pages"] == PAGES
    events, counts = asyncio.run(_read_directory(run.data))
    check(events, counts)
    assert job_words(events) == ["started", "finished"]


def test_a_crawl_with_workers(site: ManyHosts, tmp_path: Path) -> None:
    run = site.run(tmp_path, "--workers", "1")
    assert summary(run.finish())["pages"] == PAGES
    events, counts = asyncio.run(_read_directory(run.data))
    check(events, counts)
    assert job_words(events) == ["started", "finished"]


def test_a_crawl_on_redis_with_a_node(site: ManyHosts, tmp_path: Path) -> None:
    url = own_store()
    run = site.run(tmp_path / "crawl", "--store", url)
    with node(tmp_path / "node", run, "--store", url, "--workers", "1") as helping:
        helping.until("a member", lambda: members_in(url) > 0)
        assert summary(run.finish())["pages"] == PAGES
        assert helping.interrupted() == 130
    events, counts = asyncio.run(_read_redis(url))
    check(events, counts)
    assert "finished" in job_words(events)


def test_a_limit_of_pages_that_nodes_come_to_is_told_once(site: ManyHosts, tmp_path: Path) -> None:
    url = own_store()
    hosts, job = tmp_path / "hosts", tmp_path / "many.json"
    hosts.write_text(site.hosts_file)
    wanted = {"entries": [site.entry], "scope": "domain", "sitemaps": "no", "limits": {"pages": 9}}
    job.write_text(json.dumps({"id": "many", "polite": {"delay": 0}, **wanted}))
    assert command("job", "add", job, "--store", url).code == 0
    words = ("node", "--store", url, "--allow-private", "--hosts", hosts, "--workers", "1")

    def told() -> list[str]:
        return job_words(asyncio.run(_read_redis(url))[0])

    with ExitStack() as stack:
        nodes = [
            stack.enter_context(Background(tmp_path, *words, "--data", tmp_path / name))
            for name in ("one", "two")
        ]
        nodes[0].until("its end", lambda: len(told()) > 1)
        for one in nodes:
            assert one.interrupted() == 130
    assert told() == ["added", "stopped: pages limit"]


def test_a_master_and_its_worker(site: ManyHosts, tmp_path: Path) -> None:
    data, hosts, job = tmp_path / "state", tmp_path / "hosts", tmp_path / "many.json"
    hosts.write_text(site.hosts_file)
    wanted = {"entries": [site.entry], "scope": "domain", "sitemaps": "no"}
    job.write_text(json.dumps({"id": "many", "polite": {"delay": 0}, **wanted}))
    words = ("--port", "0", "--allow-private", "--hosts", hosts, "--workers", "1")
    with ExitStack() as stack:
        up = stack.enter_context(Background(tmp_path, "up", "--data", data, *words))
        up.until_told("listening on ")
        assert command("job", "add", job, "--data", data).code == 0
        assert command("job", "pause", "many", "--data", data).code == 0
        assert command("job", "resume", "many", "--data", data).code == 0

        def finished() -> bool:
            shown = command("job", "show", "many", "--data", data, "--json")
            return bool(json.loads(shown.out)["pages"] == PAGES)

        up.until("all pages", finished)
        assert command("job", "cancel", "many", "--data", data).code == 0
        assert up.interrupted() == 130
    events, counts = asyncio.run(_read_directory(data))
    check(events, counts)
    told = job_words(events)
    assert told[:3] == ["added", "paused", "resumed"]
    assert "cancelled" in told
