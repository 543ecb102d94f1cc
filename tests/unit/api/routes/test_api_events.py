"""Events over HTTP, from a real store to a real socket."""

import asyncio
import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from listening import listening, on_a_port
from service import TOKENS, Served, served

from skitter.api.live import hub as hubs

READER = TOKENS["reader"]


class World:
    """A service on a port, whose events the test makes."""

    def __init__(self, here: Served, port: int) -> None:
        self.here = here
        self.port = port

    async def publish(self, n: int = 1, **facts: object) -> None:
        event = json.dumps({"type": "page", "at": "2026-01-01T00:00:00Z", **facts}).encode()
        await self.here.service.store.frontier.publish([event] * n)


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[World]:
    async with served(tmp_path / "state") as here, on_a_port(here.app) as port:
        yield World(here, port)


async def test_events_are_told_as_they_happen(world: World) -> None:
    async with listening(world.port, READER) as ears:
        assert ears.status == 200
        assert ears.headers["content-type"] == "text/event-stream; charset=utf-8"
        await world.publish(3, url="https://a.example/", title="line\nbreak ☂")
        await ears.until(3)
    assert [event["title"] for event in ears.heard] == ["line\nbreak ☂"] * 3
    assert len({event["id"] for event in ears.heard}) == 3


async def test_only_what_is_asked_for_is_told(world: World) -> None:
    async with listening(world.port, READER, "?types=page,job&job=a&job=b&kind=news") as ears:
        await world.publish(1, job="c", kind="news")
        await world.publish(1, job="a", kind="site")
        await world.publish(1, job="a", kind="news", type="alarm")
        await world.publish(1, job="b", kind="news", depth=1)
        await world.publish(1, job="a", kind="news", type="job", depth=2)
        await ears.until(2)
    assert [event["depth"] for event in ears.heard] == [1, 2]


async def test_after_a_break_everything_is_known_of_and_nothing_twice(world: World) -> None:
    async with listening(world.port, READER) as ears:
        await world.publish(3)
        await ears.until(3)
    await world.publish(15)
    back = {"Last-Event-ID": ears.last_id}
    async with listening(world.port, READER, headers=back) as again:
        await world.publish(2)
        await again.until(17)
    assert again.known == 17
    assert not {e["id"] for e in again.heard} & {e["id"] for e in ears.heard}


async def test_a_flood_is_thinned_out_and_counted(world: World) -> None:
    async with listening(world.port, READER) as ears:
        for _ in range(10):
            await world.publish(300)
        await world.publish(1, type="alarm", message="something is wrong")
        await ears.until(3_001)
    assert ears.known == 3_001
    assert len(ears.heard) < 100
    assert [event["type"] for event in ears.heard].count("alarm") == 1


async def test_a_listener_who_does_not_read_keeps_nobody_waiting(world: World) -> None:
    async with listening(world.port, READER), listening(world.port, READER) as ears:
        for _ in range(5):
            await world.publish(100, title="x" * 2_000)
        await ears.until(500)


async def test_who_hangs_up_is_forgotten(world: World) -> None:
    hub = world.here.app.state.herald.hub
    async with listening(world.port, READER) as ears:
        await world.publish()
        await ears.until(1)
        assert hub.count == 1
    async with asyncio.timeout(30):
        while hub.count:
            await asyncio.sleep(0.01)


@pytest.fixture
def quick_beats(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hubs, "HEARTBEAT_S", 0.0)


# Before the service begins, which has its first beat in mind from then on.
@pytest.mark.usefixtures("quick_beats")
async def test_a_quiet_connection_is_kept_alive(world: World) -> None:
    async with listening(world.port, READER) as ears, asyncio.timeout(90):
        text = b""
        while text.count(b"\n: \r\n") + text.count(b"\r\n: \n") < 3:
            text += await ears.reader.read(100)


async def test_the_end_of_the_service_is_the_end_of_the_answer(world: World) -> None:
    async with listening(world.port, READER) as ears:
        await world.publish()
        await ears.until(1)
        world.here.app.state.herald.hub.close()
        async with asyncio.timeout(30):
            with pytest.raises(EOFError):
                await ears.next()


@pytest.mark.parametrize(
    ("query", "headers", "status"),
    [
        ("?types=weather", {}, 422),
        ("", {"Last-Event-ID": "'; drop"}, 422),
        ("?job=" + ",".join(map(str, range(200))), {}, 422),
    ],
)
async def test_what_cannot_be_heard_is_refused(
    world: World, query: str, headers: dict[str, str], status: int
) -> None:
    answer = await world.here.http.get(f"/v1/events{query}", headers=headers)
    assert answer.status_code == status
    assert answer.json()["error"]["code"] == "invalid"


async def test_nobody_listens_without_a_token_or_when_there_are_too_many(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with listening(world.port, "wrong") as ears:
        assert ears.status == 401
    monkeypatch.setattr(hubs, "MOST_LISTENERS", 0)
    async with listening(world.port, READER) as ears:
        assert ears.status == 429
        assert "retry-after" in ears.headers


async def test_webhooks_are_added_listed_and_deleted(world: World) -> None:
    http = world.here.http
    made = await http.post("/v1/webhooks", json={"url": "http://127.0.0.1:9/in", "job": "a"})
    assert made.status_code == 201
    hook = made.json()
    assert len(hook["secret"]) >= 32
    [row] = (await http.get("/v1/webhooks")).json()["webhooks"]
    assert row == {**hook, "secret": None}
    assert (await http.delete(f"/v1/webhooks/{hook['id']}")).status_code == 204
    assert (await http.delete(f"/v1/webhooks/{hook['id']}")).status_code == 404
    assert (await http.delete("/v1/webhooks/no-such-thing")).status_code == 422
    assert (await http.get("/v1/webhooks")).json() == {"webhooks": []}


async def test_only_operators_add_webhooks(world: World) -> None:
    async with world.here.client("reader") as reader, world.here.client("operator") as operator:
        wish = {"url": "http://127.0.0.1:9/in", "secret": "sixteen letters!"}
        assert (await reader.post("/v1/webhooks", json=wish)).status_code == 403
        assert (await reader.get("/v1/webhooks")).status_code == 200
        assert (await operator.post("/v1/webhooks", json=wish)).status_code == 201
        short = await operator.post("/v1/webhooks", json={**wish, "secret": "short"})
        assert (short.status_code, short.json()["error"]["field"]) == (422, "secret")
        kind = await operator.post("/v1/webhooks", json={**wish, "types": ["weather"]})
        assert (kind.status_code, kind.json()["error"]["field"]) == (422, "types[0]")


async def test_what_is_said_of_sites_and_machines_is_told(world: World) -> None:
    async with listening(world.port, READER, "?types=setting,node") as ears:
        question = {"settings": "set", "pattern": "a.example", "words": ["delay=2"], "by": "me"}
        await world.here.service.ask(question)
        await ears.until(1)
    [event] = ears.heard
    assert (event["type"], event["host"], event["message"]) == (
        "setting",
        "a.example",
        "a.example: set by me",
    )
