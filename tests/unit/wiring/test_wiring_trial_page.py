"""The page that rules are tried on is fetched as gently as in a crawl."""

import time
from itertools import pairwise

import pytest

from skitter.errors import ConfigError
from skitter.fetch.base import Request, Response
from skitter.job.spec import check_job
from skitter.testing.fake_fetcher import FakeFetcher, page
from skitter.wiring.trial_page import Errand

SITE, OTHER = "http://a.test", "http://b.test"
DELAY_S = 0.1
SECRET = {"X-Key": "hunter2"}


class TimedFetcher(FakeFetcher):
    """Notes when each request was made."""

    times: list[float]

    async def fetch(self, request: Request) -> Response:
        self.times = [*getattr(self, "times", []), time.monotonic()]
        return await super().fetch(request)


def moved(url: str, target: str) -> Response:
    return page(url, status=302, headers={"location": target})


def errand(pages: dict[str, Response], **polite: object) -> tuple[Errand, TimedFetcher]:
    job = check_job(
        {
            "entries": [f"{SITE}/"],
            "polite": {"delay": DELAY_S, **polite},
            "http": {"headers": SECRET},
        },
        "job",
    )
    fetcher = TimedFetcher(pages)
    return Errand(job, fetcher), fetcher


async def test_requests_to_a_host_have_the_delay_of_the_job_between_them() -> None:
    pages = {
        f"{SITE}/robots.txt": page(f"{SITE}/robots.txt", status=404),
        f"{SITE}/old": moved(f"{SITE}/old", "/new"),
        f"{SITE}/new": page(f"{SITE}/new", "<p>"),
    }
    made, fetcher = errand(pages)
    url, _ = await made.run(f"{SITE}/old")
    assert url == f"{SITE}/new"
    assert [one.url for one in fetcher.requests] == list(pages)
    # A process that was held up for a moment makes a request a little late.
    assert all(late - early >= DELAY_S / 2 for early, late in pairwise(fetcher.times))


async def test_the_delay_that_robots_txt_asks_for_counts_where_it_is_longer() -> None:
    robots = "User-agent: *\nCrawl-delay: 0.4\nDisallow: /secret"
    pages = {
        f"{SITE}/robots.txt": page(f"{SITE}/robots.txt", robots),
        f"{SITE}/new": page(f"{SITE}/new", "<p>"),
    }
    made, fetcher = errand(pages)
    await made.run(f"{SITE}/new")
    assert fetcher.times[1] - fetcher.times[0] >= 0.2
    with pytest.raises(ConfigError, match=r"robots\.txt forbids it"):
        await made.run(f"{SITE}/secret")


async def test_a_site_whose_robots_txt_breaks_is_not_asked() -> None:
    made, fetcher = errand({f"{SITE}/robots.txt": page(f"{SITE}/robots.txt", status=503)})
    with pytest.raises(ConfigError, match="status 503, which forbids all"):
        await made.run(f"{SITE}/new")
    assert len(fetcher.requests) == 1


async def test_headers_of_the_job_go_to_its_own_domain_alone() -> None:
    sub = "http://www.a.test/x"
    pages = {
        sub: moved(sub, f"{OTHER}/y"),
        f"{OTHER}/y": page(f"{OTHER}/y", "<p>"),
    }
    made, fetcher = errand(pages, robots=False)
    await made.run(sub)
    assert [one.headers.get("X-Key") for one in fetcher.requests] == ["hunter2", None]
