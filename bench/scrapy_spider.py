"""A tuned Scrapy crawl: START_URL RECORDS_FILE CONCURRENCY. Runs in an environment of its own.

What the bench does not need is switched off, links are read by one XPath, and a set of known
addresses stands in front of Scrapy's own duplicate filter.
"""

import sys
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any
from urllib.parse import urldefrag

from scrapy import Request, Spider  # type: ignore[import-not-found]
from scrapy.crawler import CrawlerProcess  # type: ignore[import-not-found]
from scrapy.http import HtmlResponse  # type: ignore[import-not-found]

START, RECORDS, CONCURRENCY = sys.argv[1], sys.argv[2], int(sys.argv[3])
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
_SETTINGS: dict[str, Any] = {
    "CONCURRENT_REQUESTS": CONCURRENCY,
    "CONCURRENT_REQUESTS_PER_DOMAIN": CONCURRENCY,
    "DOWNLOAD_DELAY": 0,
    "ROBOTSTXT_OBEY": True,
    "COOKIES_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
    "LOG_LEVEL": "WARNING",
    "TWISTED_REACTOR": "twisted.internet.asyncioreactor.AsyncioSelectorReactor",
    "ASYNCIO_EVENT_LOOP": "uvloop.Loop",
    "FEEDS": {RECORDS: {"format": "jsonlines"}},
    "DOWNLOADER_MIDDLEWARES": {
        f"scrapy.downloadermiddlewares.{name}": None for name in _OFF_DOWNLOADER
    },
    "SPIDER_MIDDLEWARES": {f"scrapy.spidermiddlewares.{name}": None for name in _OFF_SPIDER},
}


class Reader:
    """Follows every link and yields one record per page; the same for every kind of spider."""

    name = "bench"

    def __init__(self, *args: Any, **settings: Any) -> None:
        super().__init__(*args, **settings)
        self.known = {START}

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


class BenchSpider(Reader, Spider):  # type: ignore[misc]
    """Keeps its queue to itself."""

    async def start(self) -> AsyncIterator[Request]:
        """Begin at the start page."""
        yield Request(START)


def crawl(spider: type[Reader], settings: Mapping[str, Any]) -> None:
    """Run one spider to its end, tuned, with settings of its own."""
    process = CrawlerProcess({**_SETTINGS, **settings})
    process.crawl(spider)
    process.start()


if __name__ == "__main__":
    crawl(BenchSpider, {})
