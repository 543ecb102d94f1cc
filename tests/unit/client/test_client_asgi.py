"""The way to an application in the same process."""

import asyncio

import httpx
import pytest

from skitter import AsyncClient
from skitter.client.asgi import AppTransport, Message, Receive, Send
from skitter.errors import ApiAway

EVENT = b'id: 1\ndata: {"type":"job","at":"t"}\n\n'


class StreamingApp:
    """Sends one event and then nothing, until its client leaves."""

    def __init__(self) -> None:
        self.left = asyncio.Event()
        self.scope: Message = {}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        self.scope = scope
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": EVENT, "more_body": True})
        try:
            assert (await receive())["type"] == "http.request"
            await receive()
        finally:
            self.left.set()


async def test_an_event_is_heard_while_the_answer_goes_on_and_the_app_is_told_of_the_end() -> None:
    app = StreamingApp()
    async with AsyncClient("http://app", transport=AppTransport(app)) as client:
        events = client.events(job="a b")
        assert (await anext(events)).type == "job"
        assert not app.left.is_set()
        await events.aclose()
    await asyncio.wait_for(app.left.wait(), 30)
    assert app.scope["query_string"] == b"job=a+b"
    assert app.scope["path"] == "/v1/events"


async def test_body_and_answer_pass_whole() -> None:
    async def app(scope: Message, receive: Receive, send: Send) -> None:
        body = (await receive())["body"]
        headers = [(b"content-type", b"text/plain"), (b"x-path", scope["raw_path"])]
        await send({"type": "http.response.start", "status": 207, "headers": headers})
        for place in range(0, len(body), 7):
            piece = {"type": "http.response.body", "body": body[place : place + 7]}
            await send({**piece, "more_body": True})
        await send({"type": "http.response.body"})

    async with httpx.AsyncClient(transport=AppTransport(app)) as client:
        answer = await client.post("http://app/a%2Fb?x=1", content=b"0123456789" * 100)
    assert answer.status_code == 207
    assert answer.headers["x-path"] == "/a%2Fb"
    assert answer.content == b"0123456789" * 100


@pytest.mark.parametrize("begun", [False, True])
async def test_an_application_that_fails_is_a_broken_connection(begun: bool) -> None:
    async def app(scope: Message, receive: Receive, send: Send) -> None:
        if begun:
            await send({"type": "http.response.start", "status": 200, "headers": []})
        raise ValueError(scope)

    async with AsyncClient("http://app", transport=AppTransport(app), retries=0) as client:
        with pytest.raises(ApiAway, match="the application ended"):
            await client.me()
