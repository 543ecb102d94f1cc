"""Best first: what the keywords are about comes early, and bad keywords are named."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from crawling import Ended, Run, command, site_run, summary

from skitter.demo.child import DemoProcess
from skitter.demo.model import Target
from skitter.demo.truth import Plan, ground_truth

pytestmark = pytest.mark.e2e

PHRASE = "solar energy"
EARLY = 0.2
PACE = ["--delay", "0.03"]
"""Links count once their page is safe; without any delay a small site is over before that."""


@pytest.fixture(scope="module")
def demo() -> Iterator[DemoProcess]:
    with DemoProcess(pages=200) as running:
        yield running


@pytest.fixture(scope="module")
def relevant(demo: DemoProcess) -> frozenset[str]:
    """The pages that are about the phrase."""
    plan = Plan(entries=(Target("library", "/"),), scope="host")
    return ground_truth(demo.web, plan).relevant(PHRASE)


def crawled(place: Path, demo: DemoProcess, *flags: str) -> list[str]:
    """Crawl the library; return the URLs in the order in which they were fetched."""
    run = site_run(place, demo, ["library"], *flags)
    assert summary(run.finish())["queued"] == 0
    records = sorted(run.records(), key=lambda record: str(record["fetched_at"]))
    return [record["url"] for record in records]


def early_share(urls: list[str], relevant: frozenset[str]) -> float:
    """Return how much of what is relevant is among the first of ``urls``."""
    assert relevant <= set(urls)
    early = urls[: round(len(urls) * EARLY)]
    return len(relevant.intersection(early)) / len(relevant)


def test_the_first_fifth_of_the_fetches_holds_most_of_what_is_relevant(
    demo: DemoProcess, relevant: frozenset[str], tmp_path: Path
) -> None:
    urls = crawled(tmp_path, demo, "--order", "best", "--keywords", PHRASE, *PACE)
    assert early_share(urls, relevant) >= 0.6


def test_breadth_first_meets_what_is_relevant_by_and_by(
    demo: DemoProcess, relevant: frozenset[str], tmp_path: Path
) -> None:
    assert 0.1 <= early_share(crawled(tmp_path, demo), relevant) <= 0.35


def test_keywords_come_from_a_file_too(
    demo: DemoProcess, relevant: frozenset[str], tmp_path: Path
) -> None:
    words = tmp_path / "words.txt"
    words.write_text(f"# what we look for\n{PHRASE}\n\nphotovoltaic\n")
    urls = crawled(tmp_path / "crawl", demo, "--keywords", f"@{words}", *PACE)
    assert early_share(urls, relevant) >= 0.6


def refused(run: Run, *flags: str) -> Ended:
    """Run a command line that is bad input; nothing may be made by it."""
    ended = command(*run.command(*flags)[1:])
    assert ended.code == 2
    assert not run.data.exists()
    assert not run.out.exists()
    return ended


@pytest.mark.parametrize("content", ["énergie".encode("latin-1"), "solar".encode("utf-16")])
def test_a_keyword_file_in_another_encoding_is_named(
    demo: DemoProcess, tmp_path: Path, content: bytes
) -> None:
    words = tmp_path / "wörter.txt"
    words.write_bytes(b"# ok\n" + content)
    ended = refused(site_run(tmp_path, demo, ["library"]), "--keywords", f"@{words}")
    assert str(words) in ended.err
    assert "UTF-8" in ended.err


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--order", "best"], ["best", "keywords"]),
        (["--order", "bfs", "--keywords", PHRASE], ["keywords", "best"]),
        (["--keywords", " , "], ["--keywords", "no keyword"]),
        (["--keywords", "@missing.txt"], ["missing.txt", "cannot be read"]),
    ],
)
def test_an_order_and_keywords_that_do_not_go_together_are_refused(
    demo: DemoProcess, tmp_path: Path, flags: list[str], words: list[str]
) -> None:
    ended = refused(site_run(tmp_path, demo, ["library"]), *flags)
    assert [word for word in words if word not in ended.err] == []
