"""A tuned Scrapy crawl: START_URL RECORDS_FILE CONCURRENCY. Runs in an environment of its own.

What the bench does not need is switched off, links are read by one XPath, and a set of known
addresses stands in front of Scrapy's own duplicate filter.
"""

import sys
from collections.abc import AsyncIterator, Iterator
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
SETTINGS: dict[str, Any] = {
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


class BenchSpider(Spider):  # type: ignore[misc]
    """Follows every link and yields one record per page."""

    name = "bench"
    known: set[str]

    async def start(self) -> AsyncIterator[Request]:
        """Begin at the start page."""
        self.known = {START}
        yield Request(START)

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


process = CrawlerProcess(SETTINGS)
process.crawl(BenchSpider)
process.start()
