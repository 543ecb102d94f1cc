"""The master's side of a remote frontier, without a transport.

A child is a session. As long as it calls, what it has leased is its own. When it is silent for too
long its leases end at once, so that others go on with them. A call that comes twice is run once.
"""

import asyncio
import hmac
import logging
import re
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from skitter.clock import Clock
from skitter.errors import FrontierError, SkitterError
from skitter.frontier.base import FrontierControl
from skitter.frontier.events import MAX_WAIT_MS, Bell
from skitter.frontier.model import Ack, Claim, Freed, Grant, Lease, Receipt, Result
from skitter.frontier.remote.sessions import Session, SessionFacts
from skitter.frontier.remote.wire import (
    VERBS,
    Call,
    Closing,
    SessionLost,
    Store,
    Verb,
    Welcome,
    checked_token,
    write_error,
)

CONTROL_VERBS = frozenset(name for name in vars(FrontierControl) if name in VERBS)
GUEST_MARKS = re.compile(
    r"(robots|scope|traps|linked|aliases|templates|drift|fitted|history|job:[0-9]+:archive"
    r"|nodes:(list|pulse|answer)):"
)
"""Marks that a child may keep: what it learned of sites and of pages that come again, where its own
archive ends, and how the workers of its machine stand. It may answer orders, and give none.
"""
SILENCE_S = 5.0
SWEEP_S = 0.5
OVERSLEPT_S = 1.0
"""Being this late for a sweep says that this process stood still, and heard nobody meanwhile."""
MAX_NAME = 200
SERVICE = "service"
"""The name of the process that serves people: it fetches nothing and is no member."""
MEMBERS_MARK = "remote:members"
"""Holds something while there are sessions, so that the next opening knows that there were."""
CLOSE_S = 5.0
"""How long running calls may take when the master ends."""

log = logging.getLogger(__name__)
T = TypeVar("T")


class RemoteServer:
    """Answers the calls of children on a frontier of this process.

    Acks are passed on in the order in which they came; the next may come before the one before
    has returned. ``handle`` may be called by any transport.

    A master that ended while it had children knows nothing of their leases when it is back, but
    they may still be at work. So it hands out nothing until they have noticed, ``quiet_s`` later.
    """

    def __init__(
        self,
        frontier: Store,
        *,
        secret: bytes,
        clock: Clock,
        token: str = "",
        silence_s: float = SILENCE_S,
        quiet_s: float = SILENCE_S,
    ) -> None:
        self._frontier = frontier
        self._secret = secret
        self._clock = clock
        self._tokens = [checked_token(token)] if token else []
        self.settings: dict[str, Any] = {}
        """What children are told when they come; plain JSON."""
        self.guests = False
        """Whether children may fetch and bring pages, and nothing else."""
        self._silence_s = silence_s
        self._quiet_s = quiet_s
        self._quiet_until = 0.0
        self._sessions: dict[str, Session] = {}
        self._gone: list[Session] = []
        """Sessions that have ended, as long as calls of theirs may run."""
        self._abandoned: list[Lease] = []
        """Leases of sessions that were given up, still to be ended."""
        self._epoch = 0
        self._marked = False
        self._closing = False
        self._closed = Bell()
        self._sweeper: asyncio.Task[None] | None = None
        self._own_verbs: Mapping[str, Callable[..., Awaitable[Any]]] = {
            "own": self._own,
            "disown": self._disown,
            "claim": self._claim,
            "ack": self._ack,
            "renew": self._renew,
            "events": self._events,
            "stirs": self._stirs,
            "beat": self._beat,
            "bye": self._bye,
        }

    async def open(self) -> None:
        """Begin to watch over sessions; the frontier is open already."""
        grants = await self._frontier.own("", (0,))
        self._epoch = grants[0].fence if grants else 0
        if await self._frontier.mark(MEMBERS_MARK):
            self._marked = True
            self._quiet_until = self._clock.boot() + self._quiet_s
        self._sweeper = asyncio.create_task(self._keep_sweeping(self._clock.boot()))

    async def close(self) -> None:
        """Take no more calls and let those that run end; the frontier stays open."""
        self._closing = True
        self._closed.ring()
        if self._sweeper is not None:
            self._sweeper.cancel()
            with suppress(asyncio.CancelledError):
                await self._sweeper
            self._sweeper = None
        known = (*self._sessions.values(), *self._gone)
        await asyncio.gather(*(session.finish(CLOSE_S) for session in known))
        if self._marked and not self._sessions and not self.quiet_left_s:
            with suppress(SkitterError):
                await self._mark(b"")

    @property
    def quiet_left_s(self) -> float:
        """How long nothing is to be handed out yet, to children or in this process."""
        return max(0.0, self._quiet_until - self._clock.boot())

    @property
    def guarded(self) -> bool:
        """Whether there is a token to ask for."""
        return bool(self._tokens)

    def admits(self, token: str) -> bool:
        """Tell whether ``token`` is a right one, in a time that says nothing about it."""
        given = token.encode("utf-8", "surrogateescape")
        known = [hmac.compare_digest(given, one.encode()) for one in self._tokens]
        return any(known)

    def also_admit(self, token: str) -> None:
        """Take another token for a right one."""
        self._tokens.append(checked_token(token))

    def sessions(self) -> list[SessionFacts]:
        """Return the children that are there; one that only serves people is none."""
        boot = self._clock.boot()
        children = (one for one in self._sessions.values() if not one.trusted)
        return [session.facts(boot) for session in children]

    async def handle(self, verb: str, session: str, body: bytes, *, local: bool = False) -> bytes:
        """Answer one call of a session; whatever goes wrong is an answer, too.

        Who has the name of the service and is ``local`` may do everything.
        """
        try:
            return await self._handle(verb, session, body, local=local)
        except SkitterError as error:
            return write_error(error)

    async def _handle(self, name: str, key: str, body: bytes, *, local: bool) -> bytes:
        verb = VERBS.get(name)
        if verb is None:
            raise FrontierError(f"there is no call {name!r}")
        session = self._sessions.get(key)
        if name in CONTROL_VERBS and self._is_guest(session):
            raise FrontierError(f"a child may not call {name!r}")
        if self._closing:
            raise Closing("the master is about to end")
        boot = self._clock.boot()
        call = verb.read_call(body, boot)
        if name == "hello":
            welcome = await self._hello(key, *call.arguments, local=local)
            return verb.write_answer(welcome, boot)
        if session is None:
            raise SessionLost("the master does not know this session; it has given it up")
        session.heard_at = boot
        run = partial(self._run, verb, session, call)
        if not verb.changes:
            return await run()
        return await session.once(call.number, call.settled, run)

    async def _run(self, verb: Verb, session: Session, call: Call) -> bytes:
        own = self._own_verbs.get(verb.name)
        try:
            if own is not None:
                value = await own(session, *call.arguments)
            else:
                value = await verb.run(self._frontier, call.arguments)
            return verb.write_answer(value, self._clock.boot())
        except SkitterError as error:
            return write_error(error)
        except Exception as error:
            log.exception("the call %s of %s failed", verb.name, session.name)
            why = f"{type(error).__name__}: {error}"
            return write_error(FrontierError(f"the master could not do {verb.name}: {why}"))

    # The life of a session

    def _is_guest(self, session: Session | None) -> bool:
        return self.guests and (session is None or not session.trusted)

    async def _hello(self, key: str, name: str, pid: int, *, local: bool) -> Welcome:
        if not key or not name.isprintable() or len(name) > MAX_NAME:
            raise FrontierError("a session without a key, or with a name that cannot be shown")
        trusted = local and name == SERVICE
        if self._quiet_s and not self._marked and not trusted:
            await self._mark(b"1")
        claim = await self._frontier.claim((), 0)
        session = self._sessions.get(key)
        if session is None:
            session = self._sessions[key] = Session(key, name, pid, trusted=trusted)
        session.heard_at = self._clock.boot()
        return Welcome(
            secret=self._secret,
            now_ms=self._clock.now_ms(),
            epoch=self._epoch,
            version=self._across_openings(claim.version),
            silence_ms=round(self._silence_s * 1000),
            settings=self.settings,
        )

    async def _mark(self, value: bytes) -> None:
        await self._frontier.ack((), marks={MEMBERS_MARK: value})
        self._marked = bool(value)

    async def _beat(self, session: Session) -> str:
        del session
        return self._frontier.trouble

    def _end(self, session: Session) -> None:
        session.gone = True
        self._sessions.pop(session.key, None)
        self._gone = [*(known for known in self._gone if known.busy), session]

    async def _bye(self, session: Session) -> None:
        self._end(session)
        await self._give_back(session, list(session.leases))

    async def sweep(self) -> None:
        """Give up the sessions that were silent for too long."""
        boot = self._clock.boot()
        for session in list(self._sessions.values()):
            if boot >= session.silent_until(self._silence_s):
                silent_s = boot - session.heard_at
                held = session.drop(list(session.leases))
                log.warning(
                    "%s is silent for %.1f s; its %s pages under way are handed out again",
                    session.name,
                    silent_s,
                    len(held),
                )
                self._end(session)
                self._abandoned += held
        await self._end_abandoned()

    async def _keep_sweeping(self, since: float) -> None:
        while True:
            await asyncio.sleep(SWEEP_S)
            boot = self._clock.boot()
            late_s = boot - since - SWEEP_S
            since = boot
            if late_s > OVERSLEPT_S:
                for session in self._sessions.values():
                    session.heard_at += late_s
            try:
                await self.sweep()
            except SkitterError as error:
                log.warning("leases of a silent member could not be ended yet: %s", error)

    async def _end_abandoned(self) -> None:
        """End leases as lost; the next one who claims gets their URLs."""
        if not self._abandoned:
            return
        abandoned = self._abandoned.copy()
        await self._frontier.renew(abandoned, 0)
        del self._abandoned[: len(abandoned)]
        # Any call looks for leases that are over first.
        await self._frontier.renew((), 0)

    async def _give_back(self, session: Session, ids: Iterable[int]) -> None:
        """Put URLs back that a session did not come to; nothing counts as lost."""
        leases = session.drop(ids)
        if not leases:
            return
        try:
            await self._frontier.ack([Ack(lease, Result.DEFER) for lease in leases])
        except BaseException:
            self._abandoned += leases
            raise

    # Verbs that say something about a session

    async def _own(
        self, session: Session, member: str, slots: Sequence[int], ttl_ms: int
    ) -> list[Grant]:
        grants = await self._frontier.own(member, slots, ttl_ms)
        ends = max((grant.expires_at for grant in grants), default=0.0)
        session.owns_until = max(session.owns_until, ends)
        return grants

    async def _disown(self, session: Session, grants: Sequence[Grant]) -> None:
        slots = {grant.slot for grant in grants}
        held = [lease.id for lease in session.leases.values() if lease.slot in slots]
        await self._give_back(session, held)
        await self._frontier.disown(grants)

    async def _claim(
        self,
        session: Session,
        grants: Sequence[Grant],
        k: int,
        lease_ms: int,
        freed: Sequence[Freed],
    ) -> Claim:
        quiet_ms = round(self.quiet_left_s * 1000)
        wanted = 0 if quiet_ms else k
        claim = await self._frontier.claim(grants, wanted, lease_ms=lease_ms, freed=freed)
        session.take(claim.leases)
        if session.gone:
            await self._give_back(session, list(session.leases))
            raise SessionLost("the session has ended while it claimed")
        again_ms = self._clock.now_ms() + quiet_ms if quiet_ms else claim.next_ready_ms
        return Claim(claim.leases, again_ms, self._across_openings(claim.version))

    async def _ack(
        self,
        session: Session,
        acks: Sequence[Ack],
        marks: Mapping[str, bytes] | None,
        news: Mapping[str, bytes] | None,
    ) -> Receipt:
        if self._is_guest(session):
            _refuse_foreign_marks({**(marks or {}), **(news or {})})
        # An ack that has come is not overtaken by the end of its session.
        held = session.drop([ack.lease.id for ack in acks])
        try:
            receipt = await self._frontier.ack(acks, marks=marks, news=news)
        except BaseException:
            if session.gone:
                self._abandoned += held
            else:
                session.take(held)
            raise
        session.acked += receipt.accepted
        return receipt

    async def _renew(self, session: Session, leases: Sequence[Lease], lease_ms: int) -> list[int]:
        gone = await self._frontier.renew(leases, lease_ms)
        session.drop(gone)
        return gone

    async def _events(
        self, session: Session, after: str, limit: int, wait_ms: int
    ) -> list[tuple[str, bytes]]:
        del session
        return await self._while_open(self._frontier.events(after, limit, wait_ms), [])

    async def _stirs(self, session: Session, heard: int, wait_ms: int) -> int:
        del session
        return await self._while_open(self._frontier.stirs(heard, wait_ms), heard)

    async def _while_open(self, answer: Coroutine[Any, Any, T], otherwise: T) -> T:
        """Wait for something that may take long, but not longer than this process lives."""
        asking = asyncio.ensure_future(answer)
        closing = asyncio.ensure_future(self._closed.wait(self._closed.rings, 2 * MAX_WAIT_MS))
        try:
            await asyncio.wait([asking, closing], return_when=asyncio.FIRST_COMPLETED)
            return await asking if not self._closing or asking.done() else otherwise
        finally:
            asking.cancel()
            closing.cancel()

    def _across_openings(self, version: int) -> int:
        """Return a version that also grows when the store is opened again."""
        return (self._epoch << 32) + version


def _refuse_foreign_marks(marks: Mapping[str, bytes]) -> None:
    """Raise when a child would write what is not its to know: the length of a file, for one."""
    for name in marks:
        if not GUEST_MARKS.match(name):
            raise FrontierError(f"a child may not keep {name!r}")
