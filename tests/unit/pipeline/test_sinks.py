"""Sinks by their endings, and whole files at once."""

import json
import resource
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from outputs import page, read_output

from skitter.errors import ConfigError, SinkError
from skitter.pipeline.record import encode_line
from skitter.pipeline.sinks import ENDINGS, check_ending, make_sink, write_all

NAMES = ["pages.jsonl", "pages.csv", "pages.parquet", "pages.sqlite"]
PAGES = [page(n) for n in range(2_500)]
LINES = [encode_line(made) for made in PAGES]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.jsonl", "jsonl"),
        ("a.ndjson", "jsonl"),
        ("a.csv", "csv"),
        ("a.b.parquet", "parquet"),
        ("A.SQLITE", "sqlite"),
    ],
)
def test_the_ending_says_the_kind(tmp_path: Path, name: str, kind: str) -> None:
    check_ending(tmp_path / name)
    sink = make_sink(tmp_path / name)
    assert sink.mark_name == f"sink:{kind}:{(tmp_path / name).resolve()}"
    assert sink.path == tmp_path / name
    assert kind in ENDINGS.values()


@pytest.mark.parametrize("name", ["pages", "pages.txt", "pages.json", ".csv", "pages.csv.gz", "-"])
def test_other_endings_are_refused_with_those_that_are_wanted(name: str) -> None:
    wanted = r"wanted a file that ends in \.jsonl, \.csv, \.parquet or \.sqlite"
    with pytest.raises(ConfigError, match=f"^--out {name}: .*{wanted}"):
        check_ending(Path(name))
    with pytest.raises(ConfigError, match=wanted):
        make_sink(Path(name))


def test_nobody_pays_for_a_format_that_is_not_asked_for() -> None:
    script = """
import sys
from pathlib import Path
from skitter.pipeline.sinks import check_ending, make_sink
check_ending(Path("a.parquet"))
make_sink(Path("a.jsonl")), make_sink(Path("a.csv")), make_sink(Path("a.sqlite"))
print([name for name in ("pyarrow", "numpy", "duckdb") if name in sys.modules])
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


@pytest.mark.parametrize("name", NAMES)
async def test_lines_become_a_file_of_any_kind(tmp_path: Path, name: str) -> None:
    assert await write_all(tmp_path / name, LINES) == len(PAGES)
    assert read_output(tmp_path / name) == PAGES
    assert [found.name for found in tmp_path.iterdir()] == [name]


async def test_lines_may_come_while_they_are_written(tmp_path: Path) -> None:
    async def lines() -> AsyncIterator[bytes]:
        for line in LINES[:3]:
            yield line

    assert await write_all(tmp_path / "pages.csv", lines()) == 3
    assert read_output(tmp_path / "pages.csv") == PAGES[:3]


@pytest.mark.parametrize("name", NAMES)
async def test_no_lines_make_an_empty_file(tmp_path: Path, name: str) -> None:
    assert await write_all(tmp_path / name, []) == 0
    assert read_output(tmp_path / name) == []


@pytest.mark.parametrize("name", NAMES)
async def test_what_older_and_newer_versions_wrote_can_be_taken(tmp_path: Path, name: str) -> None:
    """Unknown names are left out, and names that are missing get what stands for unknown."""
    fields = json.loads(LINES[0]) | {"mood": "good"}
    del fields["payload_digest"]
    await write_all(tmp_path / name, [json.dumps(fields).encode() + b"\n"])
    assert read_output(tmp_path / name) == PAGES[:1]


@pytest.mark.parametrize("name", NAMES)
async def test_lines_that_break_off_leave_no_file(tmp_path: Path, name: str) -> None:
    def broken() -> Iterator[bytes]:
        yield from LINES[:1_500]
        yield LINES[1_500][:-9]

    with pytest.raises(SinkError, match="record 1501 cannot be read"):
        await write_all(tmp_path / name, broken())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", NAMES)
async def test_a_full_disk_leaves_what_was_there(tmp_path: Path, name: str) -> None:
    await write_all(tmp_path / name, LINES[:10])
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(SinkError, match=name):
            await write_all(tmp_path / name, LINES, overwrite=True)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [found.name for found in tmp_path.iterdir()] == [name]
    assert read_output(tmp_path / name) == PAGES[:10]


@pytest.mark.parametrize("name", NAMES)
async def test_a_file_that_exists_is_only_replaced_when_asked(tmp_path: Path, name: str) -> None:
    await write_all(tmp_path / name, LINES[:3])
    with pytest.raises(ConfigError, match=f"{name}: exists"):
        await write_all(tmp_path / name, LINES[:9])
    assert read_output(tmp_path / name) == PAGES[:3]
    assert await write_all(tmp_path / name, LINES[:9], overwrite=True) == 9
    assert read_output(tmp_path / name) == PAGES[:9]


@pytest.mark.parametrize("name", NAMES)
async def test_a_place_that_does_not_exist_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=f"--out .*/no/{name}: cannot be written"):
        await write_all(tmp_path / "no" / name, LINES[:3])


async def test_what_a_killed_export_left_is_in_nobodys_way(tmp_path: Path) -> None:
    workshop = tmp_path / ".pages.sqlite.partial"
    workshop.mkdir()
    (workshop / "pages.sqlite").write_bytes(b"half")
    await write_all(tmp_path / "pages.sqlite", LINES[:3])
    assert [found.name for found in tmp_path.iterdir()] == ["pages.sqlite"]


async def test_the_log_of_an_older_database_is_not_applied_to_the_file(tmp_path: Path) -> None:
    path, log = tmp_path / "pages.sqlite", tmp_path / "pages.sqlite-wal"
    old = sqlite3.connect(path, isolation_level=None)
    old.execute("PRAGMA journal_mode = WAL")
    old.execute("CREATE TABLE old (n)")
    kept = log.read_bytes()
    old.close()
    log.write_bytes(kept)
    await write_all(path, LINES[:3], overwrite=True)
    assert read_output(path) == PAGES[:3]
    assert not log.exists()
