"""What an error of a store means for a call: wait, ask another server, or give up.

Faults of the world pass, and calls wait for that: a server that is gone, slow, full, loading or
failing over. Faults of the caller or of the configuration do not pass, and are raised.
"""

import os
import random
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum, auto
from typing import Final, NamedTuple

from redis.exceptions import AuthenticationError, AuthorizationError, RedisError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeout

FIRST_WAIT_S: Final = 0.05
LONGEST_WAIT_S: Final = 2.0
_SILENT_S = 2.0
_FINAL = (ResponseError, AuthenticationError, AuthorizationError)

_SILENT = "does not answer"


class Means(Enum):
    """What is to be done about an error."""

    WAIT = auto()
    ELSEWHERE = auto()
    """Another server has the key."""
    LOAD = auto()
    """The server does not know the function: it has lost the library."""
    FENCED = auto()
    RAISE = auto()


class Verdict(NamedTuple):
    """What an error means, and in words why a call waits or fails."""

    means: Means
    words: str


_moving = Verdict(Means.WAIT, "is moving keys")
_failing_over = Verdict(Means.WAIT, "is failing over")
_BY_CODE = {
    "ASK": _moving,
    "BUSY": Verdict(Means.WAIT, "is busy with a long script"),
    "CLUSTERDOWN": _failing_over,
    "FENCED": Verdict(Means.FENCED, ""),
    "FROZEN": Verdict(Means.WAIT, "is frozen by its operator"),
    "INDEXED": Verdict(
        Means.RAISE, "its page index is in PostgreSQL by now; start again with --index URL"
    ),
    "LOADING": Verdict(Means.WAIT, "is loading its data"),
    "MASTERDOWN": _failing_over,
    "MISCONF": Verdict(Means.WAIT, "cannot write to its disk"),
    "MOVED": _moving._replace(means=Means.ELSEWHERE),
    "NOREPLICAS": Verdict(Means.WAIT, "has too few replicas"),
    "OOM": Verdict(Means.WAIT, "is full"),
    "READONLY": _failing_over,
    "TRYAGAIN": _moving,
}
_BY_BEGINNING = {
    "ERR Function not found": Verdict(Means.LOAD, ""),
    "ERR Script attempted to access a non local key": _moving,
    "ERR max number of clients reached": Verdict(Means.WAIT, "takes no more clients"),
}


def judge(error: Exception) -> Verdict:
    """Tell what an answer that is an error means."""
    text = said(error)
    known = _BY_CODE.get(text.partition(" ")[0])
    for beginning, verdict in _BY_BEGINNING.items():
        if text.startswith(beginning):
            known = verdict
    if known is not None:
        return Verdict(known.means, known.words or text)
    if isinstance(error, RedisError | OSError) and not isinstance(error, _FINAL):
        refusal = tls_refusal(error)
        return Verdict(Means.WAIT, f"{_SILENT} ({refusal})" if refusal else _SILENT)
    return Verdict(Means.RAISE, text or repr(error))


def said(error: Exception) -> str:
    """Return what a server said, its first word included, or else what went wrong."""
    code = getattr(error, "status_code", None)
    return f"{code} {error}" if code else str(error)


def tls_refusal(error: BaseException) -> str:
    """Return why TLS failed; "" when it did not."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"certificate: {cause.verify_message}"
        if isinstance(cause, ssl.SSLError):
            return f"TLS: {cause.reason or cause}"
        cause = cause.__cause__ or cause.__context__
    return ""


def reason(error: BaseException) -> str:
    """Return in a few words why there was no connection or no answer."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, TimeoutError | RedisTimeout):
            return "silent for too long"
        if isinstance(cause, socket.gaierror):
            return "the name is not known"
        if isinstance(cause, OSError) and cause.errno:
            return os.strerror(cause.errno).lower()
        cause = cause.__cause__ or cause.__context__
    return str(error).rstrip(".").lower()


class BackOff:
    """How long to wait before the next try: longer each time, and not all at once."""

    def __init__(self) -> None:
        self._next = FIRST_WAIT_S

    def step(self) -> float:
        """Return the seconds to wait now."""
        wait, self._next = self._next, min(2 * self._next, LONGEST_WAIT_S)
        return wait * random.uniform(0.5, 1.0)  # noqa: S311  jitter, not secrets


class Waiting:
    """One call that is under way."""

    __slots__ = ("since", "why")

    def __init__(self) -> None:
        self.since = time.monotonic()
        self.why = ""


class Trouble:
    """Why calls are waiting, in words; the one that has waited longest speaks for all."""

    def __init__(self, store: str, on_change: Callable[[str], None]) -> None:
        self._store = store
        self._on_change = on_change
        self._calls: dict[int, Waiting] = {}
        self._told = ""

    @property
    def words(self) -> str:
        """The words for a person; "" when nothing waits for long."""
        now = time.monotonic()
        for call in self._calls.values():
            waited = now - call.since
            why = call.why or (f"store {self._store} {_SILENT}" if waited > _SILENT_S else "")
            if why:
                return f"{why} for {waited:.0f} s"
        return ""

    @contextmanager
    def call(self) -> Iterator[Waiting]:
        """Count a call as under way."""
        call = Waiting()
        self._calls[id(call)] = call
        try:
            yield call
        finally:
            del self._calls[id(call)]
            if self._told:
                self._tell()

    def wait(self, call: Waiting, why: str) -> None:
        """Note why a call is going to wait."""
        call.why = why
        self._tell()

    def _tell(self) -> None:
        why = next((call.why for call in self._calls.values() if call.why), "")
        if why != self._told:
            self._told = why
            self._on_change(self.words if why else "")
