"""Two services of one Redis, both at work and in use: either may be killed, nothing is missed."""

import asyncio
import os
import signal
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from clusters import Background, ManyHosts
from killable import family
from listening import Ears, Event, Receiver, a_receiver
from service import TOKENS, Up, bearer
from serving import Answer, SmallSite
from stores import own_store

pytestmark = pytest.mark.fault

JOB = "many"


class User:
    """A program that uses one of the services."""

    def __init__(self, http: httpx.AsyncClient) -> None:
        self._http = http
        self.asked = 0

    async def ask(self, method: str, path: str, **given: Any) -> Any:
        """Ask for something, which is never refused; return the answer."""
        answer = await self._http.request(method, path, timeout=60, **given)
        assert answer.is_success, answer.text
        self.asked += 1
        return answer.json()

    async def job(self) -> Any:
        return await self.ask("GET", f"/v1/jobs/{JOB}")

    async def verb(self, verb: str) -> str:
        return str((await self.ask("POST", f"/v1/jobs/{JOB}/{verb}"))["state"])

    async def resolve(self, *urls: str, wait: float = 0) -> Any:
        return await self.ask("POST", "/v1/resolve", json={"urls": urls, "wait": wait})

    async def use(self, url: str) -> None:
        """Ask for this and that without a break."""
        while True:
            await self.job()
            [found] = (await self.ask("POST", "/v1/pages/lookup", json={"urls": [url]}))["pages"]
            assert found["found"]
            assert (await self.ask("GET", "/v1/pages", params={"url": url}))["known"]
            await self.ask("GET", "/v1/stats")
            await asyncio.sleep(0.05)

    async def all_pages(self) -> Counter[str]:
        """Return how often the job has a record of each URL."""
        found: Counter[str] = Counter()
        after: str | None = ""
        while after is not None:
            given = {"limit": 100, "after": after}
            told = await self.ask("GET", f"/v1/jobs/{JOB}/pages", params=given)
            found.update(page["url"] for page in told["pages"])
            after = told["next"]
        return found


@asynccontextmanager
async def user(place: Up) -> AsyncIterator[User]:
    async with httpx.AsyncClient(base_url=place.url, headers=bearer("operator")) as http:
        yield User(http)


@asynccontextmanager
async def in_use(place: Up, url: str) -> AsyncIterator[User]:
    """Let somebody use a service all the while; that anything is refused is an error."""
    async with user(place) as one, user(place) as other, asyncio.TaskGroup() as group:
        using = group.create_task(other.use(url))
        yield one
        await until("many answers", lambda: _true(other.asked > 20))
        using.cancel()


async def _true(value: object) -> object:
    return value


async def until(what: str, is_so: Callable[[], Awaitable[object]]) -> None:
    try:
        async with asyncio.timeout(60):
            while not await is_so():
                await asyncio.sleep(0.1)
    except TimeoutError:
        raise AssertionError(f"{what} did not come") from None


def kill_all(up: Background) -> None:
    """Kill a service with everything it has started, as if its machine were gone."""
    for pid in family(up.pid):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    up.kill()


def pages_in(events: Sequence[Event]) -> int:
    return sum(event["type"] == "page" for event in events)


@dataclass
class World:
    """A crawl of many hosts with a listener and a webhook; what is resolved is elsewhere."""

    site: ManyHosts
    small: SmallSite
    hook: Receiver
    ears: Ears

    async def begin(self, place: Up) -> None:
        """Ask one of the services for the crawl."""
        wish = {"url": self.hook.url, "types": ["page", "job"], "job": JOB}
        job = {"id": JOB, "entries": [self.site.entry], "scope": "domain", "sitemaps": "no"}
        async with user(place) as one:
            await one.ask("POST", "/v1/webhooks", json=wish)
            await one.ask("POST", "/v1/jobs", json={**job, "polite": {"delay": 0.3}})
            await self.goes_on(one)

    async def submit(self, place: Up, path: str) -> str:
        """Ask one of them what is behind a URL, and wait for nothing but a ticket."""
        async with user(place) as one:
            told = await one.resolve(self.small.url(path))
            assert not told["done"]
            return str(told["ticket"])

    async def is_resolved(self, one: User, ticket: str, path: str, other: str) -> None:
        """Check that a ticket is good at a service, and that it gives others."""
        told = await one.ask("GET", f"/v1/resolve/{ticket}", params={"wait": 30})
        assert [(page["state"], page["title"]) for page in told["results"]] == [("done", path)]
        told = await one.resolve(self.small.url(other), self.small.url(path), wait=30)
        assert [page["title"] for page in told["results"]] == [other, path]

    async def goes_on(self, one: User) -> None:
        """Wait until further pages come, and those who listen hear of further ones."""

        async def counts() -> tuple[int, int, int]:
            pages = (await one.job())["pages"]
            return pages, pages_in(self.ears.heard), pages_in(self.hook.events)

        before = await counts()

        async def more() -> bool:
            return all(new >= old + 5 for old, new in zip(before, await counts(), strict=True))

        await until("further pages", more)

    async def is_whole(self, one: User) -> None:
        """Wait for the end; every page has its record, and all that was done has been told."""

        async def is_over() -> bool:
            return bool((await one.job())["state"] == "finished")

        await until("the end", is_over)
        found = await one.all_pages()
        assert set(found.values()) == {1}
        assert set(found) == {*self.site.urls, self.site.entry}
        assert (await one.job())["pages"] == len(found)
        verbs = ["added", "paused", "resumed", "finished"]
        await until("all events", lambda: _true(self.messages(self.hook.events)[-1:] == verbs[-1:]))
        assert self.messages(self.hook.events) == verbs
        await until("all events", lambda: _true(self.messages(self.ears.heard)[-1:] == verbs[-1:]))
        assert self.messages(self.ears.heard) == verbs

    def messages(self, events: Sequence[Event]) -> list[str]:
        told = {event["id"]: event for event in events if event["type"] == "job"}
        return [event["message"] for event in told.values() if event["job"] == JOB]


@asynccontextmanager
async def a_world() -> AsyncIterator[World]:
    titles: dict[str, Answer | str] = {f"/{n}": f"<title>/{n}</title>" for n in range(4)}
    ears = Ears(0, TOKENS["reader"])
    with ManyHosts(8, 40) as site, SmallSite(titles) as small:
        async with a_receiver() as hook, asyncio.TaskGroup() as group:
            listening = group.create_task(ears.listen(10**9))
            yield World(site, small, hook, ears)
            listening.cancel()


async def test_either_of_two_services_is_killed_in_use_and_not_missed(tmp_path: Path) -> None:
    flags = ("--store", own_store(), "--workers", "1", "--allow-private", "--hosts")
    first, second = (Up(tmp_path / name, *flags, tmp_path / "hosts") for name in ("one", "two"))
    async with a_world() as world, asyncio.timeout(280):
        entry = world.site.entry
        (tmp_path / "hosts").write_text(world.site.hosts_file)
        starts = (asyncio.to_thread(place.start) for place in (first, second))
        one, two = await asyncio.gather(*starts)
        with one, two:
            world.ears.port = first.port
            await world.begin(first)
            ticket = await world.submit(first, "/0")
            async with in_use(second, entry) as asking:
                kill_all(one)
                world.ears.port = second.port
                await world.goes_on(asking)
                # Whatever else takes its time, there is something left to crawl.
                assert await asking.verb("pause") == "paused"
                await world.is_resolved(asking, ticket, "/0", "/1")
                again = await asyncio.to_thread(first.start)
            with again:
                async with in_use(first, entry) as asking:
                    assert (await asking.job())["state"] == "paused"
                    assert await asking.verb("resume") == "running"
                    await world.goes_on(asking)
                    ticket = await world.submit(second, "/2")
                    assert (await asking.job())["state"] == "running"
                    kill_all(two)
                    world.ears.port = first.port
                    await world.is_resolved(asking, ticket, "/2", "/3")
                    await world.is_whole(asking)
