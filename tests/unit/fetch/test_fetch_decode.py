import contextlib
import gzip
import zlib
from collections.abc import Callable

import brotli
import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from skitter.errors import BodyTooLarge, DecodingError
from skitter.fetch.decode import Decoded, decode

CAP = 1_000_000
TEXT = b"".join(b"<p>line %d of the page</p>\n" % n for n in range(500))


def raw_deflate(data: bytes) -> bytes:
    codec = zlib.compressobj(9, zlib.DEFLATED, -15)
    return codec.compress(data) + codec.flush()


CODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": brotli.compress,
    "zstd": zstd.compress,
}


def decoded(body: bytes, coding: str, cap: int = CAP, *, cut: bool = False) -> Decoded:
    return decode(body, coding, url="http://a.test/", cap=cap, cut=cut)


@pytest.mark.parametrize("coding", CODERS)
@given(data=st.binary(max_size=5000))
def test_what_was_encoded_is_decoded(coding: str, data: bytes) -> None:
    assert decoded(CODERS[coding](data), coding) == (data, False)


@given(data=st.binary(max_size=5000))
def test_bare_deflate_is_decoded_too(data: bytes) -> None:
    assert decoded(raw_deflate(data), "deflate") == (data, False)


@given(
    data=st.binary(max_size=2000),
    names=st.lists(st.sampled_from(["gzip", "br", "zstd"]), max_size=3),
)
def test_stacked_codings_are_undone_in_reverse(data: bytes, names: list[str]) -> None:
    body = data
    for name in names:
        body = CODERS[name](body)
    assert decoded(body, ", ".join(names)) == (data, False)


def test_more_than_three_codings_are_refused() -> None:
    with pytest.raises(DecodingError, match="4 content codings"):
        decoded(b"x", "gzip, gzip, gzip, gzip")


@pytest.mark.parametrize("coding", ["GZIP", " gzip ", "gzip, identity", "none, gzip", "utf-8,gzip"])
def test_codings_are_read_generously(coding: str) -> None:
    assert decoded(gzip.compress(TEXT), coding).body == TEXT


@pytest.mark.parametrize("coding", ["rot13", "compress", "gzip;q=1", "gzip, rot13"])
def test_an_unknown_coding_is_a_fault(coding: str) -> None:
    with pytest.raises(DecodingError, match="unknown content coding"):
        decoded(TEXT, coding)


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_members_follow_each_other(coding: str) -> None:
    coder = CODERS[coding]
    assert decoded(coder(TEXT[:40]) + coder(b"") + coder(TEXT[40:]), coding) == (TEXT, False)


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
@given(garbage=st.binary(min_size=1, max_size=50))
def test_garbage_after_the_last_member_is_left_off(coding: str, garbage: bytes) -> None:
    body = CODERS[coding](TEXT) + garbage
    assert decoded(body, coding).body == TEXT


def test_garbage_that_starts_like_a_member_is_left_off() -> None:
    assert decoded(gzip.compress(TEXT) + b"\x1f\x8bnonsense", "gzip") == (TEXT, False)


@pytest.mark.parametrize("coding", CODERS)
@given(share=st.floats(min_value=0.05, max_value=0.95))
def test_a_stream_that_stops_gives_its_start_and_says_so(coding: str, share: float) -> None:
    whole = CODERS[coding](TEXT)
    body, truncated = decoded(whole[: max(8, int(len(whole) * share))], coding)
    assert truncated
    assert TEXT.startswith(body)


def test_a_stopped_second_member_is_truncated() -> None:
    body = gzip.compress(TEXT[:100]) + gzip.compress(TEXT[100:])[:-30]
    found = decoded(body, "gzip")
    assert found.truncated
    assert TEXT.startswith(found.body)


@pytest.mark.parametrize("coding", [*CODERS, "identity"])
def test_a_body_that_is_plain_all_the_same_is_taken_as_it_is(coding: str) -> None:
    assert decoded(TEXT, coding) == (TEXT, False)


@pytest.mark.parametrize("coding", CODERS)
def test_an_empty_body_is_empty(coding: str) -> None:
    assert decoded(b"", coding) == (b"", False)


@pytest.mark.parametrize(
    ("body", "coding"),
    [
        (b"\x1f\x8b\x08" + bytes(7) + b"\xff" * 50, "gzip"),
        (b"\x28\xb5\x2f\xfd" + b"\xff" * 50, "zstd"),
        (b"\xff" * 50, "br"),
        (b"\x78\x9c" + b"\xff" * 50, "deflate"),
    ],
    ids=["gzip", "zstd", "br", "deflate"],
)
def test_broken_data_is_a_fault(body: bytes, coding: str) -> None:
    with pytest.raises(DecodingError, match=f"broken {coding} data"):
        decoded(body, coding)


def test_a_wrong_checksum_is_a_fault() -> None:
    body = bytearray(gzip.compress(TEXT))
    body[-5] ^= 0xFF
    with pytest.raises(DecodingError):
        decoded(bytes(body), "gzip")


@pytest.mark.parametrize("coding", CODERS)
def test_a_bomb_is_stopped_at_the_cap(coding: str) -> None:
    bomb = CODERS[coding](b"\0" * 50_000_000)
    with pytest.raises(BodyTooLarge, match="decompressed"):
        decoded(bomb, coding)
    assert decoded(bomb, coding, 1000, cut=True) == (b"\0" * 1000, True)


def test_nested_bombs_are_stopped_at_the_cap() -> None:
    bomb = gzip.compress(gzip.compress(gzip.compress(b"\0" * 50_000_000)))
    with pytest.raises(BodyTooLarge):
        decoded(bomb, "gzip, gzip, gzip")


@pytest.mark.parametrize("coding", CODERS)
def test_exactly_the_cap_fits(coding: str) -> None:
    body = CODERS[coding](TEXT)
    assert decoded(body, coding, len(TEXT)) == (TEXT, False)
    assert decoded(body, coding, len(TEXT), cut=True) == (TEXT, False)
    with pytest.raises(BodyTooLarge):
        decoded(body, coding, len(TEXT) - 1)


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_a_flood_of_empty_members_is_a_fault(coding: str) -> None:
    with pytest.raises(DecodingError, match="members"):
        decoded(CODERS[coding](b"") * 20_000, coding)


@pytest.mark.parametrize("coding", CODERS)
@given(data=st.binary(max_size=300))
def test_no_input_raises_anything_else(coding: str, data: bytes) -> None:
    with contextlib.suppress(DecodingError):
        decoded(data, coding)
