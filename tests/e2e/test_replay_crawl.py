"""A crawl with ``--warc`` is shown by a replay tool as it was served."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from archiving import warcs_in
from crawling import Record, site_run, summary
from replaying import Replay, install
from warcio.archiveiterator import ArchiveIterator

from skitter.demo.child import DemoProcess

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def demo() -> Iterator[DemoProcess]:
    with DemoProcess(pages=200) as running:
        yield running


@pytest.fixture(scope="module")
def shown(
    demo: DemoProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Replay, dict[str, Record], Path]]:
    """The replay tool with the archive of a crawl; the crawl's records by URL; the archive."""
    install()
    place, work = tmp_path_factory.mktemp("crawl"), tmp_path_factory.mktemp("pywb")
    archive = place / "arc"
    run = site_run(
        place, demo, ["www", "news", "shop", "gazette"], "--per-host", "4", "--warc", str(archive)
    )
    assert summary(run.finish())["queued"] == 0
    with Replay(archive, work) as replay:
        yield replay, {record["url"]: record for record in run.records()}, archive


def revisits(archive: Path) -> dict[str, str]:
    """Return the URLs of revisit records, and what each of them refers to."""
    found = {}
    for path in warcs_in(archive):
        with path.open("rb") as stream:
            for record in ArchiveIterator(stream):
                head = record.rec_headers
                if record.rec_type == "revisit":
                    found[head["WARC-Target-URI"]] = head["WARC-Refers-To-Target-URI"]
    return found


def test_the_home_of_the_demo_web_is_shown_with_links_that_lead_on(
    demo: DemoProcess, shown: tuple[Replay, dict[str, Record], Path]
) -> None:
    replay, records, _ = shown
    home = demo.web.entry
    page = replay.get(f"mp_/{home}")
    assert page.status == 200
    assert str(records[home]["title"]).encode() in page.body
    links = re.findall(rb'href="[^"]*/c/mp_/(http://news[^"]+)"', page.body)
    assert links, "no link leads to the archived news"
    onward = links[0].decode()
    followed = replay.get(f"mp_/{onward}")
    assert followed.status == 200
    assert str(records[onward]["title"]).encode() in followed.body


def test_pages_are_shown_byte_by_byte(shown: tuple[Replay, dict[str, Record], Path]) -> None:
    replay, records, _ = shown
    pages = [r for r in records.values() if r["outcome"] == "ok" and not r["redirects"]]
    for record in pages[:: len(pages) // 8]:
        page = replay.get(f"id_/{record['url']}")
        assert (page.status, len(page.body)) == (200, record["bytes"]), record["url"]


def test_a_page_archived_as_a_revisit_shows_the_body_of_its_original(
    shown: tuple[Replay, dict[str, Record], Path],
) -> None:
    replay, records, archive = shown
    pages = {url for url, record in records.items() if record["outcome"] == "ok"}
    [(url, original)] = ((u, of) for u, of in revisits(archive).items() if u in pages)
    assert records[url]["duplicate_of"] == original
    page = replay.get(f"id_/{url}")
    assert page.status == 200
    assert len(page.body) == records[url]["bytes"]
    assert page.body == replay.get(f"id_/{original}").body


def test_a_redirect_and_a_missing_page_are_shown_as_such(
    shown: tuple[Replay, dict[str, Record], Path],
) -> None:
    replay, records, _ = shown
    moved = next(r for r in records.values() if r["outcome"] == "duplicate")
    answer = replay.get(f"mp_/{moved['url']}")
    assert 300 < answer.status < 309
    # It may have been fetched under another spelling before.
    assert answer.location.endswith(moved["duplicate_of"].partition("?")[0])
    gone = next(r for r in records.values() if r["status"] == 404)
    assert replay.get(f"id_/{gone['url']}").status == 404
