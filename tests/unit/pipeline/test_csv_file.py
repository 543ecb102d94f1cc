"""CSV as other people's readers see it."""

import csv
import io
from pathlib import Path
from typing import Any

import duckdb
import msgspec
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from outputs import batch_of, page, read_csv

from skitter.errors import ConfigError
from skitter.pipeline.columns import COLUMNS, NAMES, ColumnKind
from skitter.pipeline.csv_file import CsvSink, csv_row
from skitter.pipeline.record import PageRecord

HEADER = ",".join(NAMES)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
HARD = [
    'say "so"',
    '"',
    "two\nlines",
    "two\r\nlines",
    "\r",
    "a\0b",
    "\0",
    "",
    " kept ",
    "a,b;c\td",
    "=1+1",
    "null",
    "\\",
    '\\"',
    "'",
    "#",
    "第一页 🕷 \u2028",
    "x" * 300_000,
]


async def written(path: Path, records: list[PageRecord]) -> None:
    sink = CsvSink(path, overwrite=True)
    await sink.open(None)
    await sink.write(batch_of(records))
    await sink.close()


def by_pyarrow(path: Path) -> pa.Table:
    """Read with a reader that tells quoted from unquoted."""
    kinds = {
        column.name: pa.int64() if column.kind is ColumnKind.INTEGER else pa.string()
        for column in COLUMNS
    }
    return pa_csv.read_csv(
        path,
        read_options=pa_csv.ReadOptions(block_size=8 << 20),
        parse_options=pa_csv.ParseOptions(newlines_in_values=True),
        convert_options=pa_csv.ConvertOptions(
            column_types=kinds,
            null_values=[""],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
        ),
    )


async def test_the_header_names_the_columns_and_stands_alone_in_an_empty_crawl(
    tmp_path: Path,
) -> None:
    await written(tmp_path / "pages.csv", [])
    assert (tmp_path / "pages.csv").read_text() == f"{HEADER}\n"


async def test_what_each_kind_of_value_looks_like(tmp_path: Path) -> None:
    made = page(1, changed=True, title=None, error="", redirects=["a,b"], fields={"k": 'say "so"'})
    cells = dict(zip(NAMES, next(csv.reader(io.StringIO(csv_row(made)))), strict=True))
    assert cells["changed"] == "true"
    assert cells["truncated"] == "false"
    assert cells["status"] == "201"
    assert cells["redirects"] == '["a,b"]'
    assert cells["fields"] == '{"k":"say \\"so\\""}'
    assert cells["fetched_at"] == "2026-01-01T00:00:01.001Z"
    assert (cells["title"], cells["error"]) == ("", "")
    assert ',"",1,' in csv_row(made), "an empty text is quoted, an unknown one is not"


@pytest.mark.parametrize("number", range(len(HARD)))
async def test_hard_texts_are_read_back_by_python_pyarrow_and_duckdb(
    tmp_path: Path, number: int
) -> None:
    path = tmp_path / "pages.csv"
    await written(path, [page(0, title=HARD[number]), page(1, title=None), page(2)])
    expected = [HARD[number], None, page(2).title]
    assert [record.title for record in read_csv(path)] == [text or None for text in expected]
    assert by_pyarrow(path).column("title").to_pylist() == expected
    found = duckdb.connect().execute(f"SELECT title FROM read_csv('{path}')").fetchall()
    assert [title for (title,) in found] == [text or None for text in expected]


async def test_duckdb_finds_types_and_rows_without_being_told(tmp_path: Path) -> None:
    path = tmp_path / "pages.csv"
    await written(path, [page(n) for n in range(500)])
    rows = duckdb.connect().execute(f"DESCRIBE SELECT * FROM '{path}'").fetchall()
    kinds = {name: kind for name, kind, *_ in rows}
    assert tuple(kinds) == NAMES
    assert kinds["status"] == "BIGINT"
    assert kinds["truncated"] == "BOOLEAN"
    assert kinds["fetched_at"].startswith("TIMESTAMP")
    query = f"SELECT count(*), sum(bytes), count(DISTINCT title) FROM '{path}'"
    assert duckdb.connect().execute(query).fetchall() == [
        (500, sum(n * 1_000_003 for n in range(500)), 500)
    ]


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    values=st.fixed_dictionaries(
        {
            "title": st.none() | TEXTS,
            "text": st.none() | TEXTS,
            "redirects": st.lists(TEXTS, max_size=3),
            "fields": st.dictionaries(TEXTS, TEXTS, max_size=3),
            "bytes": st.none() | st.integers(-(2**63), 2**63 - 1),
            "changed": st.none() | st.booleans(),
        }
    )
)
async def test_whatever_the_page_says_reads_back_exactly(
    tmp_path: Path, values: dict[str, Any]
) -> None:
    path = tmp_path / "pages.csv"
    await written(path, [page(3, **values), page(4, **values)])
    for row in by_pyarrow(path).to_pylist():
        for name in ("title", "text", "bytes"):
            assert row[name] == values[name]
        for name in ("redirects", "fields"):
            assert msgspec.json.decode(row[name]) == values[name]
        assert row["changed"] == {None: None, True: "true", False: "false"}[values["changed"]]
    with path.open(encoding="utf-8", newline="") as file:
        for cells in csv.DictReader(file, strict=True):
            assert cells["title"] == (values["title"] or "")
            assert msgspec.json.decode(cells["redirects"]) == values["redirects"]


# Opening


@pytest.mark.parametrize("size", [1, 5, len(HEADER), len(HEADER) + 1])
async def test_a_crash_in_the_header_leaves_a_file_that_can_be_begun_again(
    tmp_path: Path, size: int
) -> None:
    path = tmp_path / "pages.csv"
    path.write_bytes(f"{HEADER}\n".encode()[:size])
    sink = CsvSink(path)
    await sink.open(None)
    await sink.close()
    assert path.read_text() == f"{HEADER}\n"


async def test_a_file_with_other_columns_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "pages.csv"
    sink = CsvSink(path)
    await sink.open(None)
    mark = await sink.write(batch_of([page(1)]))
    await sink.close()
    other = path.read_bytes().replace(b"job,url,", b"job,URL,", 1)
    path.write_bytes(other)
    with pytest.raises(ConfigError, match=r"pages\.csv: has other columns"):
        await CsvSink(path).open(mark)
    assert path.read_bytes() == other
