"""Requests to this process, counted and timed as they pass."""

import logging
import time
from typing import Final

from prometheus_client import CollectorRegistry, Counter, Histogram, ProcessCollector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from skitter.api.metrics.table import REQUEST_SECONDS, REQUESTS

ENDLESS: Final = frozenset({"/v1/events"})
"""Answers that last as long as somebody listens: how long they took says nothing."""
MOST_PATH: Final = 200
BUCKETS: Final = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 30.0)


log = logging.getLogger(__name__)


class RequestCounts:
    """What was asked of one app; each has its own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        # The names in the text have their endings from the library.
        name = REQUESTS.name.removesuffix("_total")
        self._requests = Counter(name, REQUESTS.words, [REQUESTS.label], registry=self.registry)
        self._seconds = Histogram(
            REQUEST_SECONDS.name, REQUEST_SECONDS.words, buckets=BUCKETS, registry=self.registry
        )
        ProcessCollector(registry=self.registry)

    def count(self, status: int) -> None:
        """Count an answer that has begun."""
        self._requests.labels(str(status)).inc()

    def time(self, seconds: float) -> None:
        """Count how long one took that has ended."""
        self._seconds.observe(seconds)


class Counted:
    """Counts every request that passes."""

    def __init__(self, app: ASGIApp, counts: RequestCounts) -> None:
        self._app = app
        self._counts = counts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.perf_counter(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = int(message["status"])
                self._counts.count(status)
            await send(message)

        if scope["path"] in ENDLESS:
            await self._app(scope, receive, send)
            return
        await self._app(scope, receive, sending)
        seconds = time.perf_counter() - began
        self._counts.time(seconds)
        if log.isEnabledFor(logging.INFO):
            log.info("request", extra=_facts(scope, status, seconds))


def _facts(scope: Scope, status: int, seconds: float) -> dict[str, object]:
    """Return what is logged of a request: nothing of its query, which may hold anything."""
    return {
        "method": scope["method"],
        "path": scope["path"][:MOST_PATH],
        "status": status,
        "ms": round(seconds * 1000, 1),
        "role": str(scope.get("skitter.role", "")),
    }
