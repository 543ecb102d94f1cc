"""``skitter job export``: what is refused, and what is in the file or on standard output."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from outputs import read_output
from states import SITE, State, site_job

from skitter.cli import export as module
from skitter.cli.export import Export, run_export
from skitter.cli.main import run as run_command
from skitter.cli.place import Flags
from skitter.crawl.inspect import InspectServer, Question
from skitter.errors import ConfigError, DataDirError
from skitter.frontier.model import Result
from skitter.job.seeds import BadSeed, open_seeds
from skitter.pipeline.archive.model import Capture
from skitter.pipeline.archive.writer import Archive
from skitter.pipeline.record import PageRecord
from skitter.types import Role
from skitter.wiring.look import Where

Capsys = pytest.CaptureFixture[str]
HEAD = b"HTTP/1.1 200 OK\r\n\r\n"
RECORD = json.dumps(
    {
        "job": "job",
        "url": f"{SITE}/",
        "outcome": "ok",
        "depth": 0,
        "page_class": "data",
        "fetched_at": "2026-01-01T00:00:00.000Z",
        "visit": 1,
    }
)


def wanted(**fields: Any) -> Export:
    values: dict[str, Any] = {
        "job": None,
        "out": None,
        "warc": None,
        "seeds": None,
        "json": False,
        "force": False,
    }
    place = Flags(fields.pop("data", None), fields.pop("store", None), fields.pop("api", None))
    return Export(place=place, **{**values, **fields})


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The state of a crawl: three pages, one that is gone, one sitemap, and counted links."""

    async def make() -> None:
        async with State(tmp_path / "state", site_job(labels={"team": "blue"})) as state:
            await state.add("/", "/a", "/b", title="Title é")
            await state.add("/gone", result=Result.DEAD, outcome="http_error", status=404)
            await state.add("/map.xml", role=Role.SITEMAP)
            await state.count(["/a", "/a", "/", "/b", "/gone"], ["http://far.test"])

    asyncio.run(make())
    return tmp_path / "state"


def urls(records: list[PageRecord]) -> list[str]:
    return sorted(record.url.removeprefix(SITE) for record in records)


# Records


@pytest.mark.parametrize("ending", [".jsonl", ".ndjson", ".csv", ".parquet", ".sqlite"])
def test_records_come_in_the_format_of_the_ending(
    data: Path, tmp_path: Path, capsys: Capsys, ending: str
) -> None:
    out = tmp_path / f"pages{ending}"
    run_export(wanted(data=data, out=out))
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", f"4 records in {out}\n")
    if ending != ".ndjson":
        found = read_output(out)
        assert urls(found) == ["/", "/a", "/b", "/gone"]
        assert {record.title for record in found} == {"Title é", None}


def test_without_a_file_records_are_lines_of_json(data: Path, capsys: Capsys) -> None:
    run_export(wanted(data=data))
    shown = capsys.readouterr()
    records = [json.loads(line) for line in shown.out.splitlines()]
    assert len(records) == 4
    assert all(record["labels"] == {"team": "blue"} for record in records)
    assert shown.err == ""


@pytest.mark.parametrize("seeds", [None, 3])
def test_a_file_that_exists_is_replaced_only_by_force(
    data: Path, tmp_path: Path, seeds: int | None
) -> None:
    out = tmp_path / "pages.jsonl"
    out.write_text("mine")
    with pytest.raises(ConfigError, match=f"--out {out}: exists"):
        run_export(wanted(data=data, out=out, seeds=seeds))
    assert out.read_text() == "mine"
    run_export(wanted(data=data, out=out, seeds=seeds, force=True))
    assert out.read_text() != "mine"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"out": Path("pages.xlsx")}, "ending says no format"),
        ({"out": Path("missing/pages.csv")}, "missing is not a directory"),
        ({"out": Path("pages.csv"), "json": True}, "--json is for seeds"),
        ({"data": Path("state"), "warc": Path("warc")}, "wanted one of them"),
        ({"store": "redis://store.test", "warc": Path("warc")}, "--store and --warc: wanted one"),
        ({"store": "redis://store.test", "data": Path("state")}, "--data and --store: wanted one"),
        ({"warc": Path("warc"), "seeds": 3}, "--seeds and --warc"),
        ({"warc": Path("nowhere")}, "nowhere: no such directory"),
        ({"job": "nobody"}, "nobody"),
        ({"data": Path("nowhere")}, "nowhere"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fields: dict[str, Any], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=said):
        run_export(wanted(**fields))
    assert list(tmp_path.iterdir()) == []


def test_a_job_is_found_by_its_id_and_another_one_is_not_taken_for_it(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / ".skitter").mkdir()
    data.rename(tmp_path / ".skitter" / "job")
    run_export(wanted(job="job"))
    run_export(wanted())
    assert len(capsys.readouterr().out.splitlines()) == 8
    with pytest.raises(DataDirError, match="jobs there: job; name one of them"):
        run_export(wanted(job="other", data=tmp_path / ".skitter" / "job"))


def test_records_come_out_of_an_archive(tmp_path: Path, capsys: Capsys) -> None:
    async def make() -> None:
        archive = Archive(tmp_path / "warc", job="job", durable=False)
        await archive.open(None)
        await archive.write(
            [
                Capture(
                    url=f"{SITE}/",
                    at_ms=0,
                    request=b"GET / HTTP/1.1\r\n\r\n",
                    response=HEAD + b"body",
                    head_bytes=len(HEAD),
                    fields={"skitter-record": RECORD},
                )
            ]
        )
        await archive.close()

    asyncio.run(make())
    out = tmp_path / "pages.csv"
    run_export(wanted(warc=tmp_path / "warc", out=out))
    assert urls(read_output(out)) == ["/"]
    run_export(wanted(warc=tmp_path / "warc", job="other"))
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("out", ["pages.jsonl", "pages.parquet", "seeds.txt"])
def test_an_answer_that_breaks_off_leaves_no_file(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    seeds = 3 if out == "seeds.txt" else None

    async def broken(_: Where, __: Question) -> AsyncIterator[bytes]:
        yield b'{"kind": "page", "url": "http://a.test/"}\n' if seeds else RECORD.encode()
        raise DataDirError("the crawl ended while it was read; ask again")

    monkeypatch.setattr(module, "complete_answer", broken)
    before = sorted(path.name for path in tmp_path.iterdir())
    with pytest.raises(DataDirError, match="ask again"):
        run_export(wanted(data=data, out=tmp_path / out, seeds=seeds))
    assert sorted(path.name for path in tmp_path.iterdir()) == before


async def test_a_running_crawl_is_asked(tmp_path: Path) -> None:
    asked: list[Question] = []

    async def answer(question: Question) -> AsyncIterator[bytes]:
        asked.append(question)
        yield b'{"complete": 0}\n'

    server = InspectServer(tmp_path, answer)
    await server.open()
    out = tmp_path / "pages.csv"
    await asyncio.to_thread(run_export, wanted(data=tmp_path, job="mine", out=out))
    await server.close()
    assert asked == [{"outputs": True, "job": "mine"}, {"records": True, "job": "mine"}]
    assert out.read_text().startswith("job,url")


async def test_a_file_the_crawl_writes_to_is_never_replaced(tmp_path: Path) -> None:
    out = tmp_path / "pages.csv"
    out.write_text("job,url\n")

    async def answer(question: Question) -> AsyncIterator[bytes]:
        yield json.dumps({"outputs": [str(out)]}).encode() + b"\n"

    server = InspectServer(tmp_path, answer)
    await server.open()
    with pytest.raises(ConfigError, match="the crawl itself writes to it"):
        await asyncio.to_thread(run_export, wanted(data=tmp_path, out=out, force=True))
    await server.close()
    assert out.read_text() == "job,url\n"


# Seeds


def test_seeds_are_a_list_that_a_crawl_reads(data: Path, tmp_path: Path, capsys: Capsys) -> None:
    out = tmp_path / "seeds.txt"
    run_export(wanted(data=data, seeds=2, out=out))
    assert capsys.readouterr().err == f"3 seeds in {out}\n"
    assert out.read_text().splitlines() == [
        "# the most linked pages",
        f"{SITE}/a",
        f"{SITE}/",
        "# the most linked hosts",
        "http://far.test/",
    ]


def test_seeds_with_their_links_are_lines_of_json(data: Path, capsys: Capsys) -> None:
    run_export(wanted(data=data, seeds=1, json=True))
    assert [json.loads(line) for line in capsys.readouterr().out.splitlines()] == [
        {"kind": "page", "url": f"{SITE}/a", "links": 2},
        {"kind": "host", "url": f"{SITE}/", "links": 5},
    ]


def test_a_list_of_seeds_may_be_read_back(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "seeds.txt"
    run_export(wanted(data=data, seeds=9, out=out))
    bad: list[BadSeed] = []
    read = list(open_seeds(out, bad.append))
    assert bad == []
    assert read == [f"{SITE}/a", f"{SITE}/", f"{SITE}/b", "http://far.test/"]


def test_the_command_says_what_is_wrong_and_ends_with_its_code(
    data: Path, tmp_path: Path, capsys: Capsys
) -> None:
    assert run_command(["job", "export", "--data", str(data), "--out", "x.doc"]) == 2
    assert "x.doc" in capsys.readouterr().err
    assert run_command(["job", "export", "--data", str(data), "--seeds", "0"]) == 2
    assert run_command(["job", "export", "--data", str(data)]) == 0
