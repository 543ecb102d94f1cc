"""A child's connection to its master: one session, calls that wait until they are answered.

A call is repeated under its number until an answer comes, so it is run once however often a reply
is lost. When the master does not know the session any more, a new one begins and the call is made
anew in it; what the earlier session had leased is the store's again by then.
"""

import asyncio
import logging
import os
import random
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import aiohttp

from skitter.clock import Clock
from skitter.errors import ConfigError, FrontierError, SkitterError, StoreUnavailable
from skitter.frontier.remote.address import MasterAddress, ShortPath
from skitter.frontier.remote.wire import (
    MAX_BODY_BYTES,
    PATH,
    SESSION_HEADER,
    VERBS,
    Call,
    Closing,
    OtherVersion,
    SessionLost,
    Verb,
    Welcome,
    checked_token,
)

MAX_CONNECTIONS = 8
IDLE_S = 30.0
"""How long an unused connection is kept."""
SHOWN_AFTER_S = 1.0
"""Shorter troubles are not worth a word."""
_WAIT = frozenset({408, 425, 429})
"""Answers other than 5xx that ask for patience."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long a child waits, in seconds."""

    first_s: float = 0.05
    """Before a call is repeated for the first time; each time doubles it."""
    most_s: float = 2.0
    connect_s: float = 5.0
    answer_s: float = 10.0
    """For one answer; the call is then repeated, and goes on in the master meanwhile."""
    open_s: float = 10.0
    """For the first answer of all."""
    beat_s: float = 1.0
    """Between signs of life."""
    beat_answer_s: float = 2.0
    """For the answer to one; a shorter time finds out earlier that a connection is dead."""
    bye_s: float = 1.0
    """For saying goodbye."""

    def within(self, verb: Verb) -> float:
        """Return how long one answer to a verb may take."""
        return self.beat_answer_s if verb.name == "beat" else self.answer_s


class _Unanswered(Exception):
    """There was no answer, or one that asks for patience."""


class TooLarge(FrontierError):
    """A call that no master takes; it has to be split."""


class OwnSession:
    """The numbers of one session's calls."""

    def __init__(self) -> None:
        self.key = secrets.token_hex(16)
        self._last = 0
        self._open: set[int] = set()

    def begin(self) -> int:
        """Return the number of a new call."""
        self._last += 1
        self._open.add(self._last)
        return self._last

    def end(self, number: int) -> None:
        """Take note that nobody waits for a call any more."""
        self._open.discard(number)

    @property
    def settled(self) -> int:
        """The number below which nobody waits for any call."""
        return min(self._open, default=self._last + 1)


class MasterLink:
    """Calls to one master."""

    def __init__(
        self,
        address: MasterAddress,
        token: str,
        *,
        name: str,
        clock: Clock,
        patience: Patience,
        on_welcome: Callable[[Welcome], None],
    ) -> None:
        self._address = address
        self._name = name
        self._clock = clock
        self._patience = patience
        self._on_welcome = on_welcome
        self._headers = {"Authorization": f"Bearer {checked_token(token)}"} if token else {}
        self._rng = random.Random()  # noqa: S311  jitter, not secrets
        self._http: aiohttp.ClientSession | None = None
        self._place: ShortPath | None = None
        self._session: OwnSession | None = None
        self._joining = asyncio.Lock()
        self._beats: asyncio.Task[None] | None = None
        self._silent_since: float | None = None
        self._why = ""
        self._store_trouble = ""

    @property
    def trouble(self) -> str:
        """Why calls wait, in words; "" while the master answers."""
        if self._silent_since is not None:
            seconds = time.monotonic() - self._silent_since
            if seconds >= SHOWN_AFTER_S:
                return f"master {self._address.shown} does not answer for {seconds:.0f} s"
        return self._store_trouble

    async def open(self) -> None:
        """Join; raises in one clear line when that cannot be."""
        self._http = self._connect()
        try:
            async with asyncio.timeout(self._patience.open_s):
                await self._joined()
        except TimeoutError:
            await self.close()
            raise StoreUnavailable(
                f"master {self._address.shown}: no answer within {self._patience.open_s:g} s"
                f" ({self._why}); is it running, and is this its address?"
            ) from None
        except FrontierError as error:
            await self.close()
            raise ConfigError(str(error)) from error
        except BaseException:
            await self.close()
            raise
        self._beats = asyncio.create_task(self._keep_beating())

    def _connect(self) -> aiohttp.ClientSession:
        connector: aiohttp.BaseConnector
        if self._address.socket is not None:
            self._place = ShortPath(self._address.socket)
            connector = aiohttp.UnixConnector(
                self._place.path, limit=MAX_CONNECTIONS, keepalive_timeout=IDLE_S
            )
        else:
            connector = aiohttp.TCPConnector(limit=MAX_CONNECTIONS, keepalive_timeout=IDLE_S)
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._patience.connect_s)
        cookies = aiohttp.DummyCookieJar()
        return aiohttp.ClientSession(connector=connector, timeout=timeout, cookie_jar=cookies)

    async def close(self) -> None:
        """Say goodbye, if the master listens, and hang up; idempotent."""
        beats, self._beats = self._beats, None
        if beats is not None:
            beats.cancel()
            with suppress(asyncio.CancelledError):
                await beats
        if self._http is None:
            return
        session, self._session = self._session, None
        try:
            if session is not None:
                bye = VERBS["bye"].write_call(Call(0, 0, ()), 0.0)
                with suppress(_Unanswered, FrontierError):
                    await self._post("bye", session, bye, self._patience.bye_s)
        finally:
            http, self._http = self._http, None
            await http.close()
            if self._place is not None:
                self._place.close()

    async def call(self, verb: Verb, *arguments: Any) -> Any:
        """Return the answer to a call, however long that takes."""
        while True:
            session = await self._joined()
            # What changes nothing may be run twice, and need not be remembered; it may take long.
            number = session.begin() if verb.changes else 0
            try:
                return await self._call(verb, session, number, arguments)
            except SessionLost:
                self._lose(session)
            finally:
                session.end(number)

    async def _call(
        self, verb: Verb, session: OwnSession, number: int, arguments: tuple[Any, ...]
    ) -> Any:
        # Deadlines in the answer count from before the first try, which may be the one that runs.
        boot = self._clock.boot()
        body = verb.write_call(Call(number, session.settled, arguments), boot)
        if len(body) > MAX_BODY_BYTES:
            raise TooLarge(f"the call {verb.name} takes {len(body)} bytes")
        wait_s = self._patience.first_s
        while True:
            asked_at = time.monotonic()
            try:
                answer = await self._post(verb.name, session, body, self._patience.within(verb))
                return verb.read_answer(answer, boot)
            except (_Unanswered, Closing) as error:
                self._note_silence(asked_at, error)
                await asyncio.sleep(wait_s * self._rng.uniform(0.5, 1.0))
                wait_s = min(wait_s * 2, self._patience.most_s)
            except OtherVersion as error:
                raise OtherVersion(f"master {self._address.shown}: {error}") from error

    async def _joined(self) -> OwnSession:
        """Return the session; begins one if there is none."""
        if self._session is not None:
            return self._session
        async with self._joining:
            if self._session is None:
                session = OwnSession()
                who = (self._name, os.getpid())
                self._on_welcome(await self._call(VERBS["hello"], session, 0, who))
                self._session = session
            return self._session

    def _lose(self, session: OwnSession) -> None:
        if self._session is session:
            self._session = None
            log.warning(
                "master %s has restarted or given this process up: what it was fetching is"
                " fetched again",
                self._address.shown,
            )

    async def _keep_beating(self) -> None:
        """Give signs of life, also while nothing else is to be said."""
        while True:
            await asyncio.sleep(self._patience.beat_s)
            try:
                self._store_trouble = await self.call(VERBS["beat"])
            except SkitterError as error:
                # The next call that somebody waits for raises it.
                log.debug("no sign of life could be given: %s", error)

    async def _post(self, verb: str, session: OwnSession, body: bytes, within_s: float) -> bytes:
        """Send one message; returns the answer, or raises what there is instead."""
        if self._http is None:
            raise FrontierError(f"the connection to master {self._address.shown} is closed")
        headers = {**self._headers, SESSION_HEADER: session.key}
        try:
            async with (
                asyncio.timeout(within_s),
                self._http.post(
                    self._address.url + PATH + verb,
                    data=body,
                    headers=headers,
                    allow_redirects=False,
                ) as response,
            ):
                status = response.status
                answer = await response.read()
        except (OSError, aiohttp.ClientError, TimeoutError) as error:
            raise _Unanswered(_fault(error)) from error
        if status >= 500 or status in _WAIT:
            raise _Unanswered(f"HTTP status {status}")
        self._silent_since = None
        if status != 200:
            why = _refusal(status, has_token=bool(self._headers))
            raise FrontierError(f"master {self._address.shown}: {why}")
        return answer

    def _note_silence(self, asked_at: float, error: Exception) -> None:
        self._why = str(error)
        if self._silent_since is None:
            self._silent_since = asked_at
            log.info("master %s does not answer: %s", self._address.shown, error)


def _fault(error: Exception) -> str:
    """Say what is wrong with a connection, in the system's words rather than the library's."""
    if isinstance(error, aiohttp.ClientConnectorError):
        return error.os_error.strerror or str(error.os_error)
    return str(error) or type(error).__name__


def _refusal(status: int, *, has_token: bool) -> str:
    if status == 401 and not has_token:
        return "it wants a token; give it with --token or SKITTER_TOKEN"
    if status == 401:
        return "it refuses the token; give the one its operator has set"
    if status == 413:
        return "the call is too large for it"
    return f"HTTP status {status}, which no Skitter master sends; is this its address?"
