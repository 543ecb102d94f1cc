"""Records of a chunk as they are stored: what is packed is unpacked, and damage is found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.frontier.cold.packing import FORMAT, pack, unpack

RECORDS = (b"", b"one", bytes(range(256)) * 8, b"\x00", b"x" * 20_000)


@given(st.lists(st.binary(max_size=300)))
def test_any_records_come_back(records: list[bytes]) -> None:
    assert unpack(pack(records)) == tuple(records)


def test_long_ones_too() -> None:
    assert unpack(pack(RECORDS)) == RECORDS


@pytest.mark.parametrize("flipped", [0x01, 0x10, 0xFF])
def test_damage_anywhere_is_found_or_changes_nothing(flipped: int) -> None:
    packed = pack(RECORDS)
    for at in range(len(packed)):
        spoilt = packed[:at] + bytes((packed[at] ^ flipped,)) + packed[at + 1 :]
        try:
            found = unpack(spoilt)
        except ValueError:
            continue
        assert found == RECORDS, "some bits of the compressed form mean nothing"


@pytest.mark.parametrize("end", [0, 1, 5, -1])
def test_a_chunk_that_was_cut_off_is_found(end: int) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  whatever is found first
        unpack(pack(RECORDS)[:end])


def test_another_version_is_not_read() -> None:
    with pytest.raises(ValueError, match=f"version {FORMAT + 1}, not {FORMAT}"):
        unpack(bytes((FORMAT + 1,)) + pack(RECORDS)[1:])
