"""Questions of the command line as a service answers them, over a transport that is one."""

import httpx

from skitter import AsyncClient
from skitter.wiring.api_access import Facts, answer

URL = "https://a.test/"


def explained(job: str, state: str) -> dict[str, object]:
    return {"job": job, "url": URL, "state": state, "why": f"as {job} says"}


async def page(*jobs: dict[str, object]) -> list[Facts]:
    def service(request: httpx.Request) -> httpx.Response:
        assert request.url.path == "/v1/pages"
        return httpx.Response(200, json={"url": URL, "known": True, "jobs": list(jobs)})

    transport = httpx.MockTransport(service)
    async with AsyncClient("http://h", transport=transport) as client:
        return await answer(client, {"page": URL})


async def test_a_page_is_told_as_every_job_says_that_knows_it() -> None:
    jobs = [explained("news", "done"), explained("docs", "queued"), explained("shop", "unknown")]
    told = await page(*jobs)
    assert [(one["job"], one["state"]) for one in told] == [("news", "done"), ("docs", "queued")]


async def test_the_only_job_is_heard_though_it_does_not_know_the_page() -> None:
    assert await page(explained("news", "unknown")) == [
        {"url": URL, "job": "news", "state": "unknown", "why": "as news says"}
    ]


async def test_a_page_that_no_job_knows_is_told_with_their_names() -> None:
    [told] = await page(explained("shop", "unknown"), explained("news", "unknown"))
    assert told["state"] == "unknown"
    assert "no job knows it" in str(told["why"])
    assert "news, shop" in str(told["why"])
