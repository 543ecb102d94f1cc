"""A crawl watched by what collects logs: what is said, and how it goes, are lines of the log."""

import asyncio
import logging
from typing import Final

from skitter.observability.stats import CrawlStats

EVERY_S: Final = 10.0

log = logging.getLogger(__name__)


class LogDisplay:
    """Logs in place of showing."""

    def open(self) -> None:
        """Do nothing: a log needs no screen."""

    def close(self) -> None:
        """Do nothing: a log needs no screen."""

    def say(self, line: str) -> None:
        """Log one sentence."""
        log.info("%s", line)

    async def follow(self, stats: CrawlStats) -> None:
        """Log how it goes every ten seconds, until cancelled; and a last time at the end."""
        try:
            while True:
                await asyncio.sleep(EVERY_S)
                log.info("progress", extra=progress(stats))
        finally:
            log.info("progress", extra=progress(stats))


def progress(stats: CrawlStats) -> dict[str, int]:
    """Return the numbers of a crawl at this moment."""
    return {
        "pages": stats.pages,
        "ok": stats.ok,
        "failed": stats.failed,
        "refused": stats.refused,
        "rejected": stats.rejected,
        "queued": stats.queued,
        "in_flight": stats.in_flight,
        "bytes": stats.bytes,
    }
