"""What is written together, which record of a key counts, and statements with any name."""

import pytest
from outputs import page

from skitter.pipeline.columns import NAMES
from skitter.pipeline.mongo import key_of, unsafe
from skitter.pipeline.postgres_sql import TYPES, arrays_of, misfit, quoted, statements
from skitter.pipeline.upsert import (
    MOST_NAMED,
    PART_BYTES,
    PART_RECORDS,
    Aside,
    Refused,
    newest,
    parts,
    read_aside,
)

EARLY, LATE = "2026-01-01T00:00:00.000Z", "2026-02-01T00:00:00.000Z"


def test_of_a_key_the_newest_counts_and_of_equals_the_last() -> None:
    old, new = page(1, fetched_at=EARLY, title="old"), page(1, fetched_at=LATE, title="new")
    equal = page(1, fetched_at=LATE, title="equal")
    assert newest([old, new]) == newest([new, old]) == [new]
    assert newest([new, equal]) == [equal]
    apart = [page(1), page(1, visit=2), page(1, job="other"), page(2)]
    assert newest(apart) == apart
    assert len({key_of(one) for one in apart}) == 4


def test_parts_are_neither_too_many_nor_too_heavy() -> None:
    many = [page(n) for n in range(2 * PART_RECORDS + 1)]
    assert [len(part) for part in parts(many)] == [PART_RECORDS, PART_RECORDS, 1]
    heavy = page(1, text="x" * PART_BYTES)
    assert [len(part) for part in parts([heavy, heavy, page(2, text=None)])] == [1, 2]
    assert list(parts([])) == []


def test_what_is_set_aside_is_counted_once_and_the_latest_is_named() -> None:
    aside = Aside()
    aside.add([Refused(page(n), "why") for n in range(MOST_NAMED + 5)])
    aside.add([Refused(page(50), "another reason")])
    assert (aside.count, len(aside.latest)) == (MOST_NAMED + 5, MOST_NAMED)
    assert aside.latest[-1].why == "another reason"


@pytest.mark.parametrize("mark", [b"", b"17", b"x"])
def test_other_marks_say_nothing_of_records_set_aside(mark: bytes) -> None:
    assert read_aside(mark) == Aside()


def test_names_are_quoted_whatever_is_in_them() -> None:
    assert quoted(["pages"]) == '"pages"'
    assert quoted(["my schema", 'a"b']) == '"my schema"."a""b"'
    said = statements(["S", "T"])
    assert said.table == '"S"."T"'
    assert said.index.startswith('"S"."skitter_key_')
    assert 'INSERT INTO "S"."T" AS t' in said.upsert
    assert said.upsert.count("%s") == len(NAMES)
    assert "synchronous_commit" not in statements(["t"], durable=False).upsert


def test_a_type_that_does_not_do_is_named() -> None:
    assert misfit({}) == ""
    assert misfit({"status": "integer", "title": "character varying", "mine": "xml"}) == ""
    assert misfit({"status": "text"}) == "column status is text, wanted bigint"
    assert misfit({"fetched_at": "date"}).endswith("wanted timestamp with time zone")


def test_there_is_a_value_for_each_column_and_no_nul_in_any() -> None:
    arrays = arrays_of([page(1, title="a\0b", fields={"k\0": ["\0", {"x": "\\u0000"}]}), page(2)])
    assert len(arrays) == len(NAMES)
    assert {len(values) for values in arrays} == {2}
    assert arrays[NAMES.index("title")][0] == "ab"
    assert arrays[NAMES.index("fields")][0] == '{"k":["",{"x":"\\\\u0000"}]}'
    assert set(TYPES.values()) == {
        "text",
        "timestamp with time zone",
        "bigint",
        "boolean",
        "jsonb",
    }


def test_a_bulk_that_is_not_safe_is_repeated_whatever_else_was_refused() -> None:
    refused = {"writeErrors": [{"index": 0, "code": 121, "errmsg": "validation"}]}
    late = {"writeConcernErrors": [{"code": 64, "errmsg": "waiting for replication timed out"}]}
    assert unsafe(refused) == ""
    assert unsafe({**refused, "writeConcernErrors": []}) == ""
    assert unsafe(late) == unsafe({**refused, **late}) == "waiting for replication timed out"
    assert unsafe({"writeConcernErrors": [{}]}) == "write concern"
