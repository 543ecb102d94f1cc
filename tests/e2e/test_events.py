"""Events of a whole service at work: many listeners, breaks, kills, and a receiver of webhooks."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
import redis
from bench.endless_web import endless_web
from clusters import Background, gone
from crawling import command
from listening import Ears, a_receiver
from service import ADMIN, TOKENS, Up, service_pid
from stores import own_store

pytestmark = pytest.mark.e2e

LISTENERS = 50
HOSTS = 10
JOB = """\
id = "endless"
kind = "site"
entries = {entries}
[limits]
pages = 1000000
[polite]
delay = 0.2
"""


@asynccontextmanager
async def at_work(folder: Path, *words: str) -> AsyncIterator[tuple[Up, Background]]:
    """Run a service with a worker that crawls about fifty pages a second, without an end."""
    place = Up(folder, "--workers", "1", "--allow-private", *words)
    async with endless_web() as endless:
        with await asyncio.to_thread(place.start) as up:
            job = folder / "job.toml"
            job.write_text(JOB.format(entries=json.dumps(endless.entries(HOSTS))))
            where = words or ("--data", str(place.data))
            added = await asyncio.to_thread(command, "job", "add", job, *where)
            assert added.code == 0, added.err
            yield place, up


async def test_listeners_know_of_every_event_over_breaks_and_kills(tmp_path: Path) -> None:
    async with at_work(tmp_path) as (place, up):
        everybody = [Ears(place.port, TOKENS["reader"]) for _ in range(LISTENERS)]

        async def all_hear(n: int) -> None:
            async with asyncio.timeout(60):
                await asyncio.gather(*(ears.listen(ears.known + n) for ears in everybody))

        await all_hear(60)
        # Their connections have ended; each comes back where it was.
        await all_hear(60)
        pid = service_pid(up)
        listeners = asyncio.create_task(all_hear(150))
        await asyncio.sleep(0.5)
        os.kill(pid, signal.SIGKILL)
        assert gone([pid])
        await listeners
        for ears in everybody:
            ears.check()
            assert ears.broken >= 1
        assert {event["job"] for ears in everybody for event in ears.heard} == {"endless"}


async def test_a_webhook_loses_nothing_when_the_service_is_killed(tmp_path: Path) -> None:
    headers = {"Authorization": f"Bearer {ADMIN}"}
    async with a_receiver() as receiver, at_work(tmp_path) as (place, up):
        async with httpx.AsyncClient(base_url=place.url, headers=headers, timeout=60) as http:
            wish = {"url": receiver.url, "types": ["page", "job"]}
            assert (await http.post("/v1/webhooks", json=wish)).status_code == 201
        for n in (50, 100, 150):
            async with asyncio.timeout(60):
                while len(set(receiver.ids)) < n:
                    await asyncio.sleep(0.05)
            os.kill(service_pid(up), signal.SIGKILL)
            async with asyncio.timeout(60):
                while not await _is_back(place):
                    await asyncio.sleep(0.05)
    told = sorted(set(receiver.ids))
    assert told == list(range(told[0], told[0] + len(told)))


async def _is_back(place: Up) -> bool:
    async with httpx.AsyncClient(base_url=place.url) as http:
        try:
            return (await http.get("/healthz")).status_code == 200
        except httpx.TransportError:
            return False


async def test_listeners_go_on_at_another_service_of_the_same_store(tmp_path: Path) -> None:
    redis_url = own_store()
    shared = ("--store", redis_url)
    async with at_work(tmp_path / "one", *shared) as (first, up):
        second = Up(tmp_path / "two", *shared, "--workers", "0")
        with await asyncio.to_thread(second.start):
            ears = Ears(first.port, TOKENS["reader"])
            async with asyncio.timeout(60):
                await ears.listen(40)
                os.kill(service_pid(up), signal.SIGKILL)
                ears.port = second.port
                await ears.listen(120)
    server, _, namespace = redis_url.partition("?namespace=")
    with redis.Redis.from_url(server) as client:
        [stream] = client.scan_iter(match=f"*{namespace}*events*", _type="stream")
        first_id, last_id = ears.heard[0]["id"], ears.heard[-1]["id"]
        kept = client.xrange(stream, first_id, last_id)
    ids = [tuple(map(int, event["id"].split("-"))) for event in ears.heard]
    assert ids == sorted(set(ids))
    assert len(kept) == ears.known - ears.heard[0].get("dropped", 0)
