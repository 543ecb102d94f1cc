"""Limits of time and size, what is not worth a request, and a machine with few files to open."""

import resource
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from crawling import Record, Run, site_run, summary
from serving import Answer, SmallSite

from skitter.demo.child import DemoProcess
from skitter.demo.model import Target
from skitter.demo.truth import Plan, ground_truth
from skitter.demo.verify import record_problems

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def demo() -> Iterator[DemoProcess]:
    with DemoProcess(pages=200) as running:
        yield running


def test_a_run_ends_when_its_time_is_up_and_the_next_goes_on(
    demo: DemoProcess, tmp_path: Path
) -> None:
    run = site_run(tmp_path, demo, ["library"], "--delay", "0.2")
    said = run.told("--time", "3")
    assert "time limit" in said
    partial = run.records()
    ended = summary(run.finish("--delay", "0"))
    assert 0 < len(partial) < ended["pages"]
    assert run.records()[: len(partial)] == partial
    truth = ground_truth(demo.web, Plan(entries=(Target("library", "/"),), scope="host"))
    assert list(record_problems(truth, run.records())) == []


def test_a_crawl_ends_when_it_has_its_bytes(demo: DemoProcess, tmp_path: Path) -> None:
    run = site_run(tmp_path, demo, ["library"], "--total-bytes", "60000")
    assert "bytes limit" in run.told()
    sizes = [record["bytes"] for record in run.records()]
    assert sum(sizes) >= 60_000
    # What is asked for while the last records are made safe comes on top.
    assert sum(sizes) < 60_000 + 64 * max(sizes)
    assert "Finished before" not in run.told("--total-bytes", "80000")
    assert sum(record["bytes"] for record in run.records()) >= 80_000


PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(64)) * 40
PDF_SCRIPT = "/report.php"
UNNAMED = {
    "/typed": Answer(b"<title>T</title>", "text/html"),
    "/page.html": Answer(b"<title>T</title><p>by its suffix", None),
    "/notes.txt": Answer(b"plain words", None),
    "/table.csv": Answer(b"a,b\n1,2\n", None),
    "/sniffed": Answer(b"<!doctype html><title>T</title><a href=/deeper>on</a>", None),
    "/deeper": Answer(b"<html><title>T</title>", None),
    "/binary": Answer(PNG, None),
    "/words": Answer(b"just some words", None),
    PDF_SCRIPT: Answer(b"%PDF-1.7 " + PNG, None),
}
KEPT = {"/", "/typed", "/page.html", "/notes.txt", "/sniffed", "/deeper", "/words"}
REFUSED = {"/table.csv", "/binary"}
SKIPPED = ["/photo.jpg", "/film.mp4", "/report.pdf", "/style.css", "/PACKED.ZIP?v=2"]


@pytest.fixture(scope="module")
def unnamed() -> Iterator[SmallSite]:
    """A site that says little about what it sends."""
    links = [path for path in (*UNNAMED, *SKIPPED) if path != "/deeper"]
    home = "".join(f"<a href='{path}'>x</a>" for path in links)
    with SmallSite({"/": home, **UNNAMED}) as site:
        yield site


def by_path(run: Run, site: SmallSite) -> dict[str, Record]:
    home = site.url("/")
    return {"/" + record["url"].removeprefix(home): record for record in run.records()}


@pytest.fixture(scope="module")
def judged(
    unnamed: SmallSite, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Record], list[str]]:
    """A finished crawl: records by path, and what was asked for."""
    run = unnamed.run(tmp_path_factory.mktemp("judged"))
    before = len(unnamed.asked)
    summary(run.finish())
    return by_path(run, unnamed), unnamed.asked[before:]


def test_a_page_without_a_media_type_is_judged_by_suffix_and_first_bytes(
    judged: tuple[dict[str, Record], list[str]],
) -> None:
    outcomes = {path: record["outcome"] for path, record in judged[0].items()}
    assert {path: outcomes[path] for path in KEPT} == dict.fromkeys(KEPT, "ok")
    assert {path: outcomes[path] for path in REFUSED} == dict.fromkeys(REFUSED, "skipped")
    assert judged[0]["/sniffed"]["title"] == "T"


def test_what_a_script_sends_without_a_media_type_is_judged_by_its_first_bytes(
    judged: tuple[dict[str, Record], list[str]],
) -> None:
    assert judged[0][PDF_SCRIPT]["outcome"] == "skipped"


def test_what_its_suffix_gives_away_is_not_asked_for(
    judged: tuple[dict[str, Record], list[str]],
) -> None:
    assert not set(SKIPPED) & set(judged[1])
    assert set(judged[1]) >= KEPT


def test_a_job_names_the_suffixes_it_skips(unnamed: SmallSite, tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text(
        f'id = "own"\nentries = ["{unnamed.url()}"]\n[polite]\ndelay = 0.0\n'
        '[http]\nskip_suffixes = ["csv", ".TXT"]\n'
    )
    before = len(unnamed.asked)
    summary(Run(tmp_path, ["--job", str(job)], ["--allow-private"]).finish())
    asked = set(unnamed.asked[before:])
    assert not asked & {"/table.csv", "/notes.txt"}
    assert set(SKIPPED) <= asked


def test_a_page_beyond_the_size_limit_is_not_kept_whole(tmp_path: Path) -> None:
    pieces = [b"<p>word</p>" * 1_000] * 40
    pages: dict[str, Answer | str] = {
        "/": "<a href=/long>x</a><a href=/endless>x</a><a href=/short>x</a>",
        "/long": Answer(b"".join(pieces)),
        "/endless": Answer(pieces),
        "/short": Answer(b"<p>short</p>"),
    }
    with SmallSite(pages) as site:
        run = site.run(tmp_path, "/", "--max-bytes", "50000")
        summary(run.finish())
    found = by_path(run, site)
    assert found["/short"]["outcome"] == "ok"
    for path in ("/long", "/endless"):
        record = found[path]
        assert record["truncated"] or record["outcome"] == "failed", record
        assert (record["bytes"] or 0) <= 50_000
        assert site.asked.count(path) == 1


def test_few_file_descriptors_slow_a_crawl_down_and_lose_no_page(
    demo: DemoProcess, tmp_path: Path
) -> None:
    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))

    sites = ["news", "shop", "docs", "library"]
    run = site_run(tmp_path, demo, sites, "--concurrency", "200", "--per-host", "50")
    done = subprocess.run(
        run.command(), capture_output=True, text=True, timeout=120, check=False, preexec_fn=few
    )
    assert summary(done)["queued"] == 0
    entries = tuple(Target(site, "/") for site in sites)
    truth = ground_truth(demo.web, Plan(entries=entries, scope="host", sitemaps="auto"))
    assert list(record_problems(truth, run.records())) == []
