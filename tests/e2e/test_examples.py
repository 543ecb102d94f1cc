"""The jobs in examples/, run on the demo web as their page says, and killed half-way."""

import json
import re
import shutil
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from crawling import SKITTER, Record
from databases import KINDS, place
from killable import Command

from skitter.demo import news as demo_news
from skitter.demo.child import DemoProcess

pytestmark = pytest.mark.e2e

EXAMPLES = Path(__file__).parents[2] / "examples"
PORT = 8480
ARTICLE = re.compile(r"/(?:\d{4}/\d\d/\d\d/[a-z0-9-]+-|(?:yaowen|keji)/\d{6}/t)\d+\.s?html")


@pytest.fixture(scope="module")
def demo() -> Iterator[DemoProcess]:
    with DemoProcess(pages=500) as served:
        yield served


def example(name: str, folder: Path, demo: DemoProcess, more: str = "") -> list[str]:
    """Put an example into a folder, for the port of this demo; answers the words that run it."""
    text = (EXAMPLES / f"{name}.toml").read_text(encoding="utf-8")
    (folder / f"{name}.toml").write_text(
        text.replace(f":{PORT}/", f":{demo.web.port}/") + more, encoding="utf-8"
    )
    (folder / "hosts").write_text(demo.hosts, encoding="utf-8")
    words = ["crawl", "--job", f"{name}.toml", "--hosts", "hosts", "--allow-private", "--quiet"]
    # The news are watched for as long as anybody wants.
    return [str(SKITTER), *words, *(["--time", "8"] if name == "news" else [])]


def lines(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def data_pages(records: list[Record]) -> dict[str, Record]:
    return {one["url"]: one for one in records if one["page_class"] == "data"}


def check_notices(found: dict[str, Record]) -> None:
    assert len(found) >= 20
    for record in found.values():
        fields = record["fields"]
        assert re.fullmatch(r"HG \d{4}/\d{4,}", fields["number"])
        assert re.fullmatch(r"\d{4}-\d\d-\d\d", fields["in_force"])
        assert fields["headline"] == fields["title"] == record["title"]
        assert fields["title"].startswith(fields["kind"])
        assert len(fields["body"]) > 300
        assert record["labels"] == {"desk": "ports"}


def check_shop(found: dict[str, Record]) -> None:
    assert len(found) >= 30
    assert not any("/outlet/" in url or "/cart" in url for url in found)
    for url, record in found.items():
        fields = record["fields"]
        number = re.search(r"/p/(\d+)-", url)
        assert number is not None
        assert fields["article"] == f"DD-{int(number[1]):06}"
        assert "|" not in fields["name"]
        assert fields["price"] > 0
        assert all("/p/" in other for other in fields["goes_with"])


def check_news(found: dict[str, Record]) -> None:
    assert len(found) >= 40
    for record in found.values():
        assert len(record["text"]) > 100
        assert record["title"]
    languages = Counter(record["language"] for record in found.values())
    assert set(languages) == {"en", "zh"}


CHECKS = {"notices": check_notices, "shop": check_shop, "news": check_news}


@pytest.mark.parametrize("name", CHECKS)
def test_an_example_gives_clean_records_killed_or_not(
    demo: DemoProcess, tmp_path: Path, name: str
) -> None:
    databases = [place(kind) for kind in KINDS]
    words = example(name, tmp_path, demo, "".join(one.toml() for one in databases))
    command = Command(name, tmp_path, words)
    out = tmp_path / f"{name}.jsonl"
    for part in (5, 15):
        command.start()
        ends = time.monotonic() + 30
        while not out.exists() or len(out.read_bytes().splitlines()) < part:
            assert time.monotonic() < ends, command.output
            time.sleep(0.02)
        command.kill()
    command.start()
    assert command.wait(60) == 0, command.output
    records = lines(out)
    urls = Counter((record["url"], record["visit"]) for record in records)
    assert max(urls.values()) == 1
    found = data_pages(records)
    CHECKS[name](found)
    if name != "shop":
        with sqlite3.connect(tmp_path / f"{name}.sqlite") as database:
            rows = database.execute("select url, count(*) from pages group by url").fetchall()
        assert {url: 1 for url, _ in rows} == dict(rows)
        assert {url for url, _ in rows} == {record["url"] for record in records}
    for one in databases:
        stored = one.rows()
        assert Counter(row["url"] for row in stored) == dict.fromkeys(set(found), 1) | {
            record["url"]: 1 for record in records
        }, one.kind
        kept = {row["url"]: row["fields"] for row in stored}
        assert {url: kept[url] for url in found} == {
            url: record["fields"] for url, record in found.items()
        }
    shutil.rmtree(tmp_path / ".skitter")


def test_articles_are_told_from_lists_without_rules(demo: DemoProcess, tmp_path: Path) -> None:
    command = Command("news", tmp_path, example("news", tmp_path, demo))
    command.start()
    assert command.wait(60) == 0, command.output
    records = [one for one in lines(tmp_path / "news.jsonl") if one["outcome"] == "ok"]
    right = [bool(ARTICLE.search(one["url"])) == (one["page_class"] == "data") for one in records]
    assert len(records) > 50
    assert sum(right) / len(right) >= 0.95
    assert {demo_news.NAME} == {one["url"].split("/")[2].split(".")[0] for one in records}
