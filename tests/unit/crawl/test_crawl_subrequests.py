import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest
from crawl_rig import SITE, HeldFetcher, Web, make_job

from skitter.crawl.subrequests import KEPT_S, ScriptCache, SubRequests
from skitter.crawl.windows import PutOff
from skitter.errors import AddressRefused, LeaseLost
from skitter.fetch.base import Response
from skitter.fetch.browser.base import Answered, Wanted
from skitter.testing.fake_fetcher import FakeFetcher, page
from skitter.testing.virtual_clock import VirtualClock
from skitter.types import HostKey

CDN = "http://cdn.test"


class Open:
    """Lets everything be asked for, unless a test says otherwise."""

    def __init__(self) -> None:
        self.closed: set[str] = set()
        self.fault: Exception | None = None
        self.statuses: list[int] = []
        self.said = {"User-Agent": "us"}

    async def allows(self, url: str, host: HostKey) -> bool:
        return url not in self.closed

    def headers(self, url: str, host: HostKey) -> Mapping[str, str]:
        return self.said

    def ready(self, host: HostKey) -> Callable[[], Awaitable[None]] | None:
        return None

    def permit(self) -> None:
        if self.fault is not None:
            raise self.fault

    def answered(self, host: HostKey, response: Response) -> None:
        self.statuses.append(response.status)


@pytest.fixture
def web() -> Web:
    found = Web()
    found.text(f"{SITE}/a.js", "let a", "text/javascript")
    found.text(f"{SITE}/b.json", "{}", "application/json")
    return found


def wanted(url: str, *, is_script: bool = False, most_bytes: int = 1_000, **headers: str) -> Wanted:
    return Wanted(url=url, is_script=is_script, headers=headers, most_bytes=most_bytes)


class Rig:
    def __init__(self, web: Web, **job: Any) -> None:
        self.fetcher = FakeFetcher(web)
        self.clock = VirtualClock()
        self.access = Open()
        self.held = HeldFetcher(self.fetcher)
        self.requests = SubRequests(make_job(**job), self.held, self.clock)

    async def ask(self, url: str, **given: Any) -> bytes | None:
        found = await self.requests.ask(self.access, wanted(url, **given))
        return None if found is None else found.body

    @property
    def asked(self) -> list[str]:
        return [request.url for request in self.fetcher.requests]


async def test_a_script_is_fetched_once_for_many_pages_and_data_each_time(web: Web) -> None:
    rig = Rig(web)
    for _ in range(2):
        assert await rig.ask(f"{SITE}/a.js", is_script=True) == b"let a"
        assert await rig.ask(f"{SITE}/b.json") == b"{}"
    assert rig.asked == [f"{SITE}/a.js", f"{SITE}/b.json", f"{SITE}/b.json"]
    rig.clock.advance(KEPT_S + 1)
    await rig.ask(f"{SITE}/a.js", is_script=True)
    assert rig.asked.count(f"{SITE}/a.js") == 2


async def test_pages_that_begin_together_share_their_script(web: Web) -> None:
    rig = Rig(web)
    found = await asyncio.gather(*(rig.ask(f"{SITE}/a.js", is_script=True) for _ in range(4)))
    assert found == [b"let a"] * 4
    assert rig.asked == [f"{SITE}/a.js"]


async def test_few_go_to_one_host_at_a_time(web: Web) -> None:
    urls = [f"{SITE}/{n}.json" for n in range(4)]
    rig = Rig(web)
    for url in urls:
        web.text(url, "{}", "application/json")
        rig.held.hold(url)
    tasks = [asyncio.create_task(rig.ask(url)) for url in urls]
    for url in urls[:2]:
        await rig.held.asked(url)
    for _ in range(20):
        await asyncio.sleep(0)
    assert rig.held.times["site.test"].__len__() == 2
    for url in urls:
        rig.held.let_go(url)
    assert await asyncio.gather(*tasks) == [b"{}"] * 4


async def test_each_hop_is_judged_and_loses_what_was_for_the_first_host(web: Web) -> None:
    rig = Rig(web)
    web.moved(f"{SITE}/old", f"{CDN}/new")
    web[f"{CDN}/new"] = readable_by("*")
    headers = {"accept": "*/*", "authorization": "secret", "x-key": "secret"}
    assert await rig.ask(f"{SITE}/old", **headers) == b"data"
    first, last = rig.fetcher.requests
    assert first.headers == {**headers, "User-Agent": "us"}
    assert last.headers == {"accept": "*/*", "origin": SITE, "User-Agent": "us"}
    rig.access.closed = {f"{CDN}/new"}
    assert await rig.ask(f"{SITE}/old") is None
    assert rig.asked.count(f"{CDN}/new") == 1


def readable_by(origin: str) -> Response:
    headers = {"content-type": "application/json"}
    if origin:
        headers["access-control-allow-origin"] = origin
    return page(f"{CDN}/new", b"data", headers=headers)


@pytest.mark.parametrize(
    ("readers", "reads"), [("", False), ("*", True), (SITE, True), ("http://other.test", False)]
)
async def test_a_redirect_does_not_open_what_another_site_keeps_to_itself(
    web: Web, readers: str, *, reads: bool
) -> None:
    rig = Rig(web)
    web.moved(f"{SITE}/old", f"{CDN}/new")
    web[f"{CDN}/new"] = readable_by(readers)
    assert (await rig.ask(f"{SITE}/old") is not None) is reads
    assert await rig.ask(f"{SITE}/old", is_script=True) is None


async def test_after_two_sites_a_request_is_nobodys(web: Web) -> None:
    rig = Rig(web)
    web.moved(f"{SITE}/old", f"{CDN}/on")
    web.moved(f"{CDN}/on", "http://third.test/new")
    web["http://third.test/new"] = readable_by(SITE)
    assert await rig.ask(f"{SITE}/old") is None
    assert rig.fetcher.requests[-1].headers["origin"] == "null"


async def test_what_we_say_goes_before_what_the_page_says(web: Web) -> None:
    rig = Rig(web)
    rig.access.said = {"Authorization": "ours"}
    await rig.ask(f"{SITE}/b.json", authorization="of the page")
    assert rig.fetcher.requests[0].headers == {"Authorization": "ours"}


async def test_a_script_that_was_fetched_as_ours_is_for_our_pages(web: Web) -> None:
    rig = Rig(web)
    rig.access.said = {"Cookie": "session=secret"}
    await rig.ask(f"{SITE}/a.js", is_script=True)
    rig.access.said = {}
    await rig.ask(f"{SITE}/a.js", is_script=True)
    assert rig.asked == [f"{SITE}/a.js"] * 2


async def test_a_circle_ends(web: Web) -> None:
    rig = Rig(web)
    web.moved(f"{SITE}/o", f"{SITE}/o")
    assert await rig.ask(f"{SITE}/o") is None
    assert len(rig.asked) == 6


@pytest.mark.parametrize(
    "fault",
    [AddressRefused(SITE, "private"), LeaseLost("gone"), PutOff(5)],
    ids=lambda fault: type(fault).__name__,
)
async def test_what_cannot_be_had_is_nothing(web: Web, fault: Exception) -> None:
    rig = Rig(web)
    rig.access.fault = fault
    assert await rig.ask(f"{SITE}/b.json") is None


async def test_errors_are_answers_and_are_told(web: Web) -> None:
    web.status(f"{SITE}/gone", 404)
    web.status(f"{SITE}/busy", 429)
    rig = Rig(web)
    found = await rig.requests.ask(rig.access, wanted(f"{SITE}/gone"))
    assert found is not None
    assert found.status == 404
    await rig.ask(f"{SITE}/busy")
    assert rig.access.statuses == [404, 429]


async def test_what_is_too_large_is_nothing(web: Web) -> None:
    web.text(f"{SITE}/large.json", "x" * 2_000, "application/json")
    rig = Rig(web)
    assert await rig.ask(f"{SITE}/large.json") is None
    assert await rig.ask(f"{SITE}/large.json", most_bytes=3_000) is not None
    assert await rig.ask(f"{SITE}/a.js", is_script=True) == b"let a"
    assert await rig.ask(f"{SITE}/a.js", is_script=True, most_bytes=2) is None


def script(size: int, **headers: str) -> Answered:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answered(status=200, headers=named, body=b"x" * size)


def test_the_cache_keeps_the_latest_up_to_a_size() -> None:
    cache = ScriptCache(VirtualClock(), most_bytes=100)
    cache.keep("a", script(40))
    cache.keep("b", script(40))
    assert cache.get("a") is not None
    cache.keep("c", script(40))
    assert [cache.get(url) is not None for url in "abc"] == [True, False, True]
    cache.keep("d", script(101))
    assert [cache.get(url) for url in "abcd"] == [None] * 4
    cache.keep("e", script(100))
    assert cache.get("e") is not None


def test_a_server_may_forbid_it() -> None:
    cache = ScriptCache(VirtualClock())
    cache.keep("a", script(4, cache_control="private, no-store"))
    cache.keep("b", Answered(status=404, headers={}, body=b""))
    assert (cache.get("a"), cache.get("b")) == (None, None)
