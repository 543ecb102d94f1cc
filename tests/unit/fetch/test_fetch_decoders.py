"""Codings undone piece by piece give what they give on the whole body."""

import gzip
import itertools
import zlib
from collections.abc import Callable, Iterator

import brotli
import pytest
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st

from skitter.errors import DecodingError
from skitter.fetch.decode import decode
from skitter.fetch.decoders import STEP_BYTES, StreamDecoder

TEXT = b"".join(b"<p>line %d of the page</p>\n" % n for n in range(500))
BIG = 20_000_000


def raw_deflate(data: bytes) -> bytes:
    codec = zlib.compressobj(9, zlib.DEFLATED, -15)
    return codec.compress(data) + codec.flush()


CODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": lambda data: brotli.compress(data, quality=5),
    "zstd": zstd.compress,
}
CUTS = st.lists(st.integers(0, 100_000), max_size=8)


def pieces(data: bytes, cuts: list[int]) -> Iterator[bytes]:
    edges = [0, *sorted({cut % len(data) for cut in cuts} - {0}), len(data)] if data else []
    return (data[a:b] for a, b in itertools.pairwise(edges))


def streamed(parts: Iterator[bytes] | list[bytes], coding: str) -> tuple[bytes, bool]:
    decoder = StreamDecoder(coding, url="http://a.test/")
    found = [piece for part in parts for piece in decoder.feed(part)]
    found += decoder.finish()
    return b"".join(found), decoder.truncated


def whole(body: bytes, coding: str) -> tuple[bytes, bool]:
    found = decode(body, coding, url="http://a.test/", cap=100_000_000)
    return found.body, found.truncated


@pytest.mark.parametrize("coding", CODERS)
@given(data=st.binary(max_size=3000), cuts=CUTS)
@settings(max_examples=50)
def test_however_the_input_is_cut_what_was_encoded_is_decoded(
    coding: str, data: bytes, cuts: list[int]
) -> None:
    assert streamed(pieces(CODERS[coding](data), cuts), coding) == (data, False)


@pytest.mark.parametrize("coding", CODERS)
def test_input_may_come_byte_by_byte(coding: str) -> None:
    body = CODERS[coding](TEXT)
    assert streamed([body[n : n + 1] for n in range(len(body))], coding) == (TEXT, False)


@given(data=st.binary(max_size=3000), cuts=CUTS)
@settings(max_examples=50)
def test_bare_deflate_is_decoded_too(data: bytes, cuts: list[int]) -> None:
    assert streamed(pieces(raw_deflate(data), cuts), "deflate") == (data, False)


@given(names=st.lists(st.sampled_from(["gzip", "br", "zstd", "deflate"]), max_size=3), cuts=CUTS)
@settings(max_examples=50)
def test_stacked_codings_are_undone_in_reverse(names: list[str], cuts: list[int]) -> None:
    body = TEXT
    for name in names:
        body = CODERS[name](body)
    assert streamed(pieces(body, cuts), ", ".join(names)) == (TEXT, False)


@pytest.mark.parametrize("coding", CODERS)
@given(data=st.binary(max_size=400), cuts=CUTS)
@settings(max_examples=60)
def test_any_input_is_read_as_the_whole_of_it_would_be(
    coding: str, data: bytes, cuts: list[int]
) -> None:
    for body in (data, CODERS[coding](TEXT[:500]) + data, CODERS[coding](data)[:-3]):
        try:
            expected = whole(body, coding)
        except DecodingError:
            with pytest.raises(DecodingError):
                streamed(pieces(body, cuts), coding)
            continue
        assert streamed(pieces(body, cuts), coding) == expected


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
@given(cuts=CUTS, garbage=st.sampled_from([b"", b"x", b"\x1f", b"\x1f\x8bnonsense", b"\x28\xb5/"]))
@settings(max_examples=50)
def test_members_follow_each_other_and_garbage_after_them_is_left_off(
    coding: str, cuts: list[int], garbage: bytes
) -> None:
    coder = CODERS[coding]
    body = coder(TEXT[:40]) + coder(b"") + coder(TEXT[40:]) + garbage
    assert streamed(pieces(body, cuts), coding) == (TEXT, False)


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
@given(cuts=CUTS)
@settings(max_examples=30)
def test_a_further_member_that_stops_is_truncation(coding: str, cuts: list[int]) -> None:
    body = CODERS[coding](TEXT[:100]) + CODERS[coding](TEXT[100:])[:-30]
    found, truncated = streamed(pieces(body, cuts), coding)
    assert truncated
    assert TEXT.startswith(found)
    assert len(found) >= 100


def test_a_further_member_that_breaks_after_output_is_truncation() -> None:
    broken = bytearray(gzip.compress(TEXT))
    broken[-5] ^= 0xFF
    parts = [gzip.compress(b"first"), bytes(broken[:-8]), bytes(broken[-8:])]
    assert streamed(parts, "gzip") == (b"first" + TEXT, True)


@pytest.mark.parametrize("coding", CODERS)
@given(share=st.floats(min_value=0.05, max_value=0.95), cuts=CUTS)
@settings(max_examples=30)
def test_a_stream_that_stops_gives_its_start_and_says_so(
    coding: str, share: float, cuts: list[int]
) -> None:
    body = CODERS[coding](TEXT)
    body = body[: max(8, int(len(body) * share))]
    assert streamed(pieces(body, cuts), coding) == whole(body, coding)
    assert streamed(pieces(body, cuts), coding)[1]


@pytest.mark.parametrize("coding", [*CODERS, "identity"])
@given(cuts=CUTS)
@settings(max_examples=20)
def test_a_body_that_is_plain_all_the_same_is_taken_as_it_is(coding: str, cuts: list[int]) -> None:
    assert streamed(pieces(TEXT, cuts), coding) == (TEXT, False)


@pytest.mark.parametrize("coding", ["gzip", "deflate", "br", "zstd"])
@pytest.mark.parametrize("body", [b"", b"<", b"\n<", b"\x1f", b"\x28\xb5"])
def test_a_body_of_a_byte_or_two_is_read_as_the_whole_of_it_would_be(
    coding: str, body: bytes
) -> None:
    expected = whole(body, coding)
    assert streamed([body[n : n + 1] for n in range(len(body))], coding) == expected


@pytest.mark.parametrize("coding", CODERS)
def test_a_bomb_swells_step_by_step_and_can_be_left_at_any_of_them(coding: str) -> None:
    decoder = StreamDecoder(coding, url="http://a.test/")
    body = CODERS[coding](bytes(BIG))
    steps = [len(piece) for piece in itertools.islice(decoder.feed(body), 3)]
    assert max(steps) <= 2 * STEP_BYTES
    assert sum(map(len, decoder.feed(b""))) <= 2 * STEP_BYTES


@pytest.mark.parametrize("coding", CODERS)
def test_large_output_is_complete(coding: str) -> None:
    data = TEXT * 300
    found, truncated = streamed([CODERS[coding](data)], coding)
    assert (found == data, truncated) == (True, False)


def test_nested_bombs_swell_step_by_step() -> None:
    bomb = gzip.compress(gzip.compress(gzip.compress(bytes(BIG))))
    decoder = StreamDecoder("gzip, gzip, gzip", url="http://a.test/")
    assert max(len(piece) for piece in itertools.islice(decoder.feed(bomb), 5)) <= STEP_BYTES


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_a_flood_of_empty_members_is_a_fault(coding: str) -> None:
    with pytest.raises(DecodingError, match="members"):
        streamed([CODERS[coding](b"") * 20_000], coding)


@pytest.mark.parametrize("coding", ["rot13", "gzip, gzip, gzip, gzip"])
def test_what_cannot_be_undone_is_a_fault_at_once(coding: str) -> None:
    with pytest.raises(DecodingError, match="content coding"):
        StreamDecoder(coding, url="http://a.test/")


def test_a_fault_names_the_coding_it_is_in() -> None:
    with pytest.raises(DecodingError, match="broken gzip data"):
        streamed([brotli.compress(b"\x1f\x8b\x08" + bytes(7) + b"\xff" * 50)], "gzip, br")
