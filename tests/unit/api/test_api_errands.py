"""Pages fetched for people, and rules tried on them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from service import Served, served
from serving import Answer, SmallSite

from skitter.api import errands

RULES: dict[str, Any] = {
    "entries": ["http://x.test/"],
    "detail": {"fields": {"head": {"css": "h1::text", "required": True}}},
}


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Served]:
    async with served(tmp_path / "state") as found:
        yield found


async def test_a_page_is_fetched_with_its_redirects(here: Served) -> None:
    answers = {
        "/a": Answer(b"", status=302, headers={"Location": "/b"}),
        "/b": Answer("<title>Käse</title><meta name=description content=d>".encode()),
    }
    with SmallSite(answers) as site:
        await here.http.put("/v1/settings/127.0.0.1", json={"delay": 0})
        answer = await here.http.post("/v1/fetch", json={"url": site.url("/a"), "body": True})
        assert answer.status_code == 200, answer.text
        found = answer.json()
        assert (found["status"], found["title"], found["description"]) == (200, "Käse", "d")
        assert found["final_url"] == site.url("/b")
        assert found["redirects"] == [site.url("/a")]
        assert "<title>Käse" in found["body"]
        assert site.asked[:1] == ["/robots.txt"]


async def test_what_is_forbidden_is_not_fetched(here: Served) -> None:
    robots = Answer(b"User-agent: *\nDisallow: /no", headers={"Content-Type": "text/plain"})
    with SmallSite({"/robots.txt": robots, "/no": Answer(b"x")}) as site:
        answer = await here.http.post("/v1/fetch", json={"url": site.url("/no")})
        assert (answer.status_code, answer.json()["error"]["field"]) == (422, "url")
        assert "robots.txt" in answer.json()["error"]["message"]
        host = site.url().split("/")[2]
        await here.http.put(f"/v1/settings/{host}", json={"blacklist": True})
        answer = await here.http.post("/v1/fetch", json={"url": site.url("/yes")})
        assert "blacklisted" in answer.json()["error"]["message"]
        assert site.asked == ["/robots.txt"]


async def test_a_page_that_is_not_there_is_told_as_such(here: Served) -> None:
    answer = await here.http.post("/v1/fetch", json={"url": "http://127.0.0.1:1/"})
    assert (answer.status_code, answer.json()["error"]["code"]) == (424, "fetch_failed")
    for bad in ("", "ftp://x/", "no url"):
        answer = await here.http.post("/v1/fetch", json={"url": bad})
        assert (answer.status_code, answer.json()["error"]["field"]) == (422, "url")


async def test_private_addresses_are_out_of_reach(tmp_path: Path) -> None:
    async with served(tmp_path / "state", allow_private=False) as here:
        with SmallSite({"/": Answer(b"secret")}) as site:
            for call, body in (
                ("/v1/fetch", {"url": site.url()}),
                ("/v1/rules/try", {"url": site.url(), "job": RULES}),
            ):
                answer = await here.http.post(call, json=body)
                assert (answer.status_code, answer.json()["error"]["field"]) == (422, "url")
            assert site.asked == []


async def test_rules_are_tried_on_html_that_is_given(here: Served) -> None:
    html = "<h1>Top</h1><p>text <a href='/n'>next</a>"
    wish = {"job": RULES, "url": "http://x.test/p", "html": html}
    answer = await here.http.post("/v1/rules/try", json=wish)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert (found["fields"], found["missing"]) == ({"head": "Top"}, [])
    assert found["links"][0]["url"] == "http://x.test/n"
    empty = await here.http.post("/v1/rules/try", json={**wish, "html": "<p>no head"})
    assert empty.json()["missing"] == ["head"]
    bad = {**wish, "job": {"detail": {"fields": {"head": {"css": "h1["}}}}}
    refused = await here.http.post("/v1/rules/try", json=bad)
    assert refused.status_code == 422
    assert refused.json()["error"]["field"].startswith("detail.fields.head")
    large = await here.http.post("/v1/rules/try", json={**wish, "html": "x" * 3_000_000})
    assert large.status_code == 200
    other = await here.http.post("/v1/rules/try", json={**wish, "rule": "nosuch"})
    assert other.status_code == 422


@pytest.mark.parametrize(
    ("job", "field"),
    [
        ({"http": {"headers": {"X-A": "env:HOME"}}}, "http.headers.X-A"),
        ({"http": {"cookies": "file:/etc/passwd"}}, "http.cookies"),
        ({"archive": {"directory": "/tmp"}}, "archive.directory"),
    ],
)
async def test_rules_that_are_tried_read_nothing_of_this_machine(
    here: Served, job: dict[str, Any], field: str
) -> None:
    wish = {"url": "http://x.test/", "job": {**RULES, **job}, "html": "<p>"}
    answer = await here.http.post("/v1/rules/try", json=wish)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, field)


async def test_rules_are_tried_on_a_page_that_is_fetched(here: Served) -> None:
    with SmallSite({"/p": Answer(b"<h1>Top</h1>")}) as site:
        await here.http.put("/v1/settings/127.0.0.1", json={"delay": 0})
        wish = {"job": {**RULES, "polite": {"delay": 0}}, "url": site.url("/p")}
        answer = await here.http.post("/v1/rules/try", json=wish)
        assert answer.json()["fields"] == {"head": "Top"}
        gone = await here.http.post("/v1/rules/try", json={**wish, "url": site.url("/gone")})
        assert gone.status_code == 424


async def test_more_errands_than_there_is_room_for_are_refused(
    here: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(errands, "AT_ONCE", 0)
    answer = await here.http.post("/v1/fetch", json={"url": "http://127.0.0.1:1/"})
    assert answer.status_code == 429
    assert answer.headers["retry-after"] == "2"


async def test_two_errands_to_one_host_come_after_each_other(here: Served) -> None:
    with SmallSite({"/a": Answer(b"a"), "/b": Answer(b"b")}) as site:
        calls = [here.http.post("/v1/fetch", json={"url": site.url(path)}) for path in ("/a", "/b")]
        started = asyncio.get_running_loop().time()
        both = await asyncio.gather(*calls)
        assert [answer.status_code for answer in both] == [200, 200]
        # Each waits for the delay of the host, which is a second.
        assert asyncio.get_running_loop().time() - started >= 2.0
        assert site.asked.count("/robots.txt") == 1
