"""What an answer means: a value, a refusal, or that it is worth another try. Pure."""

import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import NoneType

import httpx
from pydantic import TypeAdapter, ValidationError

from skitter.client.base import ErrorBody
from skitter.client.calls.base import Answer, Call
from skitter.client.jobs import JobDetail
from skitter.errors import ApiAway, ApiError

BUSY = frozenset({429, 503})
"""What a service says that has not done it yet, and may soon."""
_FIRST_S = 0.1
_LONGEST_S = 10.0
_BETWEEN = frozenset({502, 503, 504})
"""What is said by somebody else than the service, or by one that is not ready."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How often a call is sent again, and how long to wait before each time."""

    retries: int = 3
    longest_s: float = _LONGEST_S
    """A service that wants a longer pause than this is not asked again."""

    def after_fault(self, call: Call[Answer], attempt: int, fault: Exception) -> float | None:
        """Return the pause before the next try, or None for no more of them."""
        if attempt >= self.retries:
            return None
        never_sent = isinstance(fault, httpx.ConnectError | httpx.ConnectTimeout)
        return backoff(attempt) if never_sent or call.repeatable else None

    def after_answer(
        self, call: Call[Answer], attempt: int, response: httpx.Response
    ) -> float | None:
        """Return the pause before the next try, or None where this answer is the last word."""
        if response.status_code not in BUSY - call.accepts:
            return None
        if attempt >= self.retries or not call.repeatable:
            return None
        wanted = retry_after(response.headers)
        pause = backoff(attempt) if wanted is None else wanted + backoff(0)
        return pause if pause <= self.longest_s else None


@dataclass(slots=True)
class Absence:
    """How long a listener has not reached its service."""

    longest_s: float = 60.0
    """A service is given up that stays away for longer."""
    _since: float | None = None
    _faults: int = 0

    def ended(self) -> None:
        """Note that the service is there."""
        self._since, self._faults = None, 0

    def goes_on(self, url: str, fault: Exception) -> None:
        """Note that it is not; raise where that is not going to change."""
        if isinstance(fault, ApiError) and fault.status not in BUSY:
            raise fault
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        self._faults += 1
        if now - self._since > self.longest_s:
            raise nobody(url, fault) from fault

    def pause(self, wanted_s: float | None) -> float:
        """Return how long to wait before the next try."""
        return max(wanted_s or 0.0, backoff(self._faults))


def backoff(attempt: int) -> float:
    """Return how long to wait before try number ``attempt`` + 1, twice as long each time."""
    return min(_LONGEST_S, _FIRST_S * 2.0 ** min(attempt, 10)) * random.uniform(0.5, 1.0)  # noqa: S311  no secret


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds of a Retry-After header, which may also name a moment."""
    text = headers.get("retry-after", "").strip()
    if not text:
        return None
    try:
        if text.isdecimal():
            return float(text)
        return max(0.0, (parsedate_to_datetime(text) - datetime.now(UTC)).total_seconds())
    except (TypeError, ValueError):
        return None


def read_answer(call: Call[Answer], response: httpx.Response) -> Answer:
    """Return the value of an answer, or raise what it says went wrong."""
    if not response.is_success and response.status_code not in call.accepts:
        raise refusal(response)
    content = b"null" if call.answer is NoneType else response.content
    try:
        value = TypeAdapter(call.answer).validate_json(content)
    except ValidationError as error:
        raise refusal(response) from error
    if isinstance(value, JobDetail):
        value.tagged(response.headers.get("etag"))
    return value


def refusal(response: httpx.Response) -> ApiError:
    """Return the error that an answer is."""
    status = response.status_code
    try:
        told = ErrorBody.model_validate_json(response.content).error
    except ValidationError:
        return not_a_service(response)
    kind = ApiAway if status in _BETWEEN else ApiError
    return kind(status, told.code, told.message, told.field)


def not_a_service(response: httpx.Response) -> ApiError:
    """Return the error of an answer that is none of this API."""
    status, url = response.status_code, response.request.url
    said = f"{url}: answered {status} with something that is no answer of a Skitter service"
    return ApiAway(status, "not_a_service", said)


def nobody(url: httpx.URL | str, fault: Exception) -> ApiAway:
    """Return the error of a call that brought no answer."""
    words = str(fault) or type(fault).__name__
    return ApiAway(0, "away", f"{url}: nobody answers ({words})")
