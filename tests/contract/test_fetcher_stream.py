"""Bodies handed on while they arrive, on real sockets and both event loops."""

import asyncio
import dataclasses
import gzip
import json
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import brotli
import pytest
from backports import zstd
from fetch_rig import CHUNKED, GENEROUS, SMALL, fetching, flood, get, trickle
from fetch_servers import Done, Script, Talk, answer, on_each_loop, says

from skitter.errors import (
    BodyTooLarge,
    DecodingError,
    ProtocolError,
    TotalTimeout,
    TypeRefused,
)
from skitter.fetch.base import FetchLimits, Request, Response

TEXT = b"".join(b"<p>line %d of the page</p>\n" % n for n in range(300))
CODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": lambda data: brotli.compress(data, quality=5),
    "zstd": zstd.compress,
}


async def stream(
    script: Script, caps: FetchLimits = GENEROUS, **request: Any
) -> tuple[Response, list[bytes]]:
    """Fetch "/" and return the answer and the pieces of its body."""
    pieces: list[bytes] = []
    response = await get(script, caps, stream=pieces.append, **request)
    assert b"" not in pieces
    return response, pieces


def coded(body: bytes, coding: str, length: int | None = None) -> bytes:
    fields = {"Content-Encoding": coding, "Content-Length": str(length or len(body))}
    return answer(body, headers=fields)


def bit_by_bit(head: bytes, body: bytes, size: int) -> Script:
    async def script(talk: Talk) -> None:
        await talk.send(head)
        for start in range(0, len(body), size):
            await asyncio.sleep(0)
            await talk.send(body[start : start + size])

    return script


# ------------------------------------------------------------------ whole bodies


@on_each_loop
async def test_a_body_is_handed_on_and_not_kept() -> None:
    response, pieces = await stream(says(answer(TEXT)))
    assert b"".join(pieces) == TEXT
    assert (response.status, response.body, response.wire_bytes) == (200, b"", len(TEXT))
    assert (response.truncated, response.cut) == (False, "")


@on_each_loop
async def test_pieces_are_handed_on_before_the_end_comes() -> None:
    seen = asyncio.Event()
    pieces: list[bytes] = []

    def take(piece: bytes) -> None:
        pieces.append(piece)
        seen.set()

    async def waits(talk: Talk) -> None:
        await talk.send(answer(b"<p>one", headers={"Content-Length": "12"}))
        await seen.wait()
        await talk.send(b"<p>two")

    await get(waits, stream=take)
    assert pieces == [b"<p>one", b"<p>two"]


@on_each_loop
async def test_a_consumer_that_is_full_gets_no_more_until_it_has_room() -> None:
    size = 8_000_000
    room: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    seen = asyncio.Event()
    taken: list[int] = []

    def take(piece: bytes) -> asyncio.Future[None]:
        taken.append(len(piece))
        seen.set()
        return room

    caps = dataclasses.replace(GENEROUS, body_bytes=size)
    getting = asyncio.create_task(get(says(answer(b"x" * size)), caps, stream=take))
    await seen.wait()
    for _ in range(500):
        await asyncio.sleep(0)
    assert sum(taken) < 1_000_000
    room.set_result(None)
    await getting
    assert sum(taken) == size


@pytest.mark.parametrize("size", [1, 13, 4000])
@pytest.mark.parametrize("coding", CODERS)
@on_each_loop
async def test_a_compressed_body_is_decompressed_however_it_arrives(coding: str, size: int) -> None:
    body = CODERS[coding](TEXT)
    head, _, _ = coded(body, coding).partition(body)
    response, pieces = await stream(bit_by_bit(head, body, size))
    assert b"".join(pieces) == TEXT
    assert (response.wire_bytes, response.truncated) == (len(body), False)


@on_each_loop
async def test_tiny_chunks_after_an_interim_answer_are_put_together() -> None:
    body = gzip.compress(TEXT[:3000]) + gzip.compress(TEXT[3000:]) + b"garbage"
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
    head = b"HTTP/1.1 103 Early Hints\r\n\r\n" + CHUNKED[:-2] + b"Content-Encoding: gzip\r\n\r\n"
    response, pieces = await stream(bit_by_bit(head, chunks, 7))
    assert b"".join(pieces) == TEXT
    assert (response.wire_bytes, response.truncated) == (len(body), False)


@on_each_loop
async def test_a_connection_is_used_again_after_a_stream() -> None:
    async with fetching(
        {"/": says(answer(TEXT)), "/z": says(coded(gzip.compress(TEXT), "gzip"))}
    ) as (
        server,
        fetcher,
    ):
        for path in ("/", "/z", "/"):
            pieces: list[bytes] = []
            await fetcher.fetch(Request(url=server.url(path), stream=pieces.append))
            assert b"".join(pieces) == TEXT
        assert server.connections == 1


@pytest.mark.parametrize("status", ["404 Not Found", "301 Moved", "206 Partial Content"])
@on_each_loop
async def test_the_body_of_another_status_comes_as_usual(status: str) -> None:
    response, pieces = await stream(says(answer(b"<p>no", status)))
    assert (response.body, pieces) == (b"<p>no", [])


@pytest.mark.parametrize("status", ["404 Not Found", "301 Moved"])
@on_each_loop
async def test_little_is_read_of_a_body_that_nobody_takes(status: str) -> None:
    caps = dataclasses.replace(GENEROUS, body_bytes=100_000_000)
    head = f"HTTP/1.1 {status}\r\nLocation: /x\r\n\r\n".encode()
    closed = asyncio.Event()

    async def endless(talk: Talk) -> None:
        await talk.send(head)
        try:
            while True:
                await talk.send(b"x" * 10_000)
        finally:
            closed.set()

    async with fetching(endless, caps) as (server, fetcher):
        pieces: list[bytes] = []
        response = await fetcher.fetch(Request(url=server.url(), stream=pieces.append))
        await closed.wait()
    assert (len(response.body), pieces) == (64 * 1024, [])
    assert (response.truncated, response.cut) == (True, "length")
    assert response.headers["location"] == "/x"


@on_each_loop
async def test_a_body_that_nobody_takes_does_not_unpack_to_more() -> None:
    caps = dataclasses.replace(GENEROUS, body_bytes=100_000_000)
    whole = coded(gzip.compress(bytes(5_000_000)), "gzip").replace(b"200 OK", b"404 Not Found")
    response, pieces = await stream(says(whole), caps)
    assert (response.status, len(response.body), pieces) == (404, 64 * 1024, [])
    assert (response.truncated, response.cut) == (True, "length")


@on_each_loop
async def test_an_empty_body_is_no_piece_whatever_its_coding() -> None:
    for headers in ({}, {"Content-Encoding": "gzip"}, {"Content-Encoding": "rot13"}):
        response, pieces = await stream(says(answer(b"", headers=headers)))
        assert (response.truncated, pieces) == (False, [])


@on_each_loop
async def test_bytes_may_be_kept_as_well() -> None:
    whole = coded(gzip.compress(TEXT), "gzip")
    response, pieces = await stream(says(whole), keep_raw=True)
    assert b"".join(pieces) == TEXT
    assert response.raw is not None
    assert response.raw.response == whole


# ------------------------------------------------------------------ sizes


@pytest.mark.parametrize("coding", CODERS)
@on_each_loop
async def test_a_bomb_is_stopped_at_the_cap(coding: str) -> None:
    bomb = CODERS[coding](bytes(30_000_000))[:9000]
    pieces: list[bytes] = []
    with pytest.raises(BodyTooLarge, match="decompressed"):
        await get(says(coded(bomb, coding)), stream=pieces.append)
    assert sum(map(len, pieces)) <= GENEROUS.body_bytes


@pytest.mark.parametrize("coding", CODERS)
@on_each_loop
async def test_a_bomb_is_cut_where_the_request_says(coding: str) -> None:
    bomb = CODERS[coding](bytes(3_000_000))
    response, pieces = await stream(says(coded(bomb, coding)), cut_bytes=5000)
    assert b"".join(pieces) == bytes(5000)
    assert (response.truncated, response.cut) == (True, "length")


@on_each_loop
async def test_nested_bombs_are_stopped_at_the_cap() -> None:
    bomb = gzip.compress(gzip.compress(bytes(30_000_000)))
    with pytest.raises(BodyTooLarge):
        await stream(says(coded(bomb, "gzip, gzip")))


@pytest.mark.parametrize(
    "script",
    [
        says(answer(headers={"Content-Length": "10001"})),
        says(answer(b"x" * 10_001)),
        flood(CHUNKED, b"400\r\n" + b"x" * 0x400 + b"\r\n"),
        flood(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 1024),
        flood(CHUNKED + b"1;", b"x" * 1024),
        flood(
            CHUNKED[:-2] + b"Content-Encoding: gzip\r\n\r\n", b"400\r\n" + b"\0" * 1024 + b"\r\n"
        ),
    ],
    ids=["promised", "sent", "chunked", "to the close", "chunk extension", "coded"],
)
@on_each_loop
async def test_a_body_over_the_cap_on_the_wire_is_refused(script: Script) -> None:
    pieces: list[bytes] = []
    with pytest.raises(BodyTooLarge):
        await get(script, stream=pieces.append)
    assert sum(map(len, pieces)) <= GENEROUS.body_bytes


@on_each_loop
async def test_a_body_of_exactly_the_cap_is_taken() -> None:
    _, pieces = await stream(says(answer(b"x" * 10_000)))
    assert len(b"".join(pieces)) == 10_000
    _, pieces = await stream(says(coded(gzip.compress(b"x" * 10_000), "gzip")))
    assert len(b"".join(pieces)) == 10_000


@on_each_loop
async def test_an_endless_stream_ends_where_the_request_cuts_it() -> None:
    closed = asyncio.Event()

    async def endless(talk: Talk) -> None:
        await talk.send(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
        try:
            while True:
                await talk.send(b"0123456789" * 100)
        finally:
            closed.set()

    async with fetching(endless) as (server, fetcher):
        pieces: list[bytes] = []
        request = Request(url=server.url(), stream=pieces.append, cut_bytes=4321)
        response = await fetcher.fetch(request)
        await closed.wait()
    assert b"".join(pieces) == (b"0123456789" * 500)[:4321]
    assert (response.truncated, response.cut) == (True, "length")


@on_each_loop
async def test_a_body_that_is_shorter_than_the_cut_is_whole() -> None:
    response, pieces = await stream(says(answer(b"x" * 500)), cut_bytes=500)
    assert (len(b"".join(pieces)), response.truncated) == (500, False)


# ------------------------------------------------------------------ broken bodies


@pytest.mark.parametrize("coding", CODERS)
@on_each_loop
async def test_a_stream_that_breaks_off_gives_what_came_and_says_so(coding: str) -> None:
    body = CODERS[coding](TEXT)
    half = body[: len(body) // 2]
    response, pieces = await stream(says(coded(half, coding, len(body)), then_close=True))
    assert (response.truncated, response.cut) == (True, "disconnect")
    assert TEXT.startswith(b"".join(pieces))
    assert response.wire_bytes == len(half)


@on_each_loop
async def test_a_plain_stream_that_breaks_off_gives_every_byte_that_came() -> None:
    for part in (
        answer(b"<p>half", headers={"Content-Length": "1000"}),
        CHUNKED + b"7\r\n<p>half\r\nZZZ\r\n",
    ):
        response, pieces = await stream(says(part, then_close=True))
        assert (pieces, response.cut) == ([b"<p>half"], "disconnect")


@on_each_loop
async def test_a_compressed_stream_that_stops_in_a_whole_answer_is_truncated() -> None:
    response, pieces = await stream(says(coded(gzip.compress(TEXT)[:-9], "gzip")))
    assert TEXT.startswith(b"".join(pieces))
    assert (response.truncated, response.cut) == (True, "disconnect")


@on_each_loop
async def test_an_early_close_before_the_first_byte_of_the_body_is_a_fault() -> None:
    with pytest.raises(ProtocolError):
        await stream(says(answer(headers={"Content-Length": "1000"}), then_close=True))


@on_each_loop
async def test_a_stream_that_hangs_is_a_total_timeout() -> None:
    pieces: list[bytes] = []
    with pytest.raises(TotalTimeout):
        await get(trickle(CHUNKED, b"1\r\na\r\n"), SMALL, stream=pieces.append)
    assert set(pieces) == {b"a"}


@on_each_loop
async def test_broken_and_unknown_codings_are_faults() -> None:
    with pytest.raises(DecodingError, match="rot13"):
        await stream(says(coded(b"uryyb", "rot13")))
    with pytest.raises(DecodingError, match="broken gzip"):
        await stream(says(coded(b"\x1f\x8b\x08" + bytes(7) + b"\xff" * 50, "gzip")))


# ------------------------------------------------------------------ the one who takes the pieces


@pytest.mark.parametrize(
    "fault",
    [ValueError("enough"), ProtocolError("http://other.test/", "mine"), asyncio.CancelledError()],
    ids=["any", "fetch error", "cancelled"],
)
@pytest.mark.parametrize("whole", [True, False])
@on_each_loop
async def test_what_the_consumer_raises_reaches_the_caller_and_ends_the_connection(
    fault: BaseException, whole: bool
) -> None:
    closed = asyncio.Event()

    async def script(talk: Talk) -> None:
        await talk.send(answer(b"x" * 100, headers={} if whole else {"Content-Length": "5000"}))
        await talk.until_closed()
        closed.set()

    def refuse(_piece: bytes) -> None:
        raise fault

    async with fetching(script) as (server, fetcher):
        with pytest.raises(type(fault)) as caught:
            await fetcher.fetch(Request(url=server.url(), stream=refuse))
        assert caught.value is fault
        assert fault.__cause__ is None
        await closed.wait()
        assert fetcher.pool.idle_count == 0
        assert (await fetcher.fetch(Request(url=server.url("/next")))).status == 200


@on_each_loop
async def test_a_consumer_that_fails_on_the_rest_of_a_broken_stream_is_heard_too() -> None:
    def refuse(_piece: bytes) -> None:
        raise LookupError("no")

    with pytest.raises(LookupError):
        await get(says(CHUNKED + b"7\r\n<p>half\r\nZZZ\r\n", then_close=True), stream=refuse)


@on_each_loop
async def test_a_connection_that_died_while_idle_has_handed_on_nothing() -> None:
    async def once_per_connection(talk: Talk) -> None:
        if talk.connection == 1 and len(server.heads) > 1:
            raise Done
        await talk.send(answer(b"ok"))

    async with fetching(once_per_connection) as (server, fetcher):
        await fetcher.fetch(Request(url=server.url()))
        pieces: list[bytes] = []
        await fetcher.fetch(Request(url=server.url(), stream=pieces.append))
        assert (pieces, server.connections) == ([b"ok"], 2)


@on_each_loop
async def test_a_cancelled_stream_hands_on_nothing_more() -> None:
    started = asyncio.Event()
    pieces: list[bytes] = []

    def take(piece: bytes) -> None:
        pieces.append(piece)
        started.set()

    async with fetching(trickle(CHUNKED, b"1\r\na\r\n")) as (server, fetcher):
        task = asyncio.ensure_future(fetcher.fetch(Request(url=server.url(), stream=take)))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        count = len(pieces)
        await fetcher.fetch(Request(url=server.url("/next")))
        assert len(pieces) == count


# ------------------------------------------------------------------ a consumer that is full

SWOLLEN = 3_000_000


class Slow:
    """Takes one piece, then says it is full until there is ``room``."""

    def __init__(self) -> None:
        self.room: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.seen = asyncio.Event()
        self.taken = 0
        self.fault: Exception | None = None

    def __call__(self, piece: bytes) -> asyncio.Future[None]:
        if self.taken and self.fault is not None:
            raise self.fault
        self.taken += len(piece)
        self.seen.set()
        return self.room


def swollen(cap: int = SWOLLEN, *, whole: bool = True) -> tuple[Script, FetchLimits]:
    """Return a body that comes at once and unpacks to a thousand times as much, and limits."""
    body = gzip.compress(bytes(SWOLLEN))
    sent = coded(body, "gzip", len(body) + (not whole))
    return says(sent, then_close=not whole), dataclasses.replace(GENEROUS, body_bytes=cap)


async def full_of(slow: Slow, script: Script, caps: FetchLimits) -> asyncio.Task[Response]:
    """Fetch until the consumer is full; all of the answer has come by then."""
    getting = asyncio.create_task(get(script, caps, stream=slow))
    await slow.seen.wait()
    for _ in range(100):
        await asyncio.sleep(0)
    assert slow.taken < SWOLLEN // 10
    assert not getting.done()
    return getting


@pytest.mark.parametrize("whole", [True, False])
@on_each_loop
async def test_what_one_burst_unpacks_to_waits_for_room_too(whole: bool) -> None:
    slow = Slow()
    getting = await full_of(slow, *swollen(whole=whole))
    slow.room.set_result(None)
    response = await getting
    assert (slow.taken, response.truncated) == (SWOLLEN, not whole)


@on_each_loop
async def test_a_cap_holds_for_what_waited() -> None:
    slow = Slow()
    getting = await full_of(slow, *swollen(SWOLLEN - 1))
    slow.room.set_result(None)
    with pytest.raises(BodyTooLarge, match="decompressed"):
        await getting
    assert slow.taken < SWOLLEN


@on_each_loop
async def test_what_the_consumer_raises_on_what_waited_reaches_the_caller() -> None:
    slow = Slow()
    slow.fault = LookupError("no")
    getting = await full_of(slow, *swollen())
    slow.room.set_result(None)
    with pytest.raises(LookupError):
        await getting


@on_each_loop
async def test_a_fetch_cancelled_while_it_waits_for_room_hands_on_nothing_more() -> None:
    slow = Slow()
    getting = await full_of(slow, *swollen())
    getting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await getting
    taken = slow.taken
    assert not slow.room.done(), "it belongs to the consumer"
    slow.room.set_result(None)
    await asyncio.sleep(0)
    assert slow.taken == taken


@on_each_loop
async def test_what_came_before_a_stream_hangs_is_handed_on_before_the_timeout() -> None:
    slow = Slow()

    async def hangs(talk: Talk) -> None:
        body = gzip.compress(bytes(SWOLLEN))
        await talk.send(coded(body, "gzip", len(body) + 1))
        await talk.until_closed()

    caps = dataclasses.replace(SMALL, body_bytes=SWOLLEN)
    getting = await full_of(slow, hangs, caps)
    slow.room.set_result(None)
    with pytest.raises(TotalTimeout):
        await getting
    assert slow.taken == SWOLLEN


# ------------------------------------------------------------------ types

HTML = ("text/html",)


def typeless(body: bytes, **fields: str) -> bytes:
    return answer(body, headers=fields).replace(b"Content-Type: text/html\r\n", b"")


@on_each_loop
async def test_an_unwanted_type_is_refused_before_a_piece_is_handed_on() -> None:
    pieces: list[bytes] = []
    for whole in (
        answer(b"GIF89a", headers={"Content-Type": "image/gif"}),
        typeless(b"\x89PNG\r\n\x1a\n" + bytes(2000)),
        typeless(b"plain words"),
        typeless(gzip.compress(b"plain words" * 500), **{"Content-Encoding": "gzip"}),
    ):
        with pytest.raises(TypeRefused):
            await get(says(whole), stream=pieces.append, accept_types=HTML)
    assert pieces == []


@pytest.mark.parametrize("size", [1, 5000])
@on_each_loop
async def test_a_page_without_type_is_told_by_its_first_bytes_however_they_arrive(
    size: int,
) -> None:
    page = b"\n<!doctype html>" + TEXT
    for body, fields in (
        (page, {}),
        (gzip.compress(page), {"Content-Encoding": "gzip"}),
        (b"<html>", {}),
    ):
        whole = typeless(body, **fields)
        response, pieces = await stream(bit_by_bit(b"", whole, size), accept_types=HTML)
        assert b"".join(pieces) in (page, body)
        assert response.media_type == "text/html"


@on_each_loop
async def test_the_type_is_told_even_if_every_type_is_wanted() -> None:
    response, pieces = await stream(says(typeless(b"%PDF-1.7 ...")))
    assert (response.media_type, pieces) == ("application/pdf", [b"%PDF-1.7 ..."])


# ------------------------------------------------------------------ memory

_CHILD = Path(__file__).with_name("stream_child.py")


@pytest.mark.parametrize("coding", ["identity", *CODERS])
def test_memory_stays_flat_while_fifty_megabytes_stream_by(coding: str) -> None:
    done = subprocess.run(
        [sys.executable, str(_CHILD), coding], capture_output=True, text=True, check=True
    )
    found = json.loads(done.stdout)
    assert found["bytes"] == 50_000_000
    assert found["grown_kib"] < 16 * 1024, found
