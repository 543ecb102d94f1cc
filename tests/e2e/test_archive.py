"""A crawl with ``--warc``: read by other people's tools, and back by ``skitter page``."""

import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from crawling import Run, command, command_bytes, demo_run, lines_in, summary, wait_until
from warcio.archiveiterator import ArchiveIterator

from skitter.demo.child import DemoProcess
from skitter.demo.model import Target

pytestmark = pytest.mark.e2e

TOOLS = Path(sys.executable).parent


def served(demo: DemoProcess, url: str) -> bytes:
    """Ask the demo web itself for a page."""
    host, _, path = url.removeprefix("http://").partition("/")
    request = urllib.request.Request(
        f"http://127.0.0.1:{host.rpartition(':')[2]}/{path}", headers={"Host": host}
    )
    with urllib.request.urlopen(request, timeout=60) as answer:
        body: bytes = answer.read()
    return body


@pytest.fixture(scope="module")
def demo() -> Iterator[DemoProcess]:
    with DemoProcess(pages=200) as running:
        yield running


@pytest.fixture(scope="module")
def crawl(demo: DemoProcess, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished crawl of the whole demo web, archived."""
    place = tmp_path_factory.mktemp("archived")
    flags = ["--warc", str(place / "arc"), "--delay", "0", "--per-host", "8", "--timeout", "4"]
    run = demo_run(place, demo, *flags, tries=1)
    summary(run.finish())
    return run


def targets(archive: Path, kind: str) -> Iterator[str]:
    """Yield the URLs of an archive's records of one kind."""
    for path in sorted(archive.glob("*.warc.gz")):
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream):
                if record.rec_type == kind:
                    yield record.rec_headers["WARC-Target-URI"]


def requests_in(archive: Path) -> Iterator[bytes]:
    """Yield the requests of an archive."""
    for path in sorted(archive.glob("*.warc.gz")):
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream, no_record_parse=True):
                if record.rec_type == "request":
                    yield record.raw_stream.read()


def site_run(place: Path, demo: DemoProcess, site: str, *flags: str) -> Run:
    (place / "hosts").write_text(demo.hosts)
    reach = ["--hosts", str(place / "hosts"), "--allow-private", "--warc", str(place / "arc")]
    return Run(place, [demo.web.url(Target(site, "/"))], [*reach, *flags])


@pytest.mark.parametrize("tool", ["warcio", "fastwarc"])
def test_other_tools_find_no_fault_in_the_archive(crawl: Run, tool: str) -> None:
    files = sorted((crawl.directory / "arc").glob("*.warc.gz"))
    assert files
    words = [str(TOOLS / tool), "check", *map(str, files)]
    checked = subprocess.run(words, capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stdout + checked.stderr


def test_every_response_of_the_crawl_is_in_the_archive_once(crawl: Run) -> None:
    arc = crawl.directory / "arc"
    responses = {*targets(arc, "response"), *targets(arc, "revisit")}
    answered = {
        r["final_url"] for r in crawl.records() if r["warc_file"] and r["outcome"] != "duplicate"
    }
    assert answered <= responses
    assert any(url.endswith("/robots.txt") for url in responses)
    assert responses == set(targets(arc, "request"))


def test_pages_with_the_same_body_become_revisits(crawl: Run) -> None:
    twins = [r for r in crawl.records() if r["outcome"] == "ok" and r["duplicate_of"]]
    assert twins
    revisits = set(targets(crawl.directory / "arc", "revisit"))
    assert {twin["final_url"] for twin in twins} & revisits
    twin = next(twin for twin in twins if twin["final_url"] in revisits)
    body = command_bytes("page", twin["url"], "--data", str(crawl.data), "--body")
    assert body == command_bytes("page", twin["duplicate_of"], "--data", str(crawl.data), "--body")
    assert len(body) == twin["bytes"]


def test_a_page_reads_back_as_it_was_served(crawl: Run, demo: DemoProcess) -> None:
    pages = [
        r for r in crawl.records() if r["outcome"] == "ok" and r["bytes"] and not r["redirects"]
    ]
    for record in pages[:5]:
        body = command_bytes("page", record["url"], "--data", str(crawl.data), "--body")
        assert body == served(demo, record["url"])
    head = command_bytes("page", pages[0]["url"], "--data", str(crawl.data), "--headers")
    assert head.startswith(b"HTTP/1.1 200")
    assert head.endswith(b"\r\n\r\n")


def test_a_page_that_was_never_answered_says_so(crawl: Run) -> None:
    refused = next(r for r in crawl.records() if r["outcome"] == "refused")
    ended = command("page", refused["url"], "--data", crawl.data, "--body")
    assert ended.code == 2
    assert "brought no response" in ended.err


def test_bodies_can_be_read_while_the_crawl_runs(tmp_path: Path, demo: DemoProcess) -> None:
    run = site_run(tmp_path, demo, "docs", "--delay", "1")
    process = run.start()
    try:
        wait_until(process, lambda: lines_in(run.out) > 0)
        first = json.loads(run.out.read_bytes().splitlines()[0])
        body = command_bytes("page", first["url"], "--data", str(run.data), "--body")
        assert process.poll() is None, "the crawl ended too early to show anything"
        assert len(body) == first["bytes"]
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)


def test_the_records_can_be_got_from_the_archive_alone(crawl: Run, tmp_path: Path) -> None:
    out = tmp_path / "again.jsonl"
    command_bytes("job", "export", "--warc", str(crawl.directory / "arc"), "--out", str(out))
    again = {r["url"]: r for r in map(json.loads, out.read_bytes().splitlines())}
    held = [r for r in crawl.records() if r["warc_file"]]
    assert held
    for record in held:
        found = again[record["url"]]
        assert (found["title"], found["status"]) == (record["title"], record["status"])


def test_secrets_in_headers_are_not_archived(
    tmp_path: Path, demo: DemoProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DOCS_COOKIE", "session=verysecret")
    job = tmp_path / "job.toml"
    entry = demo.web.url(Target("docs", "/"))
    job.write_text(
        f'id = "docs"\nentries = ["{entry}"]\n[limits]\npages = 3\n[polite]\ndelay = 0.0\n'
        '[http]\nheaders = {Cookie = "env:DOCS_COOKIE", X-Desk = "ports"}\n'
    )
    (tmp_path / "hosts").write_text(demo.hosts)
    run = Run(
        tmp_path,
        ["--job", str(job)],
        ["--hosts", str(tmp_path / "hosts"), "--allow-private", "--warc", str(tmp_path / "arc")],
    )
    summary(run.finish())
    requests = list(requests_in(tmp_path / "arc"))
    assert any(b"X-Desk: (not archived)" in request for request in requests)
    assert any(b"Cookie: (not archived)" in request for request in requests)
    assert any(b"User-Agent: Skitter" in request for request in requests)
    assert not any(b"verysecret" in request for request in requests)
