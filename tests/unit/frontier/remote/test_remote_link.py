"""A child whose master is away, slow, wrong or another one than before."""

import asyncio
import logging
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from aiohttp import web

from skitter.errors import ConfigError, Fenced, FrontierError, StoreUnavailable
from skitter.frontier.model import Ack, Lease, Link, Receipt, Result
from skitter.frontier.remote import link as link_module
from skitter.frontier.remote.client import RemoteFrontier
from skitter.frontier.remote.link import OwnSession, Patience
from skitter.frontier.remote.wire import (
    PATH,
    SESSION_HEADER,
    VERBS,
    VERSION,
    Closing,
    SessionLost,
    Welcome,
    write_error,
)
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import Fingerprint, HostKey, JobNumber, PageClass

CALM = Patience(first_s=0.002, most_s=0.02, answer_s=60, open_s=60, beat_s=60, bye_s=60)
"""Repeats at once what was refused, and leaves a busy machine all the time for its answers."""
BEATING = replace(CALM, beat_s=0.01, beat_answer_s=60)
TOKEN = "open-sesame"
WELCOME = Welcome(
    secret=b"secret", now_ms=5_000, epoch=3, version=9, silence_ms=5_000, settings={"a": [1]}
)

Reply = Callable[[web.Request], Awaitable[web.StreamResponse]]


def says(verb: str, value: Any) -> Reply:
    """Answer a call."""

    async def reply(request: web.Request) -> web.Response:
        del request
        return web.Response(body=VERBS[verb].write_answer(value, 0.0))

    return reply


def fails(error: Exception) -> Reply:
    async def reply(request: web.Request) -> web.Response:
        del request
        assert isinstance(error, FrontierError)
        return web.Response(body=write_error(error))

    return reply


def status(code: int) -> Reply:
    async def reply(request: web.Request) -> web.Response:
        del request
        return web.Response(status=code, text="<html>no msgpack</html>")

    return reply


async def hangs_up(request: web.Request) -> web.Response:
    assert request.transport is not None
    request.transport.abort()
    return web.Response()


async def hangs(request: web.Request) -> web.Response:
    del request
    await asyncio.sleep(60)
    return web.Response()


class Script:
    """A master that says what a test wants, one reply after the other; the last one for ever."""

    def __init__(self, socket: Path) -> None:
        self.socket = socket
        self.replies: dict[str, list[Reply]] = {
            "hello": [says("hello", WELCOME)],
            "beat": [says("beat", "")],
            "bye": [says("bye", None)],
        }
        self.calls: list[tuple[str, str, int, int]] = []
        """Verb, session, number and settled of every call."""
        self.runner: web.AppRunner | None = None

    def on(self, verb: str, *replies: Reply) -> None:
        self.replies[verb] = list(replies)

    async def _reply(self, request: web.Request) -> web.StreamResponse:
        verb = request.match_info["verb"]
        _, number, settled, *_ = msgspec.msgpack.decode(await request.read())
        self.calls.append((verb, request.headers[SESSION_HEADER], number, settled))
        replies = self.replies[verb]
        reply = replies.pop(0) if len(replies) > 1 else replies[0]
        return await reply(request)

    def of(self, verb: str) -> list[tuple[str, int, int]]:
        return [tuple(call[1:]) for call in self.calls if call[0] == verb]  # type: ignore[misc]

    async def start(self) -> None:
        app = web.Application()
        app.router.add_post(PATH + "{verb}", self._reply)
        self.runner = web.AppRunner(app, shutdown_timeout=0.01, handler_cancellation=True)
        await self.runner.setup()
        await web.UnixSite(self.runner, str(self.socket)).start()

    async def stop(self) -> None:
        if self.runner is not None:
            await self.runner.cleanup()
            self.runner = None
            self.socket.unlink(missing_ok=True)


@pytest.fixture
async def script(tmp_path: Path) -> AsyncIterator[Script]:
    made = Script(tmp_path / "master.sock")
    await made.start()
    yield made
    await made.stop()


@pytest.fixture
async def child(script: Script) -> AsyncIterator[RemoteFrontier]:
    made = RemoteFrontier(script.socket, TOKEN, name="child", clock=VirtualClock(), patience=CALM)
    await made.open()
    yield made
    await made.close()


async def until(is_so: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not is_so():
            await asyncio.sleep(0.005)


# Joining


async def test_a_child_knows_what_it_was_told(child: RemoteFrontier) -> None:
    assert (child.secret, child.epoch, child.version) == (b"secret", 3, 9)
    assert child.settings == {"a": [1]}
    assert child.clock.now_ms() == 5_000


async def test_its_clock_goes_on_from_the_master_s_time(script: Script, tmp_path: Path) -> None:
    wrong = VirtualClock(now_ms=999_999_999)
    child = RemoteFrontier(script.socket, name="child", clock=wrong, patience=CALM)
    await child.open()
    wrong.advance(2)
    assert child.clock.now_ms() == 7_000
    assert child.clock.boot() == wrong.boot()
    await child.close()


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (status(401), "refuses the token"),
        (status(404), "HTTP status 404, which no Skitter master sends"),
        (status(302), "HTTP status 302"),
        (status(200), "cannot be read"),
        (
            fails(FrontierError("no room for you")),
            "no room for you",
        ),
    ],
)
async def test_a_master_that_will_not_do_is_refused_at_once(
    script: Script, reply: Reply, words: str
) -> None:
    script.on("hello", reply)
    child = RemoteFrontier(script.socket, TOKEN, name="child", patience=CALM)
    with pytest.raises(ConfigError, match=words) as raised:
        await child.open()
    assert TOKEN not in str(raised.value)
    assert len(script.of("hello")) == 1


async def test_another_version_is_refused_with_the_address(script: Script) -> None:
    async def newer(request: web.Request) -> web.Response:
        del request
        return web.Response(body=msgspec.msgpack.encode([VERSION + 1, {"new": "shape"}]))

    script.on("hello", newer)
    child = RemoteFrontier(script.socket, name="child", patience=CALM)
    with pytest.raises(ConfigError, match=f"{script.socket}: messages of version {VERSION + 1}"):
        await child.open()


async def test_nobody_there_is_said_after_a_while(tmp_path: Path) -> None:
    path = tmp_path / "nobody.sock"
    child = RemoteFrontier(path, name="child", patience=replace(CALM, open_s=0.3))
    with pytest.raises(StoreUnavailable, match=f"master {path}: no answer within 0.3 s .*running"):
        await child.open()


async def test_a_master_that_starts_a_little_later_is_waited_for(script: Script) -> None:
    await script.stop()
    child = RemoteFrontier(script.socket, name="child", patience=CALM)
    opening = asyncio.create_task(child.open())
    await asyncio.sleep(0.05)
    await script.start()
    await opening
    await child.close()


# Calls


async def test_a_call_is_repeated_under_its_number_until_it_is_answered(
    script: Script, child: RemoteFrontier
) -> None:
    script.on(
        "offer",
        status(503),
        hangs_up,
        status(500),
        status(429),
        fails(Closing("about to end")),
        says("offer", Receipt(new=1)),
    )
    assert await child.offer([]) == Receipt(new=1)
    [first, *rest] = script.of("offer")
    assert rest == [first] * 5
    assert child.trouble == ""


async def test_an_answer_that_takes_too_long_is_asked_for_again(
    script: Script,
) -> None:
    hasty = replace(CALM, answer_s=0.5)
    child = RemoteFrontier(script.socket, TOKEN, name="child", patience=hasty)
    await child.open()
    script.on("jobs", hangs, says("jobs", {}))
    assert await child.jobs() == {}
    assert len(script.of("jobs")) >= 2
    await child.close()


async def test_calls_are_numbered_and_say_which_are_settled(
    script: Script, child: RemoteFrontier
) -> None:
    slow = asyncio.Event()

    async def waits(request: web.Request) -> web.StreamResponse:
        await slow.wait()
        return await says("offer", Receipt())(request)

    script.on("offer", waits)
    script.on("share", says("share", None))
    script.on("mark", says("mark", None))
    offering = asyncio.create_task(child.offer([]))
    await until(lambda: script.of("offer"))
    await child.share({"a": b""}, 1)
    await child.mark("a")
    await child.share({"b": b""}, 1)
    slow.set()
    await offering
    await child.share({"c": b""}, 1)
    numbers = [(number, settled) for _, number, settled in script.of("offer") + script.of("share")]
    first = numbers[0][0]
    wanted = [(first, first), (first + 1, first), (first + 2, first), (first + 3, first + 3)]
    assert numbers == wanted
    assert [number for _, number, _ in script.of("mark")] == [0], "it may be run twice"


async def test_errors_of_the_store_are_raised_and_not_repeated(
    script: Script, child: RemoteFrontier
) -> None:
    script.on("claim", fails(Fenced("opened again")))
    with pytest.raises(Fenced, match="opened again"):
        await child.claim([], 1)
    assert len(script.of("claim")) == 1


@pytest.mark.parametrize("code", [401, 413, 404])
async def test_a_refusal_later_is_an_error_of_the_frontier(
    script: Script, child: RemoteFrontier, code: int
) -> None:
    script.on("offer", status(code))
    with pytest.raises(FrontierError) as raised:
        await child.offer([])
    assert type(raised.value) is FrontierError


async def test_a_session_that_is_unknown_is_begun_anew_and_the_call_made_in_it(
    script: Script, child: RemoteFrontier, caplog: pytest.LogCaptureFixture
) -> None:
    script.on("offer", fails(SessionLost("who?")), says("offer", Receipt(new=2)))
    script.on("hello", says("hello", msgspec.structs.replace(WELCOME, epoch=4, settings={"b": 2})))
    assert await child.offer([]) == Receipt(new=2)
    (first, *_), (second, number, settled) = script.of("offer")
    assert first != second
    assert (number, settled) == (1, 1)
    assert (child.epoch, child.settings) == (4, {"b": 2})
    assert "restarted or given this process up" in caplog.text


async def test_many_calls_that_lose_their_session_begin_one_together(
    script: Script, child: RemoteFrontier
) -> None:
    script.on("jobs", *[fails(SessionLost("who?"))] * 5, says("jobs", {}))
    await asyncio.gather(*(child.jobs() for _ in range(5)))
    assert len(script.of("hello")) == 2


async def test_a_master_with_another_store_is_not_used(
    script: Script, child: RemoteFrontier
) -> None:
    script.on("offer", fails(SessionLost("who?")))
    script.on("hello", says("hello", msgspec.structs.replace(WELCOME, secret=b"other")))
    with pytest.raises(FrontierError, match="has another store than before"):
        await child.offer([])


async def test_a_deadline_counts_from_before_the_call(
    script: Script, child: RemoteFrontier
) -> None:
    clock = child.clock
    asked_at = clock.boot()

    async def late(request: web.Request) -> web.StreamResponse:
        child.clock._base.advance(30)  # type: ignore[attr-defined]
        return await hangs_up(request)

    async def answers(request: web.Request) -> web.Response:
        del request
        body = msgspec.msgpack.encode([VERSION, "", [[0], 1, 5_000]])
        return web.Response(body=body)

    script.on("own", late, answers)
    [grant] = await child.own("child", [0])
    assert grant.expires_at == asked_at + 5


@pytest.mark.parametrize("away", [True, False])
async def test_a_call_can_be_cancelled_while_it_waits(
    script: Script, child: RemoteFrontier, away: bool
) -> None:
    script.on("offer", hangs)
    if away:
        await script.stop()
    waiting = asyncio.create_task(child.offer([]))
    await (asyncio.sleep(0.05) if away else until(lambda: script.of("offer")))
    started = time.monotonic()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert time.monotonic() - started < 20


# Trouble


async def test_a_master_that_is_away_is_named_with_the_time(
    script: Script, child: RemoteFrontier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_module, "SHOWN_AFTER_S", 0.05)
    script.on("jobs", says("jobs", {}))
    await script.stop()
    waiting = asyncio.create_task(child.jobs())
    await until(lambda: child.trouble)
    words = f"master {re.escape(str(script.socket))} does not answer for [0-9]+ s"
    assert re.fullmatch(words, child.trouble)
    await script.start()
    assert await waiting == {}
    assert child.trouble == ""


async def test_signs_of_life_are_given_and_bring_the_troubles_of_the_store(script: Script) -> None:
    script.on("beat", says("beat", "the disk is full"))
    child = RemoteFrontier(script.socket, name="child", patience=BEATING)
    await child.open()
    await until(lambda: len(script.of("beat")) >= 3)
    assert child.trouble == "the disk is full"
    await child.close()
    beats = len(script.of("beat"))
    await asyncio.sleep(0.05)
    assert len(script.of("beat")) == beats
    assert len(script.of("bye")) == 1


async def test_a_sign_of_life_finds_out_that_the_session_is_unknown(script: Script) -> None:
    child = RemoteFrontier(script.socket, name="child", patience=BEATING)
    await child.open()
    script.on("beat", fails(SessionLost("who?")), status(401), says("beat", ""))
    await until(lambda: len(script.of("beat")) >= 5)
    assert len(script.of("hello")) == 2
    await child.close()


async def test_the_token_is_in_no_message(
    script: Script, child: RemoteFrontier, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    script.on("jobs", hangs_up, status(500), fails(SessionLost("who?")), says("jobs", {}))
    await child.jobs()
    await script.stop()
    await child.close()
    assert caplog.text
    assert TOKEN not in caplog.text
    assert TOKEN not in repr(vars(child))


# Ending


async def test_a_closed_child_says_so_and_closes_twice(child: RemoteFrontier) -> None:
    await child.close()
    await child.close()
    with pytest.raises(FrontierError, match="is closed"):
        await child.jobs()


async def test_closing_does_not_wait_for_a_master_that_is_away(
    script: Script, child: RemoteFrontier
) -> None:
    await script.stop()
    started = time.monotonic()
    await child.close()
    assert time.monotonic() - started < 20


# Large calls


async def test_what_is_too_large_for_one_message_goes_in_several(
    script: Script, child: RemoteFrontier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_module, "MAX_BODY_BYTES", 4_000)
    marked: list[Any] = []

    async def take(request: web.Request) -> web.Response:
        (leases, _), marks, news = msgspec.msgpack.decode(await request.read())[3]
        marked.append((marks, news))
        ids = leases[0]
        receipt = Receipt(len(ids) - 1, (ids[0],), 1, 2, 3)
        return web.Response(body=VERBS["ack"].write_answer(receipt, 0.0))

    script.on("ack", take)
    acks = [Ack(make_lease(n), Result.DONE, note=b"x" * 1_000) for n in range(8)]
    receipt = await child.ack(acks, marks={"m": b"1"}, news={"n": b"2"})
    assert receipt == Receipt(4, (0, 2, 4, 6), 4, 8, 12)
    assert marked == [({"m": b"1"}, {"n": b"2"}), (None, None), (None, None), (None, None)]


async def test_many_links_go_in_several_messages_as_well(
    script: Script, child: RemoteFrontier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_module, "MAX_BODY_BYTES", 1_000)
    script.on("offer", says("offer", Receipt(new=5)))
    host = HostKey("a.test")
    links = [Link(f"http://a.test/{n}" * 9, Fingerprint(n), host, JobNumber(1)) for n in range(8)]
    calls = len(script.of("offer"))
    assert (await child.offer(links)).new == 5 * 2
    assert len(script.of("offer")) - calls == 2


async def test_one_thing_that_is_too_large_is_an_error(
    child: RemoteFrontier, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_module, "MAX_BODY_BYTES", 100)
    with pytest.raises(FrontierError, match="the call ack takes"):
        await child.ack([Ack(make_lease(1), Result.DONE, note=b"x" * 1_000)])
    link = Link("http://a.test/" * 50, Fingerprint(1), HostKey("a.test"), JobNumber(1))
    with pytest.raises(FrontierError, match="the call offer takes"):
        await child.offer([link])


def test_a_session_s_numbers() -> None:
    session = OwnSession()
    assert session.settled == 1
    one, two = session.begin(), session.begin()
    assert (one, two, session.settled) == (1, 2, 1)
    session.end(one)
    assert session.settled == 2
    session.end(two)
    assert session.settled == 3
    assert OwnSession().key != session.key


def make_lease(n: int) -> Lease:
    return Lease(
        id=n,
        url=f"http://a.test/{n}",
        fp=Fingerprint(n),
        host=HostKey("a.test"),
        job=JobNumber(1),
        slot=0,
        fence=1,
        page_class=PageClass.DATA,
        priority=5,
        depth=0,
        attempts=0,
        lost=0,
        visit=1,
        referrer="",
        found_s=0,
        expires_at=2_000.0,
    )
