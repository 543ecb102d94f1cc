"""Exchanges kept byte by byte, on real sockets and both event loops."""

import asyncio
import gzip
from typing import Any

import pytest
from fetch_rig import CHUNKED, GENEROUS, SMALL, fetching, flood, get, trickle
from fetch_servers import Done, Script, Talk, answer, on_each_loop, says

from skitter.errors import BodyTooLarge, TotalTimeout
from skitter.fetch.base import FetchLimits, Raw, Request

INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"


def in_pieces(data: bytes, size: int) -> Script:
    async def script(talk: Talk) -> None:
        for start in range(0, len(data), size):
            await talk.send(data[start : start + size])
            await asyncio.sleep(0)

    return script


async def raw_of(script: Script, caps: FetchLimits = GENEROUS, **request: Any) -> Raw:
    response = await get(script, caps, keep_raw=True, **request)
    assert response.raw is not None
    return response.raw


@on_each_loop
async def test_nothing_is_kept_unless_asked_for() -> None:
    assert (await get(says(answer(b"x")))).raw is None


@on_each_loop
async def test_request_and_response_are_kept_as_they_went() -> None:
    whole = answer(b"<p>hello</p>", headers={"X-Odd": "  a\tb  ", "x-ODD": "again"})
    async with fetching(says(whole)) as (server, fetcher):
        request = Request(url=server.url("/"), keep_raw=True, headers={"Cookie": "a=1"})
        raw = (await fetcher.fetch(request)).raw
        assert raw is not None
        assert raw.request == server.heads[0]
        assert b"Cookie: a=1\r\n" in raw.request
    assert raw.response == whole
    assert raw.response[raw.head_bytes :] == b"<p>hello</p>"
    assert raw.cut == ""


@pytest.mark.parametrize("size", [1, 7, 64, 100_000])
@on_each_loop
async def test_chunks_and_coding_are_kept_however_they_arrive(size: int) -> None:
    packed = gzip.compress(b"<p>hello</p>" * 50)
    chunks = b"".join(b"%x;ext=1\r\n%s\r\n" % (len(c), c) for c in (packed[:9], packed[9:]))
    head = CHUNKED.replace(b"\r\n\r\n", b"\r\nContent-Encoding: gzip\r\n\r\n")
    whole = head + chunks + b"0\r\nX-Trailer: 1\r\n\r\n"
    response = await get(in_pieces(whole, size), keep_raw=True)
    assert response.body == b"<p>hello</p>" * 50
    assert response.raw is not None
    assert (response.raw.response, response.raw.head_bytes) == (whole, len(head))


@pytest.mark.parametrize("size", [1, 7, 100_000])
@pytest.mark.parametrize("before", [INTERIM, INTERIM * 3, b"HTTP/1.1 100 Continue\n\n", b"\r\n"])
@on_each_loop
async def test_what_comes_before_the_final_status_line_is_left_out(
    before: bytes, size: int
) -> None:
    whole = answer(b"real")
    assert (await raw_of(in_pieces(before + whole, size))).response == whole


@pytest.mark.parametrize("extra", [answer(b"POISON"), b"garbage", b"\r\n", b"0\r\n\r\n"])
@pytest.mark.parametrize(
    "whole",
    [
        answer(b"first"),
        answer(b"", "204 No Content"),
        answer(b"", "404 Not Found"),
        CHUNKED + b"5\r\nfirst\r\n0\r\n\r\n",
        CHUNKED + b"5\r\nfirst\r\n00\r\nA: b\r\n\r\n",
    ],
    ids=["length", "no content", "empty", "chunked", "trailers"],
)
@on_each_loop
async def test_bytes_after_the_end_are_left_out(whole: bytes, extra: bytes) -> None:
    assert (await raw_of(says(whole + extra))).response == whole


@pytest.mark.parametrize(
    "whole",
    [answer(b"moved", "301 Moved", {"Location": "/x"}), answer(b"gone", "410 Gone")],
)
@on_each_loop
async def test_every_status_is_kept(whole: bytes) -> None:
    assert (await raw_of(says(whole))).response == whole


@on_each_loop
async def test_a_body_that_ends_with_the_connection_is_kept_to_its_end() -> None:
    whole = b"HTTP/1.0 200 OK\r\n\r\n<p>all"
    assert (await raw_of(says(whole, then_close=True))).response == whole


@on_each_loop
async def test_line_feeds_alone_end_a_head_too() -> None:
    head = b"HTTP/1.1 200 OK\nContent-Type: text/html;\n charset=gbk\nContent-Length: 2\n\n"
    raw = await raw_of(says(head + b"ok"))
    assert (raw.response, raw.head_bytes) == (head + b"ok", len(head))


@on_each_loop
async def test_connections_are_used_again_and_each_answer_has_its_own_bytes() -> None:
    chunked = CHUNKED + b"3\r\nabc\r\n0\r\n\r\n"
    async with fetching({"/chunked": says(chunked)}) as (server, fetcher):
        for path in ("/1", "/chunked", "/2", "/chunked"):
            response = await fetcher.fetch(Request(url=server.url(path), keep_raw=True))
            assert response.raw is not None
            assert response.raw.response.endswith(
                f"page {path}</p>".encode() if path != "/chunked" else chunked
            )
            assert response.raw.request.startswith(f"GET {path} ".encode())
        assert server.connections == 1


@on_each_loop
async def test_a_second_try_on_a_fresh_connection_keeps_the_second_answer_alone() -> None:
    async def once_per_connection(talk: Talk) -> None:
        if talk.connection == 1 and len(server.heads) > 1:
            raise Done
        await talk.send(answer(b"ok %d" % talk.connection))

    async with fetching(once_per_connection) as (server, fetcher):
        await fetcher.fetch(Request(url=server.url()))
        response = await fetcher.fetch(Request(url=server.url(), keep_raw=True))
        assert response.raw is not None
        assert response.raw.response == answer(b"ok 2")


# ------------------------------------------------------------------ what did not come whole


@pytest.mark.parametrize(
    "part",
    [
        answer(b"<p>half", headers={"Content-Length": "1000"}),
        CHUNKED + b"7\r\n<p>half\r\n",
        CHUNKED + b"7\r\n<p>half\r\nZZZ\r\n",
    ],
    ids=["length", "chunked", "broken chunks"],
)
@on_each_loop
async def test_what_came_before_an_early_close_is_kept_and_the_reason_told(part: bytes) -> None:
    response = await get(says(part, then_close=True), keep_raw=True)
    assert (response.body, response.truncated, response.cut) == (b"<p>half", True, "disconnect")
    assert response.raw is not None
    assert (response.raw.response, response.raw.cut) == (part, "disconnect")


@on_each_loop
async def test_a_timeout_leaves_the_part_of_an_error_page_and_fails_a_page() -> None:
    part = answer(b"abc", "404 Not Found", {"Content-Length": "10"})
    response = await get(trickle(part, b""), SMALL, keep_raw=True)
    assert (response.body, response.truncated, response.cut) == (b"abc", True, "time")
    assert response.raw is not None
    assert (response.raw.response, response.raw.cut) == (part, "time")
    with pytest.raises(TotalTimeout):
        await get(trickle(part.replace(b"404", b"200"), b""), SMALL, keep_raw=True)


@on_each_loop
async def test_what_is_kept_of_an_endless_error_page_is_bounded() -> None:
    head = b"HTTP/1.1 500 Oops\r\n\r\n"
    response = await get(flood(head, b"x" * 1024), keep_raw=True)
    assert (len(response.body), response.cut) == (10_000, "length")
    assert response.raw is not None
    assert response.raw.cut == "length"
    assert len(response.raw.response) < 10_000 + 600_000


@on_each_loop
async def test_an_endless_page_is_still_refused() -> None:
    with pytest.raises(BodyTooLarge):
        await get(flood(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 1024), keep_raw=True)


@on_each_loop
async def test_a_body_cut_by_the_request_says_so_and_keeps_what_came() -> None:
    script = flood(b"HTTP/1.1 200 OK\r\n\r\n", b"Disallow: /x\n" * 99)
    response = await get(script, cut_bytes=5000, keep_raw=True)
    assert (len(response.body), response.cut) == (5000, "length")
    assert response.raw is not None
    assert response.raw.cut == "length"
    assert response.raw.response[response.raw.head_bytes :].startswith(response.body)


@on_each_loop
async def test_bytes_that_came_whole_are_not_called_cut_because_the_body_is() -> None:
    for whole in (
        answer(b"x" * 900),
        answer(gzip.compress(b"x" * 900), headers={"Content-Encoding": "gzip"}),
    ):
        response = await get(says(whole), cut_bytes=500, keep_raw=True)
        assert (len(response.body), response.cut) == (500, "length")
        assert response.raw is not None
        assert (response.raw.response, response.raw.cut) == (whole, "")


@on_each_loop
async def test_a_compressed_stream_that_stops_is_told_as_an_early_close() -> None:
    packed = gzip.compress(b"<p>hello</p>" * 500)[:-20]
    response = await get(says(answer(packed, headers={"Content-Encoding": "gzip"})))
    assert (response.truncated, response.cut) == (True, "disconnect")


@on_each_loop
async def test_an_error_page_that_swells_is_cut_at_the_cap_and_says_so() -> None:
    bomb = answer(gzip.compress(bytes(1_000_000)), "404 No", {"Content-Encoding": "gzip"})
    response = await get(says(bomb), keep_raw=True)
    assert (response.body, response.truncated, response.cut) == (bytes(10_000), True, "length")
    assert response.raw is not None
    assert (response.raw.response, response.raw.cut) == (bomb, "")


@on_each_loop
async def test_an_error_page_that_cannot_be_read_is_truncated_but_its_bytes_are_whole() -> None:
    whole = answer(b"uryyb", "404 No", {"Content-Encoding": "rot13"})
    response = await get(says(whole), keep_raw=True)
    assert (response.body, response.truncated, response.cut) == (b"", True, "")
    assert response.raw is not None
    assert response.raw.response == whole
