"""How much may be asked: requests in a second, requests at once, bytes of a body."""

import asyncio
import json
import re
import time
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from hashlib import blake2b
from math import ceil

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from skitter.api.auth import bearer, cookie_in
from skitter.api.errors import ApiError, problem
from skitter.client.base import Role

MOST_BUCKETS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """So many requests a second, and so many more in a burst."""

    per_second: float
    burst: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What one service lets itself be asked."""

    rate: Rate = Rate(per_second=200, burst=400)
    """Of each token."""
    apart: dict[str, Rate] = field(
        default_factory=lambda: {
            "/v1/pages/lookup": Rate(per_second=2_000, burst=4_000),
            "/v1/resolve": Rate(per_second=1_000, burst=2_000),
        }
    )
    """Paths that are counted by themselves."""
    wrong: Rate = Rate(per_second=5, burst=50)
    """Wrong tokens from one address: enough for many who mistype behind one proxy."""
    at_once: int = 512
    """Requests in hand, over all tokens; those that only wait are not counted."""
    share: float = 0.5
    """Part of them that one token can have: the others are always answered."""
    streams: tuple[str, ...] = ("/v1/events", "/v1/resolve")
    """Paths of requests that wait for something to happen; how many may, they know themselves."""
    body_bytes: int = 1 << 20
    bodies: dict[str, int] = field(
        default_factory=lambda: {"/v1/rules/try": 4 << 20, "/login": 16 << 10}
    )
    """Paths with another limit to the body."""
    body_s: float = 5.0
    """How long a body may take to come, beside what its bytes take."""
    body_rate: int = 64 << 10
    """Bytes in a second that are enough for as long as they come."""


class Buckets:
    """Counts the requests of each token."""

    def __init__(self, rate: Rate, clock: Callable[[], float]) -> None:
        self._rate = rate
        self._clock = clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, who: str) -> float:
        """Take one request; answers 0, or the seconds after which there is one to take."""
        now = self._clock()
        left, at = self._left.get(who, (self._rate.burst, now))
        left = min(self._rate.burst, left + (now - at) * self._rate.per_second)
        wait_s = 0.0 if left >= 1 else (1 - left) / self._rate.per_second
        self._left[who] = (left if wait_s else left - 1, now)
        self._left.move_to_end(who)
        if len(self._left) > MOST_BUCKETS:
            self._left.popitem(last=False)
        return wait_s


class LimitGate:
    """Refuses at once what is too much."""

    def __init__(
        self, app: ASGIApp, limits: Limits, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._app = app
        self._limits = limits
        self._all = Buckets(limits.rate, clock)
        self._apart = {path: Buckets(rate, clock) for path, rate in limits.apart.items()}
        self._in_hand = Counter[Role]()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or refuse it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        known = "skitter.role" in scope
        try:
            if known:
                self._admit(scope)
            receive = self._bounded(scope, receive)
        except ApiError as error:
            refusal = problem(error.status, error.message, error.field, error.headers)
            await refusal(scope, receive, send)
            return
        counted = known and not scope["path"].startswith(self._limits.streams)
        if not counted:
            await self._app(scope, receive, send)
            return
        # By role, as whoever has a token can make any number of cookies of it.
        role: Role = scope["skitter.role"]
        self._in_hand[role] += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._in_hand[role] -= 1

    def _admit(self, scope: Scope) -> None:
        headers, path = Headers(scope=scope), scope["path"]
        buckets = next(
            (one for begins, one in self._apart.items() if path.startswith(begins)), self._all
        )
        if wait_s := buckets.take(_who(headers)):
            raise _too_many("more requests than this token may make", wait_s)
        if path.startswith(self._limits.streams):
            return
        most = self._limits.at_once
        if self._in_hand.total() >= most:
            raise _too_many("more requests at once than can be answered", 1)
        if self._in_hand[scope["skitter.role"]] >= ceil(most * self._limits.share):
            raise _too_many("more requests at once than one token may have", 1)

    def _bounded(self, scope: Scope, receive: Receive) -> Receive:
        """Return how the body is read; also of one who need not say who asks, as at the login."""
        headers, path = Headers(scope=scope), scope["path"]
        most = self._limits.bodies.get(path, self._limits.body_bytes)
        announced = headers.get("content-length", "0")
        if not announced.isdecimal() or int(announced) > most:
            raise ApiError(413, _too_large(most))
        return _Body(receive, most, self._limits).receive


class _Body:
    """Counts what comes of a body, and how long it takes."""

    def __init__(self, receive: Receive, most: int, limits: Limits) -> None:
        self._receive = receive
        self._most = most
        self._body = bytearray()
        self._complete = False
        self._rate = limits.body_rate
        self._until = asyncio.get_running_loop().time() + limits.body_s

    async def receive(self) -> Message:
        """Return the next part of the body, or what comes behind it."""
        if self._complete:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._until + len(self._body) / self._rate):
                message = await self._receive()
        except TimeoutError:
            # What is still to come of it would be read as the next request.
            over = {"Connection": "close"}
            raise HTTPException(408, "the body did not come in time", over) from None
        self._body += message.get("body", b"")
        self._complete = not message.get("more_body", False)
        if len(self._body) > self._most:
            raise HTTPException(413, _too_large(self._most))
        if self._complete and _has_half(self._body):
            raise HTTPException(422, "the body has half of a character that takes two")
        return message


_HALF = re.compile(rb"\\u[dD][89a-fA-F]")


def _has_half(body: bytearray) -> bool:
    """Tell whether JSON holds text that can be written nowhere: a surrogate without its other."""
    if _HALF.search(body) is None:
        return False
    try:
        json.dumps(json.loads(body), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return True
    except (ValueError, RecursionError):
        # That it is no JSON is said by whoever reads it.
        return False
    return False


def _too_large(most: int) -> str:
    return f"the body is too large; wanted {most} bytes or less"


def _too_many(message: str, wait_s: float) -> ApiError:
    return ApiError(429, f"{message}; ask again later", headers={"Retry-After": str(ceil(wait_s))})


def _who(headers: Headers) -> str:
    """Return what tells one who asks from another, and does not tell the token."""
    # Not the header as it is: one token can be written in as many ways as somebody likes.
    shown = bearer(headers.get("authorization", "")) or cookie_in(headers)
    return blake2b(shown.encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()
