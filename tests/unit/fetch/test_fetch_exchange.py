"""Answers from bytes alone: however they are cut into pieces, the same comes out."""

import asyncio
import itertools
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.errors import (
    BodyTooLarge,
    FetchError,
    HeadersTooLarge,
    ProtocolError,
    ReadTimeout,
    TotalTimeout,
    TypeRefused,
)
from skitter.fetch.base import FetchLimits, Request
from skitter.fetch.exchange import Answer, Exchange

LOOP = asyncio.new_event_loop()
LOOP.close()
LIMITS = FetchLimits(header_bytes=500, body_bytes=1000)
REQUEST = Request(url="http://a.test/")

PLAIN = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n"
INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"


def exchange(request: Request = REQUEST, limits: FetchLimits = LIMITS) -> Exchange:
    return Exchange(request, limits, LOOP)


def pieces(data: bytes, cuts: list[int]) -> Iterator[bytes]:
    edges = [0, *sorted({cut % len(data) for cut in cuts} - {0}), len(data)]
    return (data[a:b] for a, b in itertools.pairwise(edges))


def fed(one: Exchange, data: bytes, cuts: list[int] | None = None) -> Answer | None:
    for piece in pieces(data, cuts or []):
        answer = one.feed(piece)
        if answer is not None:
            return answer
    return None


CUTS = st.lists(st.integers(0, 10_000), max_size=8)


@pytest.mark.parametrize("raw", [PLAIN, CHUNKED, INTERIM + PLAIN, INTERIM + CHUNKED])
@given(cuts=CUTS)
def test_an_answer_does_not_depend_on_how_it_is_cut(raw: bytes, cuts: list[int]) -> None:
    answer = fed(exchange(), raw, cuts)
    assert answer is not None
    assert (answer.status, answer.body, answer.truncated) == (200, b"hello", False)


@pytest.mark.parametrize("raw", [PLAIN, CHUNKED])
def test_a_clean_answer_leaves_the_connection_usable(raw: bytes) -> None:
    one = exchange()
    fed(one, raw)
    assert one.reusable


@pytest.mark.parametrize("raw", [PLAIN, CHUNKED])
@given(extra=st.binary(min_size=1, max_size=60))
def test_a_single_byte_too_many_makes_the_connection_unusable(raw: bytes, extra: bytes) -> None:
    one = exchange()
    answer = one.feed(raw + extra)
    assert answer is not None
    assert answer.body == b"hello"
    assert not one.reusable


@pytest.mark.parametrize(
    "raw",
    [
        b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello",
    ],
)
def test_an_answer_that_ends_the_connection_leaves_it_unusable(raw: bytes) -> None:
    one = exchange()
    fed(one, raw)
    assert not one.reusable


@given(cuts=CUTS, size=st.integers(40, len(PLAIN) - 1))
def test_a_body_that_breaks_off_is_given_as_far_as_it_came(cuts: list[int], size: int) -> None:
    one = exchange()
    assert fed(one, PLAIN[:size], cuts) is None
    answer = one.end(None)
    assert answer.truncated
    assert answer.body == PLAIN[PLAIN.index(b"hello") : size]


def test_a_reset_inside_a_body_without_length_is_truncation() -> None:
    one = exchange()
    one.feed(b"HTTP/1.1 200 OK\r\n\r\n<p>half")
    assert one.end(ConnectionResetError(104, "reset")) == (
        200,
        one.end(None).headers,
        b"<p>half",
        True,
    )


def test_a_reset_before_the_body_is_a_fault_that_says_so() -> None:
    one = exchange()
    one.feed(PLAIN[:-5])
    with pytest.raises(ProtocolError, match="connection reset"):
        one.end(ConnectionResetError(104, "x"))


def test_the_end_before_the_answer_and_inside_the_headers_are_told_apart() -> None:
    with pytest.raises(ProtocolError, match="before the answer"):
        exchange().end(None)
    one = exchange()
    one.feed(b"HTTP/1.1 200")
    with pytest.raises(ProtocolError, match="inside the headers"):
        one.end(None)


def test_waiting_in_vain_is_told_by_what_was_waited_for() -> None:
    with pytest.raises(ReadTimeout, match="20 s"):
        exchange().expire(False)
    with pytest.raises(TotalTimeout, match="60 s"):
        exchange().expire(True)
    one = exchange()
    one.feed(PLAIN[:-1])
    with pytest.raises(TotalTimeout):
        one.expire(True)


@given(cuts=CUTS, count=st.integers(60, 200))
def test_heads_over_the_cap_are_refused_however_they_are_cut(cuts: list[int], count: int) -> None:
    raw = b"HTTP/1.1 200 OK\r\n" + b"X-A: bcd\r\n" * count + b"Content-Length: 0\r\n\r\n"
    with pytest.raises(HeadersTooLarge):
        fed(exchange(), raw, cuts)


@given(cuts=CUTS, over=st.integers(1, 500))
def test_bodies_over_the_cap_are_refused_however_they_are_cut(cuts: list[int], over: int) -> None:
    raw = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    raw += b"%x\r\n%s\r\n0\r\n\r\n" % (1000 + over, b"x" * (1000 + over))
    with pytest.raises(BodyTooLarge):
        fed(exchange(), raw, cuts)


@given(cuts=CUTS)
def test_a_refused_type_is_refused_however_it_is_cut(cuts: list[int]) -> None:
    request = Request(url="http://a.test/", accept_types=("text/html",))
    raw = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 5\r\n\r\nhello"
    one = exchange(request)
    with pytest.raises(TypeRefused):
        fed(one, raw, cuts)


def test_a_small_refused_body_is_read_to_its_end() -> None:
    request = Request(url="http://a.test/", accept_types=("text/html",))
    one = exchange(request)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 5\r\n\r\n"
    assert one.feed(head) is None
    with pytest.raises(TypeRefused):
        one.feed(b"hello")
    assert one.reusable


def test_a_large_binary_body_without_type_is_stopped_by_its_first_bytes() -> None:
    request = Request(url="http://a.test/", accept_types=("text/html",))
    with pytest.raises(TypeRefused, match="octet-stream"):
        exchange(request).feed(b"HTTP/1.1 200 OK\r\n\r\n\x89PNG\r\n\x1a\n")


def test_a_flood_of_tiny_chunks_does_not_pile_up() -> None:
    limits = FetchLimits(body_bytes=1_000_000)
    one = exchange(limits=limits)
    one.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    flood = b"1\r\nx\r\n" * 5000
    tracemalloc.start()
    for _ in range(40):
        assert one.feed(flood) is None
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 2_000_000


@given(st.binary(max_size=300), CUTS)
def test_no_bytes_raise_anything_but_fetch_errors(data: bytes, cuts: list[int]) -> None:
    for start in (b"", b"HTTP/1.1 200 OK\r\n", CHUNKED[:50], PLAIN[:30]):
        one = exchange()
        try:
            if fed(one, start + data + b"\n", cuts) is None:
                one.end(None)
        except FetchError:
            pass
