"""A tuned scrapy-redis worker: START_URL RECORDS_FILE CONCURRENCY STORE_URL NUMBER.

Runs in an environment of its own.
Worker 1 puts the start page into Redis; the others begin when there are requests to share. Each
keeps a set of the addresses it has sent to Redis itself, so that Redis hears of them once.
"""

import sys
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urldefrag

import redis
from scrapy import Request  # type: ignore[import-not-found]
from scrapy.crawler import CrawlerProcess  # type: ignore[import-not-found]
from scrapy.http import HtmlResponse  # type: ignore[import-not-found]
from scrapy_redis.spiders import RedisSpider  # type: ignore[import-not-found]

START, RECORDS, CONCURRENCY, STORE, NUMBER = (
    sys.argv[1],
    sys.argv[2],
    int(sys.argv[3]),
    sys.argv[4],
    int(sys.argv[5]),
)
IDLE_S = 3
"""A worker ends when it has had nothing to do and is at least this old."""
_WAIT_S = 30.0
_OFF_DOWNLOADER = (
    "httpauth.HttpAuthMiddleware",
    "useragent.UserAgentMiddleware",
    "httpproxy.HttpProxyMiddleware",
    "cookies.CookiesMiddleware",
)
_OFF_SPIDER = (
    "referer.RefererMiddleware",
    "urllength.UrlLengthMiddleware",
    "depth.DepthMiddleware",
)
SETTINGS: dict[str, Any] = {
    "REDIS_URL": STORE,
    "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
    # The worker that ends first must leave the queue to the others.
    "SCHEDULER_PERSIST": True,
    "MAX_IDLE_TIME_BEFORE_CLOSE": IDLE_S,
    "CONCURRENT_REQUESTS": CONCURRENCY,
    "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENCY,
    "DOWNLOAD_DELAY": 0,
    "ROBOTSTXT_OBEY": True,
    "COOKIES_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "LOG_LEVEL": "ERROR",
    "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
    "ASYNCIO_EVENT_LOOP": "uvloop.Loop",
    "FEEDS": {RECORDS: {"format": "jsonlines"}},
    "DOWNLOADER_MIDDLEWARES": {
        f"scrapy.downloadermiddlewares.{name}": None for name in _OFF_DOWNLOADER
    },
    "SPIDER_MIDDLEWARES": {f"scrapy.spidermiddlewares.{name}": None for name in _OFF_SPIDER},
}


class BenchSpider(RedisSpider):  # type: ignore[misc]
    """Follows every link and yields one record per page."""

    name = "bench"
    redis_key = "bench:start_urls"

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.known = {START}

    def make_request_from_data(self, data: bytes) -> Request:
        """Return the start page as a request that counts as known from then on."""
        return Request(data.decode())

    def parse(self, response: Any) -> Iterator[Any]:
        """Read one page."""
        if not isinstance(response, HtmlResponse):
            return
        hrefs = response.xpath("//a/@href").getall()
        for href in dict.fromkeys(hrefs):
            url = urldefrag(response.urljoin(href)).url.removesuffix("?")
            if url not in self.known:
                self.known.add(url)
                yield Request(url)
        title = response.xpath("/html/head/title/text()").get()
        yield {
            "url": response.url,
            "status": response.status,
            "title": title,
            "n_links": len(hrefs),
        }


def _await_requests(store: "redis.Redis") -> None:
    """Wait for work: an idle worker asks again only every few seconds."""
    deadline = time.monotonic() + _WAIT_S
    while not store.exists("bench:requests") and time.monotonic() < deadline:
        time.sleep(0.05)


with redis.Redis.from_url(STORE) as server:
    if NUMBER == 1:
        server.lpush(BenchSpider.redis_key, START)
    else:
        _await_requests(server)
process = CrawlerProcess(SETTINGS)
process.crawl(BenchSpider)
process.start()
