"""Metrics of a real service, and the dashboard that is made of them."""

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from service import Served, served

from skitter.api.metrics.table import SHAPES

ROOT = Path(__file__).resolve().parents[4]
NAME = re.compile(r"skitter_[a-z]+(_[a-z]+)+")
CLOSED = {"outcome", "status", "kind", "module", "state", "le"}
LIBRARY = {"process_cpu_seconds_total", "process_resident_memory_bytes"}


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path / "state") as found:
        yield found


async def metrics(here: Served) -> dict[tuple[str, str], float]:
    """Return every number by the name of its metric and the value of its label."""
    answer = await here.http.get("/metrics")
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/plain; version=")
    found = {}
    for family in text_string_to_metric_families(answer.text):
        for sample in family.samples:
            assert set(sample.labels) <= CLOSED
            found[sample.name, "".join(sample.labels.values())] = sample.value
    return found


async def test_what_the_store_counts_is_measured(here: Served) -> None:
    store = here.service.store
    counts = {"ok": 5, "failed": 1, "bytes": 900, "status:200": 5, "module:fetch": 6}
    more = {"pages|kind=news": 6, "elapsed_ms": 1_500, "media": 2, "pages|host=a.example": 6}
    await store.frontier.count({**counts, **more}, store.clock.now_ms())
    found = await metrics(here)
    assert found["skitter_crawl_pages_total", "ok"] == 5
    assert found["skitter_crawl_pages_total", "refused"] == 0
    assert found["skitter_crawl_kind_pages_total", "news"] == 6
    assert found["skitter_crawl_body_bytes_total", ""] == 900
    assert found["skitter_fetch_answers_total", "200"] == 5
    assert found["skitter_fetch_waited_seconds_total", ""] == 1.5
    assert found["skitter_modules_calls_total", "fetch"] == 6
    assert found["skitter_frontier_store_up", ""] == 1
    assert found["skitter_crawl_jobs_count", "running"] == 0


async def test_requests_are_counted_and_timed(here: Served) -> None:
    assert (await here.http.get("/v1/jobs")).status_code == 200
    assert (await here.http.get("/v1/nothing")).status_code == 404
    found = await metrics(here)
    assert found["skitter_api_requests_total", "200"] == 1
    assert found["skitter_api_requests_total", "404"] == 1
    assert found["skitter_api_request_seconds_count", ""] == 2


async def test_every_metric_of_the_table_is_there_and_named_by_the_rule(here: Served) -> None:
    text = (await here.http.get("/metrics")).text
    for shape in SHAPES:
        assert NAME.fullmatch(shape.name)
        assert f"# TYPE {shape.name} " in text


async def test_strangers_see_no_metrics(here: Served) -> None:
    async with here.client() as stranger, here.client("reader") as reader:
        assert (await stranger.get("/metrics")).status_code == 401
        assert (await reader.get("/metrics")).status_code == 200


def test_every_metric_of_the_dashboard_exists() -> None:
    board = json.loads((ROOT / "ops" / "grafana.json").read_text())
    queries = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    known = {shape.name for shape in SHAPES} | LIBRARY
    named = set()
    for query in queries:
        for name in re.findall(r"\b(?:skitter|process)_[a-z_]+", query):
            named.add(re.sub(r"_(bucket|count|sum)$", "", name) if name not in known else name)
    assert named <= known
    assert {shape.name for shape in SHAPES} <= named
    labels = {
        label
        for q in queries
        for group in re.findall(r"by \((.*?)\)", q)
        for label in group.split(", ")
    }
    assert labels <= CLOSED


def test_the_dashboard_has_no_panel_over_another() -> None:
    board = json.loads((ROOT / "ops" / "grafana.json").read_text())
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        at = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(at["x"], at["x"] + at["w"])
            for y in range(at["y"], at["y"] + at["h"])
        }
        assert not cells & taken
        assert at["x"] + at["w"] <= 24
        taken |= cells
