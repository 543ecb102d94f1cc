"""A crawl with a Bloom filter for known URLs: the same pages, kill or no kill."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from crawling import Record, Run, facts, kill_after, refusal, site_run, summary

from skitter.demo.child import DemoProcess
from skitter.demo.model import Target
from skitter.demo.truth import GroundTruth, Plan, ground_truth
from skitter.demo.verify import record_problems

pytestmark = pytest.mark.e2e

SITES = ["news", "shop", "docs", "library", "gazette"]
BLOOM = ["--seen", "bloom", "--expected", "10000"]
KILLS = 4


@pytest.fixture(scope="module")
def demo() -> Iterator[DemoProcess]:
    with DemoProcess(pages=300) as running:
        yield running


@pytest.fixture(scope="module")
def truth(demo: DemoProcess) -> GroundTruth:
    entries = tuple(Target(site, "/") for site in SITES)
    return ground_truth(demo.web, Plan(entries=entries, scope="host", sitemaps="auto"))


@pytest.fixture(scope="module")
def killed(demo: DemoProcess, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A crawl with a Bloom filter, killed a few times before it ended."""
    rng = random.Random(5)
    run = site_run(tmp_path_factory.mktemp("bloom"), demo, SITES, *BLOOM, "--per-host", "2")
    for _ in range(KILLS):
        kill_after(run, rng.randrange(1, 40), "--delay", "0.02")
    assert summary(run.finish())["queued"] == 0
    return run


def test_a_bloom_filter_of_fitting_size_loses_no_page(
    demo: DemoProcess, truth: GroundTruth, tmp_path: Path
) -> None:
    found = []
    for name, flags in (("exact", []), ("bloom", BLOOM)):
        run = site_run(tmp_path / name, demo, SITES, *flags, "--per-host", "4")
        assert summary(run.finish())["queued"] == 0
        assert list(record_problems(truth, run.records())) == []
        found.append(kept(run.records()))
    assert found[0] == found[1]


def kept(records: list[Record]) -> set[str]:
    """Return the pages that were kept, whichever of several redirects has led there."""
    return {record["final_url"] for record in records if record["outcome"] in {"ok", "noindex"}}


def test_kills_lose_nothing_and_repeat_nothing(truth: GroundTruth, killed: Run) -> None:
    assert list(record_problems(truth, killed.records())) == []


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--expected", "20000"], ["10,000", "20,000", "--fresh"]),
        (["--seen", "exact", "--expected", "10000000"], ["bloom", "exact", "--fresh"]),
    ],
)
def test_another_way_to_remember_is_refused_and_nothing_is_lost(
    killed: Run, flags: list[str], words: list[str]
) -> None:
    before = killed.out.read_bytes()
    said = refusal(killed, *flags)
    assert [word for word in words if word not in said] == []
    assert killed.out.read_bytes() == before
    record = killed.records()[-1]
    assert facts(killed.data, record["url"])["record"] == record


@pytest.mark.parametrize("damage", [b"", b"something else", b"skitter bloom\r\n\0" + bytes(9000)])
def test_a_filter_file_of_another_size_is_named_and_left_alone(killed: Run, damage: bytes) -> None:
    [file] = killed.data.rglob("*.bloom")
    whole = file.read_bytes()
    file.write_bytes(damage)
    try:
        said = refusal(killed)
        assert file.read_bytes() == damage
    finally:
        file.write_bytes(whole)
    assert file.name in said


def test_an_exact_crawl_cannot_go_on_with_a_bloom_filter(demo: DemoProcess, tmp_path: Path) -> None:
    run = site_run(tmp_path, demo, ["docs"])
    summary(run.finish("--pages", "3"))
    said = refusal(run, *BLOOM)
    assert "exact" in said
    assert "bloom" in said
    assert summary(run.finish("--pages", "6"))["pages"] == 6


def test_the_page_command_knows_the_pages(demo: DemoProcess, killed: Run) -> None:
    record = next(record for record in killed.records() if record["outcome"] == "ok")
    found = facts(killed.data, record["url"])
    assert (found["state"], found["record"]["title"]) == ("done", record["title"])
    missing = facts(killed.data, demo.web.url(Target("docs", "/nobody-links-here")))
    assert missing["state"] == "unknown"
