"""Answers from bytes alone: however they are cut into pieces, the same comes out."""

import asyncio
import itertools
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
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
    assert (answer.status, answer.body, answer.cut) == (200, b"hello", "")


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
    assert answer.cut == "disconnect"
    assert answer.body == PLAIN[PLAIN.index(b"hello") : size]


def test_a_reset_inside_a_body_without_length_is_truncation() -> None:
    one = exchange()
    one.feed(b"HTTP/1.1 200 OK\r\n\r\n<p>half")
    assert one.end(ConnectionResetError(104, "reset")) == (
        200,
        one.end(None).headers,
        b"<p>half",
        "disconnect",
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


# ------------------------------------------------------------------ bytes as they came

KEPT = Request(url="http://a.test/", keep_raw=True)
TRAILERS = CHUNKED[:-2] + b"X-Sum: 1\r\n\r\n"
BARE = b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"
LINE_FEEDS = b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello"


@pytest.mark.parametrize("before", [b"", INTERIM, INTERIM * 2, b"\r\n\r\n"])
@pytest.mark.parametrize("raw", [PLAIN, CHUNKED, TRAILERS, BARE, LINE_FEEDS])
@given(cuts=CUTS)
@settings(max_examples=25)
def test_the_bytes_kept_are_those_of_the_final_message_however_they_are_cut(
    before: bytes, raw: bytes, cuts: list[int]
) -> None:
    one = exchange(KEPT)
    assert fed(one, before + raw, cuts) is not None
    kept = one.message()
    assert kept is not None
    assert kept.data == raw
    assert kept.data[: kept.head_bytes].endswith((b"\r\n\r\n", b"\n\n"))


@pytest.mark.parametrize("raw", [PLAIN, CHUNKED, TRAILERS, BARE])
@given(extra=st.binary(min_size=1, max_size=40))
@settings(max_examples=25)
def test_surplus_in_the_same_piece_is_left_out(raw: bytes, extra: bytes) -> None:
    one = exchange(KEPT)
    assert one.feed(raw + extra) is not None
    kept = one.message()
    assert kept is not None
    assert kept.data == raw


def test_an_answer_of_one_piece_is_kept_without_a_copy() -> None:
    one = exchange(KEPT)
    one.feed(PLAIN)
    kept = one.message()
    assert kept is not None
    assert kept.data is PLAIN


def test_a_flood_of_tiny_pieces_is_kept_in_little_memory() -> None:
    one = exchange(KEPT, FetchLimits(body_bytes=1_000_000))
    one.feed(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
    tracemalloc.start()
    for number in range(40_000):
        one.feed(b"%02d" % (number % 100))
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 400_000


def test_nothing_is_kept_unless_asked_for() -> None:
    one = exchange()
    one.feed(PLAIN)
    assert one.message() is None


# ------------------------------------------------------------------ cuts and types


def test_a_body_of_exactly_the_cut_is_whole_even_if_its_last_chunk_is_late() -> None:
    one = exchange(Request(url="http://a.test/", cut_bytes=5))
    assert one.feed(CHUNKED[:-5]) is None
    answer = one.feed(CHUNKED[-5:])
    assert answer is not None
    assert (answer.body, answer.cut) == (b"hello", "")


@pytest.mark.parametrize(("total", "why"), [(True, "time"), (False, "time")])
def test_an_error_page_that_is_late_says_so(total: bool, why: str) -> None:
    one = exchange()
    one.feed(PLAIN[:-1].replace(b"200", b"404"))
    assert one.expire(total).cut == why


def test_an_error_page_over_the_cap_says_so() -> None:
    answer = exchange().feed(b"HTTP/1.1 404 No\r\nContent-Length: 5000\r\n\r\n<p>")
    assert answer is not None
    assert (answer.body, answer.cut) == (b"<p>", "length")


HTML = Request(url="http://a.test/", accept_types=("text/html",))


@given(cuts=CUTS)
def test_a_page_without_type_is_told_by_its_first_bytes_however_they_are_cut(
    cuts: list[int],
) -> None:
    one = exchange(HTML)
    body = b" \n<!DocType html><p>hello"
    answer = fed(one, b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body), cuts)
    assert answer is not None
    assert answer.body == body


@pytest.mark.parametrize("kind", ["application/octet-stream", "binary/octet-stream;x=y"])
def test_a_page_sent_as_any_file_is_taken_if_it_looks_like_one(kind: str) -> None:
    request = Request(url="http://a.test/x.html", accept_types=("text/html",))
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\nContent-Length: 20\r\n\r\n".encode()
    assert exchange(request).feed(head + b"<html><p>aaaaaaaaaaa") is not None
    with pytest.raises(TypeRefused, match="octet-stream"):
        exchange(request).feed(head + b"\x00" * 19)


def test_a_refused_body_that_breaks_off_is_still_refused() -> None:
    one = exchange(HTML)
    one.feed(b"HTTP/1.1 200 OK\r\nContent-Type: image/png\r\nContent-Length: 5\r\n\r\nhel")
    with pytest.raises(TypeRefused):
        one.end(None)


# ------------------------------------------------------------------ bodies handed on


@pytest.mark.parametrize("raw", [PLAIN, CHUNKED, INTERIM + CHUNKED])
@given(cuts=CUTS)
def test_a_streamed_body_does_not_depend_on_how_it_is_cut(raw: bytes, cuts: list[int]) -> None:
    pieces: list[bytes] = []
    one = exchange(Request(url="http://a.test/x.html", stream=pieces.append))
    answer = fed(one, raw, cuts)
    assert answer is not None
    assert (answer.body, answer.cut, one.wire_bytes) == (b"", "", 5)
    assert b"".join(pieces) == b"hello"
