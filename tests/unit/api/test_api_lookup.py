"""Look-ups over the API, on a store that was filled by the bench."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from bench.lookup_store import final_url_of, make_store, record_of, url_of
from service import Served, served

from skitter.client.pages import LookupAnswer

PAGES = 1_200


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Served]:
    await make_store(tmp_path / "state", PAGES)
    async with served(tmp_path / "state") as found:
        yield found


async def look(here: Served, *urls: str, **more: str) -> LookupAnswer:
    answer = await here.http.post("/v1/pages/lookup", json={"urls": list(urls), **more})
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/json"
    return LookupAnswer.model_validate_json(answer.content, strict=True)


async def test_three_hundred_urls_are_looked_up_at_once(here: Served) -> None:
    wanted = range(0, 900, 3)
    found = await look(here, *(url_of(page, PAGES) for page in wanted))
    for page, one in zip(wanted, found.pages, strict=True):
        record = record_of(page, PAGES, "lookups")
        told = (one.url, one.title, one.final_url, one.image)
        assert told == (record.url, record.title, record.final_url, record.image)


async def test_final_urls_lead_to_the_record_and_unknown_ones_to_nothing(here: Served) -> None:
    found = await look(
        here, final_url_of(10, PAGES), "https://nowhere.example/", "no url", job="lookups"
    )
    first, second, third = found.pages
    assert (first.requested_url, first.redirects) == (url_of(10, PAGES), [url_of(10, PAGES)])
    assert (second.found, second.error) == (False, None)
    assert (third.found, third.error is None) == (False, False)


async def test_bad_look_ups_are_refused_in_words(here: Served) -> None:
    async def refused(**body: object) -> tuple[int, str | None]:
        answer = await here.http.post("/v1/pages/lookup", json=body)
        return answer.status_code, answer.json()["error"]["field"]

    assert await refused(urls=[]) == (422, "urls")
    assert await refused(urls=["https://a.test/"] * 301) == (422, "urls")
    assert await refused(urls=["https://a.test/"], job="nobody") == (404, None)
    assert await refused(urls=["https://a.test/"], other=1) == (422, "other")
    assert await refused() == (422, "urls")


async def test_readers_may_look_up_and_strangers_may_not(here: Served) -> None:
    async with here.client("reader") as reader, here.client() as stranger:
        body = {"urls": ["https://a.test/"]}
        assert (await reader.post("/v1/pages/lookup", json=body)).status_code == 200
        assert (await stranger.post("/v1/pages/lookup", json=body)).status_code == 401
