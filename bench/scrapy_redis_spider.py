"""A tuned scrapy-redis worker: START_URL RECORDS_FILE CONCURRENCY STORE_URL NUMBER.

Runs in an environment of its own, as a script: what it shares with Scrapy's is beside it.
Worker 1 puts the start page into Redis; the others begin when there are requests to share. Each
keeps a set of the addresses it has sent to Redis itself, so that Redis hears of them once.
"""

import sys
import time
from typing import Any

import redis
from scrapy import Request  # type: ignore[import-not-found]
from scrapy_redis.spiders import RedisSpider  # type: ignore[import-not-found]

from scrapy_spider import START, Reader, crawl  # type: ignore[import-not-found]

STORE, NUMBER = sys.argv[4], int(sys.argv[5])
IDLE_S = 3
"""A worker ends when it has had nothing to do and is at least this old."""
_WAIT_S = 30.0
_SETTINGS: dict[str, Any] = {
    "REDIS_URL": STORE,
    "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
    # The worker that ends first must leave the queue to the others.
    "SCHEDULER_PERSIST": True,
    "MAX_IDLE_TIME_BEFORE_CLOSE": IDLE_S,
    "LOG_LEVEL": "ERROR",
}


class BenchSpider(Reader, RedisSpider):  # type: ignore[misc]
    """Keeps its queue in Redis."""

    redis_key = "bench:start_urls"

    def make_request_from_data(self, data: bytes) -> Request:
        """Return the start page as a request that counts as known from then on."""
        return Request(data.decode())


def _await_requests(store: "redis.Redis") -> None:
    """Wait for work: an idle worker asks again only every few seconds."""
    deadline = time.monotonic() + _WAIT_S
    while not store.exists("bench:requests") and time.monotonic() < deadline:
        time.sleep(0.05)


if __name__ == "__main__":
    with redis.Redis.from_url(STORE) as server:
        if NUMBER == 1:
            server.lpush(BenchSpider.redis_key, START)
        else:
            _await_requests(server)
    crawl(BenchSpider, _SETTINGS)
