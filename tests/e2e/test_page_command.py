"""``skitter page``: everything known of one page, while a crawl runs and after it."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from crawling import SKITTER, Run, facts, lines_in, summary, wait_until

from skitter.demo.child import DemoProcess
from skitter.demo.model import Target

pytestmark = pytest.mark.e2e

JOB = """
id = "lab"
entries = ["{entry}"]
[polite]
delay = {delay}
per_host = {per_host}
[http]
tries = 1
timeout = 4.0
first_byte_timeout = 4.0
"""


def ask(data: Path, url: str, *flags: str) -> str:
    """Ask about a page by the real command and return what is printed."""
    command = [str(SKITTER), "page", url, "--data", str(data), *flags]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


def lab_run(place: Path, demo: DemoProcess, *, delay: float, per_host: int) -> Run:
    """Return a crawl of the cabinet of odd pages, each asked for once."""
    job, hosts = place / "job.toml", place / "hosts"
    entry = demo.web.url(Target("lab", "/"))
    job.write_text(JOB.format(entry=entry, delay=delay, per_host=per_host))
    hosts.write_text(demo.hosts)
    return Run(place, ["--job", str(job)], ["--hosts", str(hosts), "--allow-private"])


@pytest.fixture(scope="module")
def demo() -> Iterator[DemoProcess]:
    with DemoProcess(pages=200) as process:
        yield process


@pytest.fixture(scope="module")
def finished(demo: DemoProcess, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The state of a crawl that has ended."""
    run = lab_run(tmp_path_factory.mktemp("finished"), demo, delay=0, per_host=8)
    assert summary(run.finish())["queued"] == 0
    return run.data


def lab(demo: DemoProcess, path: str) -> str:
    return demo.web.url(Target("lab", path))


# After a crawl


def test_a_fetched_page_is_shown_with_its_record_in_any_spelling(
    demo: DemoProcess, finished: Path
) -> None:
    found = facts(finished, lab(demo, "/./coding/gzip?utm_source=mail#top"))
    assert (found["job"], found["state"], found["why"]) == ("lab", "done", "was fetched")
    assert found["record"]["url"] == lab(demo, "/coding/gzip")
    assert (found["record"]["outcome"], found["record"]["status"]) == ("ok", 200)


def test_a_person_reads_aligned_lines(demo: DemoProcess, finished: Path) -> None:
    lines = ask(finished, lab(demo, "/coding/gzip")).splitlines()
    named = {line.split()[0]: line for line in lines if line[:1] != " "}
    assert lab(demo, "/coding/gzip") in named["url"]
    assert "was fetched" in named["why"]
    assert "ok" in named["record.outcome"]
    assert len({line.index(value) for line, value in _values(lines)}) == 1


def _values(lines: list[str]) -> Iterator[tuple[str, str]]:
    for line in lines:
        name, _, rest = line.partition(" ")
        if name and rest.strip():
            yield line, rest.strip()


@pytest.mark.parametrize(
    ("path", "state", "words"),
    [
        ("/private/diary", "dead", ["refused", "robots.txt line", "/private/"]),
        ("/missing/1", "dead", ["http_error", "404"]),
        ("/broken/coding", "dead", ["failed", "x-seagull"]),
        ("/redirect/known", "done", ["redirects to", "record of its own"]),
        ("/redirect/one-end", "done", ["redirect"]),
        ("/nobody/links/here", "unknown", ["no fetched page links to it"]),
        ("/private/never-linked", "unknown", ["robots.txt line"]),
    ],
)
def test_a_page_says_what_became_of_it_and_why(
    demo: DemoProcess, finished: Path, path: str, state: str, words: list[str]
) -> None:
    found = facts(finished, lab(demo, path))
    assert found["state"] == state
    assert [word for word in words if word not in found["why"]] == []


def test_a_redirected_page_shows_where_it_led(demo: DemoProcess, finished: Path) -> None:
    record = facts(finished, lab(demo, "/redirect/chain-1"))["record"]
    assert record["final_url"] == lab(demo, "/redirect/chain-end")
    assert record["redirects"] == [lab(demo, f"/redirect/chain-{n}") for n in (1, 2, 3, 4)]


def test_a_page_out_of_scope_says_so(demo: DemoProcess, finished: Path) -> None:
    found = facts(finished, demo.web.url(Target("partner", "/")))
    assert found["state"] == "unknown"
    assert "outside the host scope" in found["why"]
    assert demo.web.host_key("lab") in found["why"]


def test_a_page_of_a_crawl_from_a_seed_list_is_judged_by_the_seeds(
    demo: DemoProcess, tmp_path: Path
) -> None:
    (tmp_path / "hosts").write_text(demo.hosts)
    (tmp_path / "seeds.txt").write_text(demo.web.url(Target("docs", "/")) + "\n")
    reach = ["--hosts", str(tmp_path / "hosts"), "--allow-private", "--delay", "0"]
    run = Run(tmp_path, ["--seeds", str(tmp_path / "seeds.txt")], [*reach, "--pages", "2"])
    summary(run.finish())
    why = facts(run.data, demo.web.url(Target("docs", "/nobody-links-here")))["why"]
    assert "outside" not in why
    assert "no fetched page links to it" in why


# During a crawl


@pytest.fixture(scope="module")
def running(demo: DemoProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The state of a crawl that has fetched its first page and takes its time for the next."""
    run = lab_run(tmp_path_factory.mktemp("running"), demo, delay=1.5, per_host=1)
    process = run.start()
    try:
        wait_until(process, lambda: lines_in(run.out) > 0)
        yield run.data
    finally:
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors


def test_a_running_crawl_knows_what_it_has_fetched(demo: DemoProcess, running: Path) -> None:
    [line] = ask(running, lab(demo, "/"), "--json").splitlines()
    found = json.loads(line)
    assert (found["state"], found["record"]["outcome"]) == ("done", "ok")


def test_a_running_crawl_knows_what_waits_and_whence(demo: DemoProcess, running: Path) -> None:
    found = facts(running, lab(demo, "/untidy/schemes"))
    assert found["state"] == "queued"
    assert (found["depth"], found["referrer"]) == (1, lab(demo, "/"))


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("/nobody/links/here", ["no fetched page links to it"]),
        ("/private/never-linked", ["robots.txt line", "/private/"]),
    ],
)
def test_a_running_crawl_says_why_a_page_was_not_met(
    demo: DemoProcess, running: Path, path: str, words: list[str]
) -> None:
    found = facts(running, lab(demo, path))
    assert found["state"] == "unknown"
    assert [word for word in words if word not in found["why"]] == []


def test_a_running_crawl_knows_its_scope(demo: DemoProcess, running: Path) -> None:
    found = facts(running, demo.web.url(Target("partner", "/")))
    assert "outside the host scope" in found["why"]


def test_a_crawl_that_was_killed_can_be_asked_about_and_goes_on(
    demo: DemoProcess, tmp_path: Path
) -> None:
    run = lab_run(tmp_path, demo, delay=0.1, per_host=1)
    process = run.start()
    wait_until(process, lambda: lines_in(run.out) > 0)
    process.kill()
    process.communicate()
    assert facts(run.data, lab(demo, "/"))["state"] in ("done", "queued")
    pages = len(run.records()) + 2
    assert summary(run.finish("--pages", str(pages)))["pages"] == pages
