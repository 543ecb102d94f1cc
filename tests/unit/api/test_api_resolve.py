"""URLs resolved over the API, by the worker of a real master, on a small site."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

import httpx
import pytest
import pytest_asyncio
from service import ADMIN, Served, served
from serving import Answer, SmallSite

from skitter import AsyncClient
from skitter.cli.explain import readable
from skitter.client.pages import Explanation, ResolveAnswer, Resolved
from skitter.crawl.resolve.lane import LANE
from skitter.wiring.api_access import answer

PAGE = """<html lang="en"><head><title>A page</title>
<meta name="description" content="About it"><meta property="og:image" content="/i.png"></head>
<body><img src="/i.png"><p>Text</p></body></html>"""
GIF = b"GIF89a\x01\x00\x01\x00\x00\x00\x00;"


pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.fixture(scope="module")
def site() -> Iterator[SmallSite]:
    answers: dict[str, Answer | str] = {
        "/robots.txt": Answer(b"User-agent: *\nDisallow: /private", "text/plain"),
        **{f"/page{n}": PAGE for n in range(10)},
        "/other": "<title>Other</title>",
        "/private": PAGE,
        "/short": Answer(b"", status=302, headers={"Location": "/page3"}),
        "/again": Answer(b"", status=302, headers={"Location": "/page3"}),
        "/i.png": Answer(GIF, "image/png"),
    }
    with SmallSite(answers) as found:
        yield found


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def here(tmp_path_factory: pytest.TempPathFactory, site: SmallSite) -> AsyncIterator[Served]:
    # One master for all, since a worker takes seconds to come; each test has pages of its own.
    async with served(tmp_path_factory.mktemp("up") / "state", workers=1) as found:
        await set_delay(found)
        running = asyncio.create_task(found.master.run())
        yield found
        found.master.stop()
        await running


async def set_delay(here: Served, seconds: float = 0, pattern: str = "*") -> None:
    words = [f"delay={seconds}"]
    question = {"settings": "set", "pattern": pattern, "words": words, "by": "test"}
    await here.service.ask(question)


async def resolve(here: Served, *urls: str, **more: Any) -> ResolveAnswer:
    body = {"urls": list(urls), "wait": 20, **more}
    answer = await here.http.post("/v1/resolve", json=body, timeout=30)
    assert answer.status_code == 200, answer.text
    return ResolveAnswer.model_validate_json(answer.content, strict=True)


async def one(here: Served, url: str, **more: Any) -> Resolved:
    [result] = (await resolve(here, url, **more)).results
    return result


async def test_a_page_is_fetched_once_and_told_from_the_index_after_that(
    here: Served, site: SmallSite
) -> None:
    url = site.url("/page1")
    first = await one(here, url)
    assert (first.state, first.cached, first.status, first.outcome) == ("done", False, 200, "ok")
    assert (first.title, first.description, first.language) == ("A page", "About it", "en")
    assert (first.image, first.final_url) == (site.url("/i.png"), url)
    second = await one(here, url)
    assert (second.state, second.cached, second.title) == ("done", True, "A page")
    assert site.asked.count("/page1") == 1


async def test_an_old_page_is_fetched_again_as_its_next_visit(
    here: Served, site: SmallSite
) -> None:
    url = site.url("/page2")
    await one(here, url)
    site.answers["/page2"] = Answer(b"<title>Changed</title>")
    again = await one(here, url, max_age=0)
    assert (again.title, again.cached) == ("Changed", False)
    found = await here.http.post("/v1/pages/lookup", json={"urls": [url], "job": LANE})
    assert found.json()["pages"][0]["title"] == "Changed"
    assert site.asked.count("/page2") == 2


async def explained(here: Served, url: str, **more: str) -> Explanation:
    answer = await here.http.get("/v1/pages", params={"url": url, **more})
    assert answer.status_code == 200, answer.text
    return Explanation.model_validate_json(answer.content)


async def test_every_visit_of_a_page_is_told(here: Served, site: SmallSite) -> None:
    url = site.url("/page8")
    await one(here, url)
    [first] = (await explained(here, url, job=LANE)).jobs[0].visits
    assert (first["number"], first["status"], first["outcome"]) == (1, 200, "ok")
    site.answers["/page8"] = Answer(b"gone", status=410)
    await one(here, url, max_age=0)
    site.answers["/page8"] = Answer(b"<title>Back</title>")
    last = await one(here, url, max_age=0)
    visits = (await explained(here, url, job=LANE)).jobs[0].visits
    assert visits[0] == first
    told = [(visit["number"], visit["status"], visit["outcome"]) for visit in visits]
    assert told == [(1, 200, "ok"), (2, 410, "http_error"), (3, 200, "ok")]
    assert visits[2]["at"] == last.fetched_at
    assert [visit["at"] for visit in visits] == sorted(visit["at"] for visit in visits)


async def test_the_next_visit_of_a_page_that_comes_again_is_told(
    here: Served, site: SmallSite
) -> None:
    url = site.url("/page9")
    job = {"id": "hourly", "entries": [url], "refresh": "1h", "depth": 0, "sitemaps": "no"}
    assert (await here.http.post("/v1/jobs", json=job)).status_code == 201
    async with asyncio.timeout(60):
        while not (found := (await explained(here, url, job="hourly")).jobs[0]).visits:
            await asyncio.sleep(0.1)
    assert (found.state, found.failed_tries) == ("scheduled", 0)
    assert found.why == "was fetched, and waits for its next visit"
    assert found.next_visit is not None
    fetched = datetime.fromisoformat(found.visits[0]["at"])
    wait = datetime.fromisoformat(found.next_visit) - fetched
    assert timedelta(minutes=50) < wait < timedelta(minutes=70)
    transport = httpx.ASGITransport(here.app)
    async with AsyncClient("http://skitter", ADMIN, transport=transport) as client:
        [facts] = await answer(client, {"page": url, "job": "hourly"})
    assert ["next_visit", found.next_visit] in [line.split() for line in readable(facts)]


async def test_redirects_are_followed_also_to_a_page_that_is_known(
    here: Served, site: SmallSite
) -> None:
    await one(here, site.url("/page3"))
    for path in ("/short", "/again"):
        found = await one(here, site.url(path))
        assert (found.title, found.state) == ("A page", "done")
        assert (found.final_url, found.redirects) == (site.url("/page3"), [site.url(path)])


async def test_what_cannot_be_fetched_is_answered_with_the_reason(
    here: Served, site: SmallSite
) -> None:
    answer = await resolve(
        here, site.url("/private"), "no url", "ftp://a.test/", site.url("/missing"),
        "http://169.254.169.254/", text=f"see {site.url('/other')}.",
    )  # fmt: skip
    assert answer.done
    private, bad, ftp, missing, metadata, other = answer.results
    assert (private.state, "robots.txt" in (private.error or "")) == ("blocked", True)
    assert (bad.state, ftp.state) == ("invalid", "invalid")
    assert (missing.state, missing.status, missing.outcome) == ("done", 404, "http_error")
    assert (metadata.state, "metadata" in (metadata.error or "")) == ("blocked", True)
    assert (other.state, other.title) == ("done", "Other")
    again = await one(here, site.url("/private/2"))
    assert (again.state, "robots.txt" in (again.error or "")) == ("blocked", True)


async def test_a_ticket_answers_later_and_is_unknown_to_those_who_guess(
    here: Served, site: SmallSite
) -> None:
    taken = await resolve(here, site.url("/page4"), wait=0)
    assert not taken.done
    later = await here.http.get(f"/v1/resolve/{taken.ticket}", params={"wait": 20}, timeout=30)
    told = ResolveAnswer.model_validate_json(later.content)
    assert (told.done, told.results[0].title, told.ticket) == (True, "A page", taken.ticket)
    for ticket in ("AAAAAAAAAAAAAAAA", "x", "%00"):
        assert (await here.http.get(f"/v1/resolve/{ticket}")).status_code == 404


async def test_a_message_tells_when_a_url_is_done_under_the_name_that_was_answered(
    here: Served, site: SmallSite
) -> None:
    reader = here.service.store.reader
    after = await reader.latest_event()
    taken = await resolve(here, site.url("/page0#top"), wait=0)
    [pending] = taken.results
    assert (pending.state, pending.requested_url) == ("pending", site.url("/page0"))
    told: list[dict[str, Any]] = []
    async with asyncio.timeout(30):
        while not told:
            rows = await reader.events(after, 100, 1_000)
            events = [json.loads(raw) for _, raw in rows]
            told = [event for event in events if event["type"] == "resolve"]
    [done] = told
    assert (done["url"], done["outcome"], done["status"]) == (site.url("/page0"), "ok", 200)
    assert (done["title"], done["job"]) == ("A page", LANE)


async def test_files_of_a_page_are_fetched_on_request(here: Served, site: SmallSite) -> None:
    url = site.url("/page5")
    assert (await one(here, url)).media == []
    found = await one(here, url, media=["image"])
    assert found.media == [{"url": site.url("/i.png"), "kind": "image"}]
    assert not found.cached
    assert (await one(here, url, media=["image"])).cached


async def test_a_url_goes_before_the_queue_of_a_crawl_and_keeps_the_delay_of_the_host(
    here: Served,
) -> None:
    delay_s, slack_s, queued = 0.6, 0.2, [f"/{n}" for n in range(30)]
    answers = {path: f"<title>{path}</title>" for path in (*queued, "/wanted")}
    with SmallSite(answers, "127.0.0.2") as slow:
        await set_delay(here, delay_s, "127.0.0.2")
        job = {"id": "slow", "entries": [*map(slow.url, queued)], "depth": 0, "sitemaps": "no"}
        assert (await here.http.post("/v1/jobs", json=job)).status_code == 201
        async with asyncio.timeout(60):
            while len(set(slow.asked) & set(queued)) < 2:
                await asyncio.sleep(0.02)
        before = set(slow.asked)
        found = await one(here, slow.url("/wanted"))
        assert (found.state, found.title) == ("done", "/wanted")
        asked = [heard for heard in slow.heard if heard.path != "/robots.txt"]
        async with asyncio.timeout(60):
            # One more of the crawl, so that the delay behind the page is seen as well.
            while asked[-1].path == "/wanted":
                await asyncio.sleep(0.02)
                asked = [heard for heard in slow.heard if heard.path != "/robots.txt"]
        assert (await here.http.post("/v1/jobs/slow/cancel")).status_code == 200
    paths = [heard.path for heard in asked]
    # What was under way when it came may be first, but not all that wait.
    overtaken = set(queued) - set(paths[: paths.index("/wanted")])
    assert len(overtaken) >= (len(queued) - len(before)) / 2
    gaps = [later.at - earlier.at for earlier, later in pairwise(asked)]
    assert min(gaps) >= delay_s - slack_s, list(zip(paths[1:], gaps, strict=True))


async def test_submissions_are_counted(here: Served, site: SmallSite) -> None:
    for _ in range(3):
        await one(here, site.url("/page6"))
    async with asyncio.timeout(60):
        # Another spelling of the page is the same page.
        while (await explained(here, site.url("/page6#part"))).submitted != 3:
            await asyncio.sleep(0.05)
    assert (await explained(here, site.url("/nobody"))).submitted == 0


async def test_an_age_without_end_is_refused(here: Served) -> None:
    body = b'{"urls": ["http://a.test/"], "max_age": 1e999}'
    headers = {"Content-Type": "application/json"}
    answer = await here.http.post("/v1/resolve", content=body, headers=headers)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "max_age")


async def test_a_text_without_urls_has_no_results(here: Served) -> None:
    told = await resolve(here, text="see you at nine")
    assert (told.done, told.results, told.left_out) == (True, [], 0)
    later = await here.http.get(f"/v1/resolve/{told.ticket}")
    assert ResolveAnswer.model_validate_json(later.content) == told


async def test_what_is_too_much_for_one_call_is_counted(here: Served) -> None:
    given = [f"no url {n}" for n in range(298)]
    # Two of them have room, and one is there twice.
    text = " ".join(f"https://user@{n}.test:99999/" for n in (1, 2, 3, 4, 5, 5))
    told = await resolve(here, *given, text=text)
    assert (len(told.results), told.left_out) == (300, 3)
    assert told.results[-1].url == "https://user@2.test:99999/"
    later = await here.http.get(f"/v1/resolve/{told.ticket}")
    assert later.json()["left_out"] == 3
    assert (await resolve(here, *given, text="none")).left_out == 0


async def test_nothing_to_resolve_and_readers_are_refused(here: Served) -> None:
    for body in ({}, {"urls": [], "text": ""}):
        answer = await here.http.post("/v1/resolve", json=body)
        assert (answer.status_code, answer.json()["error"]["field"]) == (422, "urls")
    async with here.client("reader") as reader:
        refused = await reader.post("/v1/resolve", json={"urls": ["https://a.test/"]})
        assert refused.status_code == 403
