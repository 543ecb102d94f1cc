"""The HTTP fetcher against servers that do not behave, on both event loops."""

import asyncio
import errno
import gzip
import random
import resource
import socket
from typing import Any

import aiohappyeyeballs
import pytest
from fetch_rig import (
    CHUNKED,
    GENEROUS,
    PRIVATE,
    QUICK_ANSWER,
    QUICK_CONNECT,
    SMALL,
    fetching,
    flood,
    get,
    hang,
    trickle,
)
from fetch_servers import Done, Script, Talk, answer, on_each_loop, says

from skitter.errors import (
    AddressRefused,
    BodyTooLarge,
    ConnectError,
    ConnectTimeout,
    DecodingError,
    DnsError,
    FetchError,
    HeadersTooLarge,
    ProtocolError,
    ReadTimeout,
    TlsError,
    TotalTimeout,
    TypeRefused,
)
from skitter.fetch import pool as pool_module
from skitter.fetch.base import Request
from skitter.fetch.dns import Resolved, Resolver
from skitter.fetch.exchange import Exchange
from skitter.fetch.guard import AddressGuard
from skitter.fetch.hosts import HostsTable
from skitter.fetch.http import HttpFetcher, default_headers
from skitter.fetch.pool import PoolOptions
from skitter.testing.virtual_clock import VirtualClock

# ------------------------------------------------------------------ connections


@on_each_loop
async def test_one_connection_serves_many_requests_in_turn() -> None:
    async with fetching({}) as (server, fetcher):
        for number in range(5):
            response = await fetcher.fetch(Request(url=server.url(f"/{number}")))
            assert response.body == f"<p>page /{number}</p>".encode()
        assert server.connections == 1


@on_each_loop
async def test_a_chunked_answer_leaves_the_connection_open_for_the_next() -> None:
    chunked = CHUNKED + b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
    async with fetching({"/": says(chunked)}) as (server, fetcher):
        for _ in range(3):
            assert (await fetcher.fetch(Request(url=server.url()))).body == b"abcde"
        assert server.connections == 1


@on_each_loop
async def test_requests_at_the_same_time_get_connections_of_their_own() -> None:
    async with fetching({}) as (server, fetcher):
        urls = [server.url(f"/{n}") for n in range(8)]
        answers = await asyncio.gather(*(fetcher.fetch(Request(url=url)) for url in urls))
        assert [a.url for a in answers] == urls
        assert server.connections == 8


@on_each_loop
async def test_a_connection_the_server_wants_closed_is_not_used_again() -> None:
    closing = says(answer(b"x", headers={"Connection": "close"}))
    async with fetching(closing) as (server, fetcher):
        await fetcher.fetch(Request(url=server.url()))
        await fetcher.fetch(Request(url=server.url()))
        assert server.connections == 2


@on_each_loop
async def test_an_idle_connection_that_died_is_replaced_without_a_fault() -> None:
    async def once_per_connection(talk: Talk) -> None:
        if talk.connection == 1 and len(server.heads) > 1:
            raise Done
        await talk.send(answer(b"ok"))

    async with fetching(once_per_connection) as (server, fetcher):
        await fetcher.fetch(Request(url=server.url()))
        assert (await fetcher.fetch(Request(url=server.url()))).body == b"ok"
        assert (server.connections, len(server.heads)) == (2, 3)


@on_each_loop
async def test_an_empty_reply_on_a_new_connection_is_a_fault_and_is_not_retried() -> None:
    async with fetching(says(b"", then_close=True)) as (server, fetcher):
        with pytest.raises(ProtocolError, match="before the answer"):
            await fetcher.fetch(Request(url=server.url()))
        assert len(server.heads) == 1


@on_each_loop
async def test_idle_connections_are_bounded_and_the_oldest_goes_first() -> None:
    async with fetching({}, pool=PoolOptions(max_idle=3)) as (server, fetcher):
        for number in range(10):
            await fetcher.fetch(Request(url=server.url("/", f"h{number}.test")))
            assert fetcher.pool.idle_count <= 3
        await fetcher.fetch(Request(url=server.url("/", "h9.test")))
        assert server.connections == 10
        await fetcher.fetch(Request(url=server.url("/", "h0.test")))
        assert server.connections == 11


@on_each_loop
async def test_idle_connections_leave_files_for_the_rest_of_the_process(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _kind: (16, 16))
    async with fetching({}, pool=PoolOptions(max_idle=512)) as (server, fetcher):
        for number in range(10):
            await fetcher.fetch(Request(url=server.url("/", f"h{number}.test")))
        assert fetcher.pool.idle_count == 4


@on_each_loop
async def test_an_idle_connection_is_closed_when_it_is_old() -> None:
    closed = asyncio.Event()

    async def watched(talk: Talk) -> None:
        await talk.send(answer(b"x"))
        await talk.until_closed()
        closed.set()

    clock = VirtualClock()
    options = PoolOptions(keepalive_s=30, tick_s=0.01)
    async with fetching(watched, pool=options, clock=clock) as (server, fetcher):
        await fetcher.fetch(Request(url=server.url()))
        assert fetcher.pool.idle_count == 1
        clock.advance(31)
        await closed.wait()
        assert fetcher.pool.idle_count == 0


@on_each_loop
async def test_out_of_files_closes_idle_connections_and_tries_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = aiohappyeyeballs.start_connection
    async with fetching({}) as (server, fetcher):
        await fetcher.fetch(Request(url=server.url("/", "a.test")))

        async def scarce(*args: Any, **kwargs: Any) -> socket.socket:
            if fetcher.pool.idle_count:
                raise OSError(errno.EMFILE, "Too many open files")
            return await real(*args, **kwargs)

        monkeypatch.setattr(pool_module, "start_connection", scarce)
        assert (await fetcher.fetch(Request(url=server.url("/", "b.test")))).status == 200


@on_each_loop
async def test_out_of_files_is_not_held_against_the_host(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scarce(*_args: Any, **_kwargs: Any) -> socket.socket:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(pool_module, "start_connection", scarce)
    async with fetching({}) as (server, fetcher):
        with pytest.raises(FetchError, match="file descriptors") as caught:
            await fetcher.fetch(Request(url=server.url()))
        assert not caught.value.host_fault


@on_each_loop
async def test_a_cancelled_fetch_takes_its_connection_with_it() -> None:
    reached = asyncio.Event()
    gone = asyncio.Event()

    async def slow(talk: Talk) -> None:
        reached.set()
        await talk.until_closed()
        gone.set()

    async with fetching({"/slow": slow}) as (server, fetcher):
        task = asyncio.ensure_future(fetcher.fetch(Request(url=server.url("/slow"))))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await gone.wait()
        assert fetcher.pool.open_count == 0


@on_each_loop
async def test_closing_ends_fetches_at_work() -> None:
    reached = asyncio.Event()

    async def slow(talk: Talk) -> None:
        reached.set()
        await talk.until_closed()

    async with fetching(slow) as (server, fetcher):
        task = asyncio.ensure_future(fetcher.fetch(Request(url=server.url())))
        await reached.wait()
        await fetcher.close()
        with pytest.raises(FetchError):
            await task


# ------------------------------------------------------------------ answers nobody asked for

POISON = answer(b"POISON")


@pytest.mark.parametrize(
    "extra", [POISON, POISON[:30], POISON[:-3], b"garbage", b"\r\n", answer(b"") + POISON]
)
@on_each_loop
async def test_bytes_after_an_answer_never_become_the_next_one(extra: bytes) -> None:
    async with fetching({"/": says(answer(b"first") + extra)}) as (server, fetcher):
        assert (await fetcher.fetch(Request(url=server.url()))).body == b"first"
        assert (await fetcher.fetch(Request(url=server.url("/next")))).body == b"<p>page /next</p>"


@on_each_loop
async def test_an_answer_that_comes_while_nothing_was_asked_closes_the_connection() -> None:
    late = asyncio.Event()
    closed = asyncio.Event()

    async def twice(talk: Talk) -> None:
        await talk.send(answer(b"first"))
        await late.wait()
        await talk.send(POISON)
        await talk.until_closed()
        closed.set()

    async with fetching(twice) as (server, fetcher):
        await fetcher.fetch(Request(url=server.url()))
        late.set()
        await closed.wait()
        assert (await fetcher.fetch(Request(url=server.url("/next")))).body == b"<p>page /next</p>"
        assert server.connections == 2


@on_each_loop
async def test_interim_answers_are_skipped_and_a_flood_of_them_is_a_fault() -> None:
    early = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    assert (await get(says(early * 3 + answer(b"real")))).body == b"real"
    with pytest.raises(ProtocolError, match="100"):
        await get(flood(b"", b"HTTP/1.1 100 Continue\r\n\r\n"))


class Moody(dict[str, Script]):
    """Answers every path, now well, now badly, by the dice of a seed."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self._dice = random.Random(seed)

    def get(self, path: str, default: Any = None) -> Any:
        right = answer(f"<p>page {path}</p>".encode() * self._dice.choice([1, 10, 500]))
        choices = [
            says(right),
            says(right, then_close=True),
            says(right + POISON),
            says(right[: len(right) // 2], then_close=True),
            says(b"", then_close=True),
            says(b"nonsense\r\n\r\n", then_close=True),
            flood_once(right),
        ]
        return self._dice.choices(choices, weights=[6, 1, 1, 1, 1, 1, 2])[0]


def flood_once(data: bytes) -> Script:
    async def script(talk: Talk) -> None:
        for start in range(0, len(data), 701):
            await talk.send(data[start : start + 701])
            await asyncio.sleep(0)

    return script


@pytest.mark.parametrize("seed", range(3))
@on_each_loop
async def test_whatever_the_server_does_an_answer_belongs_to_its_url(seed: int) -> None:
    async with fetching({}) as (server, fetcher):
        server.scripts = Moody(seed)

        async def worker(first: int) -> int:
            good = 0
            for number in range(first, 400, 16):
                try:
                    response = await fetcher.fetch(Request(url=server.url(f"/{number}")))
                except FetchError:
                    continue
                assert b"POISON" not in response.body
                assert f"<p>page /{number}</p>".encode().startswith(response.body[:5])
                assert response.truncated or f"/{number}<".encode() in response.body
                good += 1
            return good

        good = await asyncio.gather(*(worker(first) for first in range(16)))
        assert sum(good) > 200


# ------------------------------------------------------------------ time


@on_each_loop
async def test_a_server_that_never_answers_is_a_read_timeout() -> None:
    with pytest.raises(ReadTimeout):
        await get(hang, QUICK_ANSWER)


@on_each_loop
async def test_headers_that_trickle_are_a_total_timeout() -> None:
    with pytest.raises(TotalTimeout):
        await get(trickle(b"HTTP/1.1 200 OK\r\nX: ", b"a"), SMALL)


@on_each_loop
async def test_a_body_that_trickles_is_a_total_timeout() -> None:
    with pytest.raises(TotalTimeout):
        await get(trickle(CHUNKED, b"1\r\na\r\n"), SMALL)


@on_each_loop
async def test_a_redirect_whose_body_hangs_is_still_a_redirect() -> None:
    head = b"HTTP/1.1 302 Found\r\nLocation: /there\r\nContent-Length: 10\r\n\r\nabc"
    response = await get(trickle(head, b""), SMALL)
    assert (response.status, response.headers["location"]) == (302, "/there")
    assert response.truncated


@on_each_loop
async def test_a_request_may_have_caps_of_its_own() -> None:
    with pytest.raises(ReadTimeout):
        await get(hang, GENEROUS, limits=QUICK_ANSWER)


@on_each_loop
async def test_a_port_that_does_not_accept_is_a_connect_timeout() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        fetcher = HttpFetcher(QUICK_CONNECT, resolver=Resolver(PRIVATE))
        with pytest.raises(ConnectTimeout, match="connecting"):
            await fetcher.fetch(Request(url=f"http://127.0.0.1:{port}/"))
        await fetcher.close()
        for one in waiting:
            one.close()


@on_each_loop
async def test_a_name_server_that_is_silent_is_a_connect_timeout() -> None:
    async def silent(_host: str) -> list[str]:
        await asyncio.Event().wait()
        return []

    fetcher = HttpFetcher(QUICK_CONNECT, resolver=Resolver(PRIVATE, lookup=silent))
    with pytest.raises(ConnectTimeout, match="resolving"):
        await fetcher.fetch(Request(url="http://nowhere.example/"))
    await fetcher.close()


@on_each_loop
async def test_a_tls_handshake_that_hangs_is_a_connect_timeout() -> None:
    async with fetching({}, QUICK_CONNECT) as (server, fetcher):
        with pytest.raises(ConnectTimeout):
            await fetcher.fetch(Request(url=server.url().replace("http:", "https:")))


@on_each_loop
async def test_a_port_where_nobody_listens_is_a_connect_error() -> None:
    fetcher = HttpFetcher(resolver=Resolver(PRIVATE))
    with pytest.raises(ConnectError, match="refused"):
        await fetcher.fetch(Request(url="http://127.0.0.1:1/"))
    await fetcher.close()


@on_each_loop
async def test_a_name_that_does_not_exist_is_a_dns_error() -> None:
    async def nobody(_host: str) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    fetcher = HttpFetcher(resolver=Resolver(PRIVATE, lookup=nobody))
    with pytest.raises(DnsError, match="not known"):
        await fetcher.fetch(Request(url="http://nowhere.example/"))
    await fetcher.close()


# ------------------------------------------------------------------ sizes


@pytest.mark.parametrize(
    "script",
    [
        says(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 3000 + b"\r\n\r\n"),
        says(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 500 + b"\r\n"),
        says(b"HTTP/1.1 200 " + b"a" * 3000 + b"\r\n\r\n"),
        flood(b"HTTP/1.1 200 OK\r\nX-Long: ", b"a" * 1000),
        flood(b"HTTP/1.1 200 OK\r\n", b"X: y\r\n" * 10),
    ],
    ids=["long line", "many lines", "long reason", "endless line", "endless lines"],
)
@on_each_loop
async def test_headers_over_the_cap_are_refused(script: Script) -> None:
    with pytest.raises(HeadersTooLarge):
        await get(script)


@on_each_loop
async def test_a_promised_length_over_the_cap_is_refused_before_the_body() -> None:
    with pytest.raises(BodyTooLarge, match="10000000000000"):
        await get(says(b"HTTP/1.1 200 OK\r\nContent-Length: 10000000000000\r\n\r\n"))


@pytest.mark.parametrize(
    "script",
    [
        flood(CHUNKED, b"400\r\n" + b"x" * 0x400 + b"\r\n"),
        flood(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 1024),
        flood(CHUNKED + b"1;", b"x" * 1024),
    ],
    ids=["chunked", "to the close", "chunk extension"],
)
@on_each_loop
async def test_a_body_without_end_stops_at_the_cap(script: Script) -> None:
    with pytest.raises(BodyTooLarge):
        await get(script)


@on_each_loop
async def test_a_body_of_exactly_the_cap_is_taken() -> None:
    assert len((await get(says(answer(b"x" * 10_000)))).body) == 10_000
    with pytest.raises(BodyTooLarge):
        await get(says(answer(b"x" * 10_001)))


@on_each_loop
async def test_a_compressed_body_counts_decompressed_too() -> None:
    bomb = gzip.compress(b"\0" * 10_000_000)
    headers = {"Content-Encoding": "gzip"}
    with pytest.raises(BodyTooLarge, match="decompressed"):
        await get(says(answer(bomb[:9000], headers=headers)))


@on_each_loop
async def test_an_error_page_over_the_cap_is_cut_and_keeps_its_status() -> None:
    head = b"HTTP/1.1 404 Not Found\r\nContent-Length: 99999999999\r\n\r\n"
    response = await get(flood(head, b"x" * 1024))
    assert (response.status, response.truncated) == (404, True)
    assert len(response.body) <= 10_000


@on_each_loop
async def test_a_body_that_would_be_too_large_is_cut_where_the_request_says() -> None:
    response = await get(flood(b"HTTP/1.1 200 OK\r\n\r\n", b"Disallow: /x\n" * 99), cut_bytes=5000)
    assert (len(response.body), response.truncated) == (5000, True)


@on_each_loop
async def test_a_promised_length_over_the_cap_does_not_matter_where_the_body_is_cut() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"
    assert len((await get(flood(head, b"x" * 1024), cut_bytes=500)).body) == 500


# ------------------------------------------------------------------ broken bodies


@on_each_loop
async def test_an_early_close_gives_what_came_and_says_so() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    response = await get(says(head + b"<p>half", then_close=True))
    assert (response.body, response.truncated) == (b"<p>half", True)


@on_each_loop
async def test_an_early_close_before_the_first_byte_of_the_body_is_a_fault() -> None:
    with pytest.raises(ProtocolError):
        await get(says(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n", then_close=True))


@on_each_loop
async def test_a_body_without_length_ends_with_the_connection() -> None:
    response = await get(says(b"HTTP/1.0 200 OK\r\n\r\n<p>all", then_close=True))
    assert (response.body, response.truncated) == (b"<p>all", False)


@pytest.mark.parametrize(
    "body", [b"5\r\nhello\r\nZZZ\r\n", b"ffffffffffffffff\r\nhello", b"5\r\nhello\r\n"]
)
@on_each_loop
async def test_broken_chunks_give_what_came_and_say_so(body: bytes) -> None:
    response = await get(says(CHUNKED + body, then_close=True))
    assert (response.body, response.truncated) == (b"hello", True)


@on_each_loop
async def test_more_body_than_promised_is_left_off() -> None:
    raw = answer(b"exact").replace(b"exact", b"exact and more")
    async with fetching({"/": says(raw)}) as (server, fetcher):
        assert (await fetcher.fetch(Request(url=server.url()))).body == b"exact"
        await fetcher.fetch(Request(url=server.url("/next")))
        assert server.connections == 2


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
@on_each_loop
async def test_a_status_without_body_has_none_even_if_one_is_sent(status: str) -> None:
    raw = f"HTTP/1.1 {status}\r\nContent-Length: 7\r\n\r\n<p>body".encode()
    async with fetching({"/": says(raw)}) as (server, fetcher):
        assert (await fetcher.fetch(Request(url=server.url()))).body == b""
        assert (await fetcher.fetch(Request(url=server.url("/next")))).body == b"<p>page /next</p>"


@on_each_loop
async def test_an_unknown_coding_is_a_fault_of_a_page_but_not_of_a_redirect() -> None:
    headers = {"Content-Encoding": "rot13", "Location": "/x"}
    with pytest.raises(DecodingError, match="rot13"):
        await get(says(answer(b"uryyb", headers=headers)))
    response = await get(says(answer(b"uryyb", "302 Found", headers)))
    assert (response.status, response.body, response.truncated) == (302, b"", True)


@on_each_loop
async def test_a_compressed_page_is_decompressed_and_both_sizes_are_told() -> None:
    packed = gzip.compress(b"<p>hello</p>" * 50)
    response = await get(says(answer(packed, headers={"Content-Encoding": "gzip"})))
    assert response.body == b"<p>hello</p>" * 50
    assert response.wire_bytes == len(packed)


@on_each_loop
async def test_a_sniffed_type_is_that_of_the_decompressed_body() -> None:
    packed = gzip.compress(b"<!doctype html><p>hello")
    raw = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
    response = await get(says(raw + packed), accept_types=("text/html",))
    assert response.body.startswith(b"<!doctype")


# ------------------------------------------------------------------ broken heads


@pytest.mark.parametrize(
    "raw",
    [
        b"<p>HTTP/0.9</p>",
        b"HTTP/1.1 abc Bad\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: banana\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nokk",
        b"HTTP/1.1 200 OK\r\nX: a\0b\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Type: text/ht",
        b"\x16\x03\x01\x02\x00",
        b"\r\n" * 50,
    ],
)
@on_each_loop
async def test_what_is_not_http_is_a_protocol_error(raw: bytes) -> None:
    with pytest.raises(ProtocolError):
        await get(says(raw, then_close=True))


@on_each_loop
async def test_an_odd_status_is_kept() -> None:
    assert (await get(says(answer(b"no", "999 Request denied")))).status == 999


@on_each_loop
async def test_bare_line_feeds_and_folded_headers_are_read() -> None:
    raw = b"HTTP/1.1 200 OK\nContent-Type: text/html;\n charset=gbk\nContent-Length: 2\n\nok"
    response = await get(says(raw))
    assert response.body == b"ok"
    assert "gbk" in (response.content_type or "")


@on_each_loop
async def test_header_bytes_outside_ascii_become_text_that_can_be_written() -> None:
    raw = (
        b"HTTP/1.1 200 \xc4\xe3\r\nX-Old: caf\xe9\r\nX-New: \xe4\xb8\xad\r\n"
        b"Content-Length: 0\r\n\r\n"
    )
    response = await get(says(raw))
    assert (response.headers["x-old"], response.headers["x-new"]) == ("café", "中")


@on_each_loop
async def test_a_location_outside_ascii_keeps_its_bytes() -> None:
    raw = b"HTTP/1.1 302 Found\r\nLocation: /\xe4\xb8\xad\xff\r\nContent-Length: 0\r\n\r\n"
    assert (await get(says(raw))).headers["location"] == "/%E4%B8%AD%FF"


@on_each_loop
async def test_repeated_headers_are_joined_but_the_first_location_counts() -> None:
    raw = (
        b"HTTP/1.1 302 Found\r\nLink: <a>\r\nLocation: /a\r\nLink: <b>\r\nLocation: /b\r\n"
        b"Content-Length: 0\r\n\r\n"
    )
    response = await get(says(raw))
    assert (response.headers["link"], response.headers["location"]) == ("<a>, <b>", "/a")


@on_each_loop
async def test_a_bug_in_reading_fails_the_request_instead_of_hanging_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def broken(_self: Exchange, _data: bytes) -> None:
        raise ZeroDivisionError("bug")

    monkeypatch.setattr(Exchange, "feed", broken)
    with pytest.raises(ProtocolError, match="bug"):
        await get(says(answer(b"x")))


# ------------------------------------------------------------------ unwanted types


@on_each_loop
async def test_an_unwanted_body_is_not_read() -> None:
    closed = asyncio.Event()

    async def film(talk: Talk) -> None:
        fields = {"Content-Type": "video/mp4", "Content-Length": "9999999"}
        await talk.send(answer(headers=fields))
        await talk.until_closed()
        closed.set()

    async with fetching(film) as (server, fetcher):
        with pytest.raises(TypeRefused):
            await fetcher.fetch(Request(url=server.url(), accept_types=("text/html",)))
        await closed.wait()


@on_each_loop
async def test_a_small_unwanted_body_is_read_to_keep_the_connection() -> None:
    rest = asyncio.Event()

    async def icon(talk: Talk) -> None:
        await talk.send(answer(headers={"Content-Type": "image/x-icon", "Content-Length": "5"}))
        await rest.wait()
        await talk.send(b"icon!")

    async with fetching(icon) as (server, fetcher):
        task = asyncio.ensure_future(
            fetcher.fetch(Request(url=server.url(), accept_types=("text/html",)))
        )
        rest.set()
        with pytest.raises(TypeRefused):
            await task
        await fetcher.fetch(Request(url=server.url("/next")))
        assert server.connections == 1


# ------------------------------------------------------------------ requests


async def head_of(url_path: str = "/", **request: Any) -> bytes:
    async with fetching({}, headers=default_headers("Tester/1.0")) as (server, fetcher):
        await fetcher.fetch(Request(url=server.url(url_path), **request))
        return server.heads[0].replace(str(server.port).encode(), b"PORT")


@on_each_loop
async def test_a_request_says_host_agent_and_codings() -> None:
    head = await head_of()
    assert head.startswith(b"GET / HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\n")
    assert b"\r\nUser-Agent: Tester/1.0\r\n" in head
    assert b"\r\nAccept-Encoding: gzip, deflate, br, zstd\r\n" in head
    assert b"\r\nAccept: text/html" in head


@on_each_loop
async def test_headers_of_the_request_replace_the_fetchers_own() -> None:
    head = await head_of(headers={"user-agent": "Other", "Cookie": "a=1"})
    assert b"user-agent: Other\r\n" in head
    assert b"Tester" not in head
    assert b"Cookie: a=1\r\n" in head
    assert (await head_of(headers={"Host": "virtual.test"})).count(b"virtual.test") == 1


@on_each_loop
async def test_neither_fragment_nor_credentials_of_a_url_are_sent() -> None:
    assert (await head_of("/a?b=1#c")).startswith(b"GET /a?b=1 HTTP/1.1\r\n")
    async with fetching({}) as (server, fetcher):
        await fetcher.fetch(Request(url=server.url("/x", "user:secret@127.0.0.1")))
        assert b"secret" not in server.heads[0]
        assert b"uthorization" not in server.heads[0]


@on_each_loop
async def test_a_target_cannot_break_out_of_the_request_line() -> None:
    head = await head_of("/a b\r\nX-Injected: 1\r\n\r\nGET /中")
    assert head.count(b"\r\n\r\n") == 1
    assert b"\r\nX-Injected" not in head


@pytest.mark.parametrize(
    "headers", [{"X-A": "secret\r\nX-B: 1"}, {"X-A": "secret\0"}, {"X A": "secret"}, {"": "secret"}]
)
@on_each_loop
async def test_a_header_that_cannot_be_sent_is_refused_without_telling_its_value(
    headers: dict[str, str],
) -> None:
    async with fetching({}) as (server, fetcher):
        with pytest.raises(FetchError) as caught:
            await fetcher.fetch(Request(url=server.url(), headers=headers))
        assert "secret" not in str(caught.value)
        assert not server.heads


@pytest.mark.parametrize(
    "script", [hang, says(b"", then_close=True), says(b"nonsense", then_close=True)]
)
@on_each_loop
async def test_no_fault_tells_what_the_request_headers_held(script: Script) -> None:
    with pytest.raises(FetchError) as caught:
        await get(script, QUICK_ANSWER, headers={"Cookie": "session=hunter2"})
    assert "hunter2" not in repr(caught.value)


@pytest.mark.parametrize("url", ["ftp://a.test/", "http://", "nonsense", "http://a.test:0/"])
@on_each_loop
async def test_what_is_no_http_url_is_a_fetch_error(url: str) -> None:
    fetcher = HttpFetcher()
    with pytest.raises(FetchError):
        await fetcher.fetch(Request(url=url))
    await fetcher.close()


# ------------------------------------------------------------------ the guard


@on_each_loop
async def test_private_addresses_are_refused_before_a_connection_is_made() -> None:
    async def inside(_host: str) -> list[str]:
        return ["127.0.0.1"]

    guarded = Resolver(AddressGuard(), lookup=inside)
    async with fetching({}, resolver=guarded) as (server, fetcher):
        for host in ("127.0.0.1", "rebound.example"):
            with pytest.raises(AddressRefused, match="loopback"):
                await fetcher.fetch(Request(url=server.url("/", host)))
        assert server.connections == 0


@on_each_loop
async def test_the_guard_stands_at_the_socket_too() -> None:
    class Careless(Resolver):
        async def resolve(self, host: str, *, url: str) -> Resolved:
            return Resolved(("127.0.0.1",), trusted=False)

    async with fetching({}, resolver=Careless(AddressGuard())) as (server, fetcher):
        with pytest.raises(AddressRefused):
            await fetcher.fetch(Request(url=server.url("/", "any.example")))
        assert server.connections == 0


@on_each_loop
async def test_a_name_in_the_hosts_table_may_be_private_and_the_address_itself_not() -> None:
    table = HostsTable.parse("127.0.0.1 intranet.example")
    async with fetching({}, resolver=Resolver(AddressGuard(), hosts=table)) as (server, fetcher):
        response = await fetcher.fetch(Request(url=server.url("/", "intranet.example")))
        assert (response.status, response.address) == (200, "127.0.0.1")
        with pytest.raises(AddressRefused):
            await fetcher.fetch(Request(url=server.url()))


@on_each_loop
async def test_the_next_address_is_tried_when_one_does_not_answer() -> None:
    async def two(_host: str) -> list[str]:
        return ["127.0.0.2", "127.0.0.1"]

    resolver = Resolver(PRIVATE, lookup=two)
    async with fetching({}, resolver=resolver) as (server, fetcher):
        response = await fetcher.fetch(Request(url=server.url("/", "twofold.example")))
        assert response.address == "127.0.0.1"


@on_each_loop
async def test_plain_http_on_a_tls_port_is_a_tls_error() -> None:
    async def plain(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(10)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(plain, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    fetcher = HttpFetcher(resolver=Resolver(PRIVATE))
    with pytest.raises(TlsError):
        await fetcher.fetch(Request(url=f"https://127.0.0.1:{port}/"))
    await fetcher.close()
    server.close()
    await server.wait_closed()
