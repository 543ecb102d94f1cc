"""The two clients against a transport that answers as a service would, and as it should not."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator

import httpx
import pytest

from skitter import AsyncClient, Client
from skitter.client import answers
from skitter.client.jobs import JobDetail
from skitter.errors import ApiAway, ApiError

Reply = httpx.Response | Exception
JOB = {
    "id": "news", "kind": "news", "owner": "", "state": "running", "stopped_by": "", "priority": 5,
    "pages": 1, "ok": 1, "failed": 0, "refused": 0, "duplicates": 0, "rejected": 0, "queued": 2,
    "leased": 0, "scheduled": 0, "done": 1, "dead": 0, "dropped": 0,
}  # fmt: skip
DETAIL = {
    **JOB, "entries": ["http://a/"], "scope": "host", "depth": None, "order": "bfs", "labels": {},
    "limits": {}, "records": [], "bytes": 3, "sitemaps": 0, "hosts": 1, "status_codes": {},
    "errors": {},
}  # fmt: skip


class Script:
    """Answers with what is written, one after the other, and keeps what it was asked."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies)
        self.asked: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply


def problem(status: int, code: str, message: str, **headers: str) -> httpx.Response:
    body = {"error": {"code": code, "message": message, "field": "entries[0]"}}
    return httpx.Response(status, json=body, headers=headers)


def busy(seconds: int = 0) -> httpx.Response:
    return problem(429, "too_many", "come again", **{"Retry-After": str(seconds)})


@pytest.fixture(autouse=True)
def _short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "_FIRST_S", 0.0001)


def blocking(script: Script, **options: int) -> Client:
    return Client("http://h", "t", transport=httpx.MockTransport(script), **options)


def awaited(script: Script, **options: int) -> AsyncClient:
    return AsyncClient("http://h", "t", transport=httpx.MockTransport(script), **options)


Asking = Callable[[Script], JobDetail]


def ask_blocking(script: Script) -> JobDetail:
    with blocking(script) as client:
        return client.job("news")


def ask_awaited(script: Script) -> JobDetail:
    async def run() -> JobDetail:
        async with awaited(script) as client:
            return await client.job("news")

    return asyncio.run(run())


BOTH = pytest.mark.parametrize("ask", [ask_blocking, ask_awaited])


@BOTH
def test_an_answer_is_a_value_and_knows_its_tag(ask: Asking) -> None:
    script = Script(httpx.Response(200, json={**DETAIL, "newer": 1}, headers={"ETag": '"7"'}))
    found = ask(script)
    assert found.id == "news"
    assert found.etag == '"7"'


@BOTH
def test_a_refusal_is_an_error_with_all_that_was_said(ask: Asking) -> None:
    with pytest.raises(ApiError, match="is private") as caught:
        ask(Script(problem(422, "invalid", "http://10.0.0.1/ is private")))
    error = caught.value
    assert (error.status, error.code, error.field) == (422, "invalid", "entries[0]")
    assert not isinstance(error, ApiAway)


@BOTH
def test_a_call_is_sent_again_when_the_connection_breaks_or_the_service_is_busy(
    ask: Asking,
) -> None:
    script = Script(httpx.ReadError("reset"), busy(), httpx.Response(200, json=DETAIL))
    assert ask(script).id == "news"
    assert len(script.asked) == 3


@BOTH
def test_nobody_there_is_told_after_the_last_try(ask: Asking) -> None:
    script = Script(*[httpx.ConnectError("refused")] * 4)
    with pytest.raises(ApiAway, match=r"http://h/v1/jobs/news: nobody answers \(refused\)"):
        ask(script)
    assert len(script.asked) == 4


@BOTH
@pytest.mark.parametrize(
    ("status", "text"),
    [(200, "<html>a router</html>"), (200, '{"id":"a"}'), (404, "nginx"), (500, '{"detail":1}')],
)
def test_something_else_than_a_service_is_called_so(ask: Asking, status: int, text: str) -> None:
    with pytest.raises(ApiAway, match="no answer of a Skitter service"):
        ask(Script(httpx.Response(status, text=text)))


def test_a_pause_that_is_too_long_is_left_to_the_caller() -> None:
    script = Script(busy(3600))
    with pytest.raises(ApiError, match="come again"):
        ask_blocking(script)
    assert len(script.asked) == 1


def test_a_fetch_is_not_repeated_unless_it_was_never_sent() -> None:
    script = Script(httpx.ConnectError("refused"), httpx.ReadTimeout("slow"))
    with pytest.raises(ApiAway, match="slow"):
        blocking(script).fetch("http://a/")
    assert len(script.asked) == 2


def test_no_retries_means_one_try() -> None:
    script = Script(busy())
    with pytest.raises(ApiError):
        blocking(script, retries=0).me()
    assert len(script.asked) == 1


def test_a_retry_has_the_same_key() -> None:
    script = Script(httpx.ReadError("reset"), httpx.Response(201, json=DETAIL))
    blocking(script).add_job({"id": "news"})
    first, second = (request.headers["idempotency-key"] for request in script.asked)
    assert first == second


def test_a_call_without_an_answer_gives_none() -> None:
    with blocking(Script(httpx.Response(204), httpx.Response(200, text="{}"))) as client:
        client.delete_job("news")
        client.delete_webhook("w")


def test_a_service_in_trouble_says_so_itself() -> None:
    told = httpx.Response(503, json={"status": "trouble", "version": "", "trouble": "disk full"})
    client = blocking(Script(told, problem(503, "starting", "not yet")), retries=0)
    assert client.health().trouble == "disk full"
    with pytest.raises(ApiAway, match="not yet"):
        client.health()


# Lists


def lists() -> Script:
    return Script(
        httpx.Response(200, json={"jobs": [{**JOB, "id": "a"}], "next": "a/1&"}),
        httpx.Response(200, json={"jobs": [{**JOB, "id": "b"}], "next": None}),
    )


def test_a_list_is_gone_through_page_by_page() -> None:
    script = lists()
    assert [job.id for job in blocking(script).jobs(state="running")] == ["a", "b"]
    assert dict(script.asked[1].url.params) == {"state": "running", "after": "a/1&"}


async def test_the_same_awaited() -> None:
    script = lists()
    assert [job.id async for job in awaited(script).jobs(limit=1)] == ["a", "b"]
    assert dict(script.asked[1].url.params) == {"limit": "1", "after": "a/1&"}


def test_one_page_of_a_list_says_how_to_go_on() -> None:
    assert blocking(lists()).jobs_page().next == "a/1&"


# Events


class Broken(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A stream that breaks after what is written."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __iter__(self) -> Iterator[bytes]:
        yield self._text.encode()
        raise httpx.ReadError("reset")

    async def __aiter__(self) -> AsyncIterator[bytes]:
        yield self._text.encode()
        raise httpx.ReadError("reset")


def message(event_id: str, job: str) -> str:
    return f'id: {event_id}\nevent: page\ndata: {{"type":"page","at":"t","job":"{job}"}}\n\n'


def stream() -> Script:
    half = ": hello\nretry: 1\n\n" + message("5-1", "a") + 'id: 5-2\ndata: {"type":'
    whole = message("5-2", "b") + "data: from the future\n\n"
    return Script(
        httpx.Response(200, stream=Broken(half)),
        problem(503, "starting", "come again"),
        httpx.Response(200, text=whole),
        problem(403, "forbidden", "not for you"),
    )


def test_events_go_on_after_the_last_one_that_was_heard_whole() -> None:
    script = stream()
    events = blocking(script).events(types=["page"], after="4-0")
    assert [(event.id, event.job) for event in (next(events), next(events))] == [
        ("5-1", "a"), ("5-2", "b"),
    ]  # fmt: skip
    with pytest.raises(ApiError, match="not for you"):
        next(events)
    assert [request.headers["last-event-id"] for request in script.asked] == [
        "4-0", "5-1", "5-1", "5-2",
    ]  # fmt: skip
    assert dict(script.asked[0].url.params) == {"types": "page"}
    assert script.asked[0].headers["accept"] == "text/event-stream"


async def test_the_same_for_a_listener_that_awaits() -> None:
    script = stream()
    events = awaited(script).events(job="a")
    assert [(await anext(events)).id for _ in range(2)] == ["5-1", "5-2"]
    with pytest.raises(ApiError, match="not for you"):
        await anext(events)
    assert "last-event-id" not in script.asked[0].headers


def test_a_service_that_stays_away_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    now = iter(range(0, 1000, 25))
    monkeypatch.setattr("skitter.client.answers.time.monotonic", lambda: float(next(now)))
    script = Script(*[httpx.ConnectError("refused")] * 9)
    with pytest.raises(ApiAway, match="nobody answers"):
        next(blocking(script).events())
    assert len(script.asked) == 4


def echo(request: httpx.Request) -> httpx.Response:
    urls = json.loads(request.content)["urls"]
    return httpx.Response(200, json={"pages": [{"url": url, "found": False} for url in urls]})


async def test_many_urls_are_looked_up_in_batches_and_answered_in_order() -> None:
    urls = [f"http://a/{number}" for number in range(701)]
    sizes: list[int] = []

    def service(request: httpx.Request) -> httpx.Response:
        sizes.append(len(json.loads(request.content)["urls"]))
        return echo(request)

    transport = httpx.MockTransport(service)
    with Client("http://h", transport=transport) as client:
        assert [page.url for page in client.lookup(urls, job="j").pages] == urls
        assert client.lookup([]).pages == []
    async with AsyncClient("http://h", transport=transport) as waiting:
        assert [page.url for page in (await waiting.lookup(urls)).pages] == urls
    assert sizes == [300, 300, 101] * 2
