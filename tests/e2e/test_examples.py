"""The jobs in examples/, run on the demo web as their page says, and killed half-way."""

import json
import re
import shutil
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest
from crawling import SKITTER, Record
from databases import KINDS, place
from killable import INTERRUPTED, Command
from stores import wait_until

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
    return [str(SKITTER), *words]


@pytest.fixture(scope="module")
def undisturbed(
    demo: DemoProcess, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], list[Record]]:
    """Tell what an example brings that nobody disturbs, as fast as it goes."""

    @cache
    def records(name: str) -> list[Record]:
        folder = tmp_path_factory.mktemp(f"undisturbed-{name}")
        command = Command(name, folder, [*example(name, folder, demo), "--delay", "0"])
        # The news are watched for as long as anybody wants: here they are read once.
        file = folder / f"{name}.toml"
        file.write_text(file.read_text(encoding="utf-8").replace('refresh = "10m"', ""))
        command.start()
        assert command.wait(120) == 0, command.told
        return lines(folder / f"{name}.jsonl")

    return records


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


def said(records: list[Record]) -> dict[str, tuple[object, ...]]:
    """Return what records say of their pages, by URL, whenever those were fetched."""
    names = ("outcome", "page_class", "title", "text", "fields")
    return {one["url"]: tuple(one[name] for name in names) for one in records}


def sqlite_fields(path: Path) -> list[tuple[str, dict[str, object]]]:
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute("select url, fields from pages").fetchall()
    return [(url, json.loads(fields)) for url, fields in rows]


@pytest.mark.parametrize("name", CHECKS)
def test_an_example_gives_clean_records_killed_or_not(
    demo: DemoProcess, undisturbed: Callable[[str], list[Record]], tmp_path: Path, name: str
) -> None:
    wanted = said(undisturbed(name))
    databases = [place(kind) for kind in KINDS]
    more = "".join(one.toml() for one in databases)
    text = (EXAMPLES / f"{name}.toml").read_text(encoding="utf-8")
    if '"sqlite"' not in text:
        more += f'[[sinks]]\ntype = "sqlite"\npath = "{name}.sqlite"\n'
    words = example(name, tmp_path, demo, more)
    command = Command(name, tmp_path, [*words, "--delay", "0.2"])
    out = tmp_path / f"{name}.jsonl"

    def written() -> int:
        assert command.up, command.told
        return len(out.read_bytes().splitlines()) if out.exists() else 0

    # Slowly, so that much is left when it is killed.
    for part in (3, 8):
        command.start()
        wait_until(f"{part} records", lambda part=part: written() >= part, 60)  # type: ignore[misc]
        command.kill()
    assert len(out.read_bytes().splitlines()) < len(wanted), "killed in the middle"
    command.words = [*words, "--delay", "0"]
    command.start()
    if name == "news":
        wait_until("all records", lambda: written() >= len(wanted), 60)
        assert command.leave() == INTERRUPTED, command.told
    else:
        assert command.wait(120) == 0, command.told
    records = lines(out)
    assert Counter(record["url"] for record in records) == dict.fromkeys(wanted, 1)
    assert said(records) == wanted
    CHECKS[name](data_pages(records))
    fields = {record["url"]: record["fields"] for record in records}
    stored = sqlite_fields(tmp_path / f"{name}.sqlite")
    assert (len(stored), dict(stored)) == (len(fields), fields)
    for one in databases:
        rows = [(row["url"], row["fields"]) for row in one.rows()]
        assert (len(rows), dict(rows)) == (len(fields), fields), one.kind
    shutil.rmtree(tmp_path / ".skitter")


def test_articles_are_told_from_lists_without_rules(
    undisturbed: Callable[[str], list[Record]],
) -> None:
    records = [one for one in undisturbed("news") if one["outcome"] == "ok"]
    right = [bool(ARTICLE.search(one["url"])) == (one["page_class"] == "data") for one in records]
    assert len(records) > 50
    assert sum(right) / len(right) >= 0.95
    assert {demo_news.NAME} == {one["url"].split("/")[2].split(".")[0] for one in records}
