"""``skitter job export``: the records of a crawl in any format, and seeds for the next one."""

import json
import signal
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from crawling import Run, command, lines_in, site_run, summary, wait_until
from outputs import READERS, read_jsonl, read_output

from skitter.demo.child import DemoProcess
from skitter.pipeline.record import PageRecord

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def demo() -> Iterator[DemoProcess]:
    with DemoProcess(pages=200) as running:
        yield running


@pytest.fixture(scope="module")
def crawl(demo: DemoProcess, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished crawl of two sites."""
    run = site_run(tmp_path_factory.mktemp("crawl"), demo, ["gazette", "docs"], "--per-host", "4")
    assert summary(run.finish())["queued"] == 0
    return run


def by_url(records: list[PageRecord]) -> dict[str, PageRecord]:
    found = {record.url: record for record in records}
    assert len(found) == len(records)
    return found


@pytest.mark.parametrize("ending", READERS)
def test_an_export_equals_the_output_of_the_crawl(crawl: Run, tmp_path: Path, ending: str) -> None:
    out = tmp_path / f"export{ending}"
    ended = command("job", "export", "--data", crawl.data, "--out", out)
    assert ended.code == 0, ended.err
    assert by_url(read_output(out)) == by_url(read_jsonl(crawl.out))
    assert [path.name for path in tmp_path.iterdir()] == [out.name]


def test_without_a_file_records_go_to_standard_output(crawl: Run) -> None:
    ended = command("job", "export", "--data", crawl.data)
    found = [json.loads(line) for line in ended.out.splitlines()]
    assert sorted(found, key=str) == sorted(crawl.records(), key=str)


def test_a_file_that_exists_is_replaced_only_by_force(crawl: Run, tmp_path: Path) -> None:
    out = tmp_path / "export.csv"
    out.write_text("mine")
    refused = command("job", "export", "--data", crawl.data, "--out", out)
    assert refused.code == 2
    assert str(out) in refused.err
    assert "--force" in refused.err
    assert out.read_text() == "mine"
    assert command("job", "export", "--data", crawl.data, "--out", out, "--force").code == 0
    assert by_url(read_output(out)) == by_url(read_jsonl(crawl.out))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--out", "export.xlsx"], ["export.xlsx", ".parquet"]),
        (["--out", "missing/export.csv"], ["missing"]),
        (["--seeds", "3", "--warc", "arc"], ["--seeds", "--warc"]),
    ],
)
def test_an_export_that_cannot_be_is_refused(crawl: Run, words: list[str], said: list[str]) -> None:
    place = [] if "--warc" in words else ["--data", str(crawl.data)]
    ended = command("job", "export", *place, *words)
    assert ended.code == 2
    assert [word for word in said if word not in ended.err] == []


@pytest.mark.parametrize("ending", [".parquet", ".jsonl"])
def test_a_crawl_can_be_exported_while_it_runs(
    demo: DemoProcess, tmp_path: Path, ending: str
) -> None:
    run = site_run(tmp_path, demo, ["docs", "gazette"], "--delay", "0.2")
    process = run.start()
    try:
        wait_until(process, lambda: lines_in(run.out) > 15)
        before = read_whole_lines(run.out)
        out = tmp_path / f"export{ending}"
        ended = command("job", "export", "--data", run.data, "--out", out)
        assert ended.code == 0, ended.err
        after = read_whole_lines(run.out)
        assert process.poll() is None, "the crawl ended too early to show anything"
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    found = by_url(read_output(out))
    assert found.items() <= by_url(read_jsonl(run.out)).items()
    assert len(found) <= len(after)
    # The last records are in the file a moment before they count.
    assert set(before[:10]) <= found.keys()


def read_whole_lines(path: Path) -> list[str]:
    whole, _, _ = path.read_bytes().rpartition(b"\n")
    return [json.loads(line)["url"] for line in whole.splitlines()]


def test_the_most_linked_pages_are_seeds_for_another_crawl(
    demo: DemoProcess, crawl: Run, tmp_path: Path
) -> None:
    seeds = tmp_path / "seeds.txt"
    ended = command("job", "export", "--data", crawl.data, "--seeds", "5", "--out", seeds)
    assert ended.code == 0, ended.err
    urls = [line for line in seeds.read_text().splitlines() if not line.startswith("#")]
    assert len(urls) == len(set(urls))
    hosts = {demo.web.entry_of(site) for site in ("gazette", "docs")}
    assert hosts <= set(urls)
    run = site_run(tmp_path / "next", demo, [], "--seeds", str(seeds), "--depth", "0")
    assert summary(run.finish())["pages"] == len(urls)
    assert {record["url"] for record in run.records()} == set(urls)


def test_seeds_as_json_say_how_many_pages_link_to_them(demo: DemoProcess, crawl: Run) -> None:
    ended = command("job", "export", "--data", crawl.data, "--seeds", "4", "--json")
    found = [json.loads(line) for line in ended.out.splitlines()]
    counted = linking_pages(demo, crawl)
    pages = {one["url"]: one["links"] for one in found if one["kind"] == "page"}
    assert sorted(pages.values(), reverse=True) == [n for _, n in counted.most_common(4)]
    assert pages == {url: counted[url] for url in pages}
    hosts = [one["links"] for one in found if one["kind"] == "host"]
    assert len(hosts) >= 2
    assert hosts == sorted(hosts, reverse=True)


def linking_pages(demo: DemoProcess, crawl: Run) -> Counter[str]:
    """Return how many pages link to each page of a crawl, by what the demo web knows of itself."""
    own = {record["url"] for record in crawl.records()}
    counted: Counter[str] = Counter()
    read = [record for record in crawl.records() if record["outcome"] in {"ok", "noindex"}]
    for url in {record["final_url"] for record in read}:
        target = demo.web.target_of(url)
        assert target is not None
        linked = {link.to for link in demo.web.page(target).links() if link.followed}
        counted.update(own.intersection(map(demo.web.url, linked)))
    return counted
