"""Which parts follow a file, whatever a crash has left."""

from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from skitter.pipeline.parquet_parts import (
    LINES,
    SEALED,
    Chain,
    Part,
    chain,
    count_lines,
    length_of_lines,
    part_path,
    part_paths,
)

PLACE = Path("/parts")


def sealed(first: int, rows: int) -> Part:
    return Part(part_path(PLACE, first, SEALED), first, rows)


def lines(first: int, rows: int) -> Part:
    return Part(part_path(PLACE, first, LINES), first, rows)


def test_parts_follow_each_other_behind_the_file() -> None:
    found = chain(10, [lines(20, 3), sealed(15, 5), sealed(10, 5)])
    assert found.parts == (sealed(10, 5), sealed(15, 5), lines(20, 3))
    assert (found.spare, found.end) == ((), 23)


def test_without_parts_the_file_is_all_there_is() -> None:
    assert chain(7, []) == Chain((), (), 7)


def test_a_sealed_part_wins_over_the_lines_it_was_made_of() -> None:
    found = chain(0, [lines(0, 5), sealed(0, 5), lines(5, 2)])
    assert found.parts == (sealed(0, 5), lines(5, 2))
    assert (found.spare, found.end) == ((lines(0, 5),), 7)


def test_a_file_wins_over_the_parts_it_was_made_of() -> None:
    found = chain(12, [sealed(0, 5), sealed(5, 5), lines(10, 2)])
    assert found.parts == ()
    assert (len(found.spare), found.end) == (3, 12)


def test_what_stands_behind_a_gap_does_not_count() -> None:
    found = chain(0, [sealed(0, 5), sealed(6, 5)])
    assert (found.parts, found.end) == ((sealed(0, 5),), 5)


def test_only_files_that_are_named_as_parts_are_taken_for_parts(tmp_path: Path) -> None:
    for name in (
        "rows-000000000003.parquet",
        "rows-x.jsonl",
        "scratch",
        "rows-1.txt",
        "rows-7.jsonl",
    ):
        (tmp_path / name).touch()
    assert [first for _, first in part_paths(tmp_path)] == [3, 7]


@settings(max_examples=30)
@given(sizes=st.lists(st.integers(0, 30), max_size=8), torn=st.integers(0, 5))
def test_lines_are_counted_and_measured_as_far_as_they_are_whole(
    sizes: list[int], torn: int
) -> None:
    import tempfile

    whole = [b"x" * size + b"\n" for size in sizes]
    with tempfile.NamedTemporaryFile() as file:
        Path(file.name).write_bytes(b"".join(whole) + b"y" * torn)
        assert count_lines(Path(file.name)) == len(whole)
        for n in range(len(whole) + 1):
            assert length_of_lines(Path(file.name), n) == len(b"".join(whole[:n]))
