"""Endless traps: every real page comes, few others, and what was cut is said and remembered."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from crawling import Record, Run, facts, kill_after, site_run, summary

from skitter.demo.child import DemoProcess
from skitter.demo.model import Target
from skitter.demo.truth import GroundTruth, Plan, ground_truth
from skitter.demo.verify import problems, record_problems

pytestmark = pytest.mark.e2e

CUT = {
    "calendar": "/calendar/2031/02/",
    "path": "/walks/north/south/north/south/north/south/north/",
    "session": "/s/7f3a9c02d4e8b1650a9d3c7e/beds/",
    "facets": "/seeds?size=tall&colour=red&sort=name",
}
"""A page of each trap that a crawl never comes to."""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoProcess]:
    log = tmp_path_factory.mktemp("demo") / "hits"
    with DemoProcess(pages=200, log=log, with_traps=True) as running:
        yield running


@pytest.fixture(scope="module")
def truth(demo: DemoProcess) -> GroundTruth:
    return ground_truth(demo.web, Plan(entries=(Target("maze", "/"),), scope="host"))


def maze(place: Path, demo: DemoProcess, *flags: str) -> Run:
    return site_run(place, demo, ["maze"], "--sitemaps", "no", *flags)


def fetched(truth: GroundTruth, records: list[Record]) -> list[Target]:
    """Return the pages that were fetched, as the demo web names them."""
    found = (truth.web.target_of(r["url"]) for r in records if r["outcome"] != "refused")
    return [target for target in found if target is not None]


def trap_kinds(truth: GroundTruth, records: list[Record]) -> Counter[str]:
    """Return how many fetched pages lie in each trap."""
    kinds = map(truth.web.trap, fetched(truth, records))
    return Counter(kind for kind in kinds if kind is not None)


@pytest.fixture(scope="module")
def told(demo: DemoProcess, tmp_path_factory: pytest.TempPathFactory) -> tuple[Run, str]:
    """A finished crawl, and what it said."""
    run = maze(tmp_path_factory.mktemp("maze"), demo)
    return run, run.told()


def test_the_maze_ends_with_every_real_page_and_few_others(
    demo: DemoProcess, truth: GroundTruth, told: tuple[Run, str]
) -> None:
    records = told[0].records()
    assert problems(truth, records, demo.hits()) == []
    kinds = trap_kinds(truth, records)
    assert kinds.total() <= 0.05 * len(fetched(truth, records)), kinds


def test_the_same_holds_for_many_requests_at_once(
    demo: DemoProcess, truth: GroundTruth, tmp_path: Path
) -> None:
    before = len(demo.hits())
    run = maze(tmp_path, demo, "--per-host", "8")
    assert summary(run.finish())["queued"] == 0
    assert problems(truth, run.records(), demo.hits()[before:]) == []


def test_the_summary_lists_what_was_cut_by_template_with_a_reason(
    demo: DemoProcess, told: tuple[Run, str]
) -> None:
    [start] = [n for n, line in enumerate(told[1].splitlines()) if line.startswith("  traps ")]
    head, *rows = told[1].splitlines()[start:]
    rows = rows[: rows.index("")]
    assert "--no-traps" in head
    templates = [row.split()[1] for row in rows]
    site = demo.web.entry_of("maze").rstrip("/")
    for place in ("/seeds?", "/s/{id}"):
        assert any(one.startswith(site + place) for one in templates), f"{place}: {templates}"
    assert all(int(row.split()[0]) > 0 and row.partition(": ")[2] for row in rows)


@pytest.mark.parametrize("kind", CUT)
def test_a_page_that_was_cut_says_so(demo: DemoProcess, told: tuple[Run, str], kind: str) -> None:
    found = facts(told[0].data, demo.web.url(Target("maze", CUT[kind])))
    assert found["state"] == "unknown"
    assert "trap" in found["why"]


def test_a_real_page_is_not_called_a_trap(demo: DemoProcess, told: tuple[Run, str]) -> None:
    for path in ("/", "/seeds?page=2", "/calendar/2025/05/", "/walks/north/south/"):
        found = facts(told[0].data, demo.web.url(Target("maze", path)))
        assert (found["state"], "trap" in found["why"]) == ("done", False)


def test_without_the_guard_a_crawl_goes_on_for_ever(
    demo: DemoProcess, truth: GroundTruth, tmp_path: Path
) -> None:
    run = maze(tmp_path, demo, "--no-traps", "--per-host", "8", "--pages", "600")
    ended = summary(run.finish())
    assert ended["pages"] == 600
    assert ended["queued"] > 0
    kinds = trap_kinds(truth, run.records())
    assert kinds.total() > 300
    assert {"session", "facets", "calendar"} <= kinds.keys()


def test_what_the_guard_has_cut_stays_cut_after_a_kill(
    demo: DemoProcess, truth: GroundTruth, tmp_path: Path
) -> None:
    run = maze(tmp_path, demo)
    # What may be a trap comes after the real pages.
    summary(run.finish("--pages", str(len(truth.pages) - 3)))
    kill_after(run, 6, "--delay", "0.5")
    known = {kind for kind in CUT if called_trap(run, demo, kind)}
    assert "session" in known, "killed before anything was learned"
    before = trap_kinds(truth, run.records())
    summary(run.finish())
    assert {kind for kind in CUT if called_trap(run, demo, kind)} >= known
    again = trap_kinds(truth, run.records()) - before
    # One request may have been under way.
    assert sum(again[kind] for kind in known) <= 1, (known, again)


def test_a_crawl_killed_half_way_sees_few_trap_pages_too(
    demo: DemoProcess, truth: GroundTruth, tmp_path: Path
) -> None:
    run = maze(tmp_path, demo)
    kill_after(run, len(truth.pages) // 2, "--delay", "0.01")
    # Going on may cost another look at each trap, and no more.
    summary(run.finish("--pages", str(2 * len(truth.pages))))
    assert list(record_problems(truth, run.records())) == []
    kinds = trap_kinds(truth, run.records())
    assert kinds.total() <= 2 * truth.plan.trap_share * len(fetched(truth, run.records())), kinds


def called_trap(run: Run, demo: DemoProcess, kind: str) -> bool:
    return "trap" in facts(run.data, demo.web.url(Target("maze", CUT[kind])))["why"]
