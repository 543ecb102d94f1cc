"""The columns and the record they are made of."""

import types
from collections.abc import Mapping
from typing import Any, get_args, get_type_hints

import msgspec
import pytest
from outputs import page

from skitter.pipeline.columns import COLUMNS, NAMES, Column, ColumnKind, output_docs, values_of
from skitter.pipeline.record import PageRecord
from skitter.types import Outcome

KINDS: dict[Any, set[ColumnKind]] = {
    str: {ColumnKind.TEXT, ColumnKind.TIME},
    int: {ColumnKind.INTEGER},
    bool: {ColumnKind.BOOLEAN},
    list[str]: {ColumnKind.LIST},
    dict[str, Any]: {ColumnKind.TABLE},
    list[dict[str, str]]: {ColumnKind.TABLE},
    Mapping[str, str]: {ColumnKind.MAP},
}


def test_there_is_one_column_for_each_field_in_the_same_order() -> None:
    assert tuple(field.name for field in msgspec.structs.fields(PageRecord)) == NAMES


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)
def test_a_column_is_of_the_kind_its_field_is(column: Column) -> None:
    kind = get_type_hints(PageRecord)[column.name]
    parts = get_args(kind) if isinstance(kind, types.UnionType) else (kind,)
    assert column.always == (types.NoneType not in parts)
    [plain] = [part for part in parts if part is not types.NoneType]
    assert column.kind in KINDS[plain]


@pytest.mark.parametrize("column", COLUMNS, ids=lambda column: column.name)
def test_a_meaning_is_one_sentence_that_fits_a_cell(column: Column) -> None:
    assert column.meaning.endswith(".")
    assert ". " not in column.meaning
    assert not {"|", "\n"} & set(column.meaning)


def test_every_outcome_is_named() -> None:
    [column] = [column for column in COLUMNS if column.name == "outcome"]
    assert [outcome for outcome in Outcome if f"`{outcome}`" not in column.meaning] == []


def test_the_values_of_a_record_come_in_the_order_of_the_columns() -> None:
    made = page(7)
    assert dict(zip(NAMES, values_of(made), strict=True)) == msgspec.structs.asdict(made)


def test_the_reference_names_every_column_with_its_meaning() -> None:
    lines = output_docs().splitlines()
    for column in COLUMNS:
        [line] = [line for line in lines if line.startswith(f"| `{column.name}` |")]
        assert line.endswith(f"| {column.meaning} |")
    assert [line for line in lines if "{" in line or "|  |" in line] == []


def test_the_reference_names_every_kind_of_value() -> None:
    lines = output_docs().splitlines()
    for kind in ColumnKind:
        assert [line for line in lines if line.startswith(f"| {kind} | ")], kind
