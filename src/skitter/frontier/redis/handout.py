"""What goes out: leases on URLs of hosts that may be asked.

A claim asks the tags that may have something, the most urgent first, a few at the same time. Every
script that is called has a number of its own, from which it makes the ids of its leases: a call
that is repeated after a lost answer gives the same ones.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from skitter.frontier.model import Claim, Freed, Grant, Lease
from skitter.frontier.redis.agenda import Agenda
from skitter.frontier.redis.claiming import Claiming
from skitter.frontier.redis.core import Ask, Core
from skitter.frontier.redis.library import function
from skitter.frontier.redis.limits import NEAR, Limits
from skitter.frontier.redis.nodes import Call
from skitter.frontier.redis.owning import Owning
from skitter.frontier.redis.shares import Shares, share_out
from skitter.frontier.redis.tails import Tails
from skitter.frontier.redis.wire import (
    FENCED,
    NEVER,
    NO_HINT,
    Hint,
    pack_freed,
    read_claimed,
    read_hint,
)
from skitter.types import JobNumber
from skitter.url.partition import TAGS

TAGS_AT_ONCE = 8
MOST_PER_CALL = 64
"""Leases of one script; it has two digits to number them."""
SWEEP_S = 1.0
"""How long what other members queued may go unnoticed."""
BUSY_SWEEP_S = 3.0
"""The same while every claim is given all it asks for."""
STREAM_CAP = 512
"""Records of one job in one tag that wait for their files before its URLs have to wait, too."""
UNTOLD = (JobNumber(0),)
"""Stands for the jobs of a tag of which nobody has told which they are."""
_MOST_ROUNDS = 1000
_CALL_DIGITS = 10
_BREAK_BITS = 40
"""Breaks count above the version: after one, all that was remembered of the store is doubtful."""
_ID_STEP = 100
_SURELY_IN_ORDER_S = 0.03
"""An answer that took longer may have come from a call that was repeated behind later ones."""


class Handout:
    """Claims and renewals."""

    def __init__(
        self,
        core: Core,
        owning: Owning,
        agenda: Agenda,
        tails: Tails,
        unpark: Callable[[JobNumber], Awaitable[None]],
    ) -> None:
        self._tails = tails
        self._core = core
        self._owning = owning
        self._agenda = agenda
        self._one_at_a_time = asyncio.Lock()
        self._calls = 0
        self._swept = float("-inf")
        self._sweep_s = SWEEP_S
        self._version = 0
        self._breaks = core.nodes.breaks
        self._versioned = float("-inf")
        self.stream_cap = STREAM_CAP
        self._limits = Limits(core)
        self._shared = Shares()
        self._unpark = unpark
        self._full: set[JobNumber] = set()
        """Jobs that were at their page limit, so that hosts may have been set aside."""
        self._reopened = float("-inf")

    async def claim(
        self, grants: Sequence[Grant], k: int, lease_ms: int, freed: Sequence[Freed]
    ) -> Claim:
        """Lease up to ``k`` URLs."""
        async with self._one_at_a_time:
            fences = await self._owning.packed_with_wide(grants)
            self._agenda.keep(fences.keys())
            claiming = Claiming(fences, k, lease_ms, self._freed(freed))
            await self._recall(claiming)
            self._shared.begin(k)
            claiming.rooms = await self._limits.rooms()
            await self._reopen(claiming)
            await self._ask_anew(claiming)
            claiming.check()
            if claiming.is_near and self._agenda.ready(self._core.clock.now_ms()):
                claiming.rooms = await self._limits.reread(claiming.rooms)
            await self._work(claiming)
            if not claiming.leases and self._may_sweep():
                await self._peek(self._agenda.unheard(float("inf")), claiming)
                await self._work(claiming)
            version = await self._version_after(claiming) + (self._core.nodes.breaks << _BREAK_BITS)
            self._sweep_s = BUSY_SWEEP_S if len(claiming.leases) == k else SWEEP_S
            if claiming.leases:
                await self._free_refused(claiming)
                return Claim(tuple(claiming.leases), None, version)
            claiming.check()
            return Claim((), self._agenda.next_ms(), version)

    async def _recall(self, claiming: Claiming) -> None:
        """Let go of leases that only the store still knows, when it may have forgotten acks."""
        core = self._core
        breaks = core.nodes.breaks
        if breaks == self._breaks:
            return
        held: dict[int, list[str]] = {tag: [] for tag in claiming.fences}
        for lease_id, tag in core.leased.items():
            held.setdefault(tag, []).append(str(lease_id))
        asked: list[Ask] = [
            (tag, "recall", (core.session, ",".join(ids))) for tag, ids in held.items()
        ]
        await core.call_many(asked)
        self._agenda.doubt(held)
        self._breaks = breaks

    def _freed(self, freed: Sequence[Freed]) -> dict[int, list[bytes]]:
        found: dict[int, list[bytes]] = {}
        for item in freed:
            tag = self._core.keys.tag_of_host(item.host)
            found.setdefault(tag, []).append(pack_freed(item))
            entered = self._core.entered.get(item.lease_id)
            if entered is not None:
                entered.let_go(item.host)
        return found

    async def _reopen(self, claiming: Claiming) -> None:
        """Take hosts up again whose job was at its page limit, and has room again."""
        full = {job for job, room in claiming.rooms.items() if room <= 0}
        near = {job for job, room in claiming.rooms.items() if 0 < room < NEAR}
        # Others may have set hosts aside as well, before they heard of the room.
        loop = asyncio.get_running_loop()
        if loop.time() - self._reopened < SWEEP_S:
            near &= self._full
        else:
            self._reopened = loop.time()
        for job in near:
            await self._unpark(job)
        self._full = full

    async def _ask_anew(self, claiming: Claiming) -> None:
        """Ask the tags whose hints are not known, and, now and then, those that may be old."""
        loop = asyncio.get_running_loop()
        if not self._core.virtual and loop.time() - self._swept >= self._sweep_s:
            self._swept = loop.time()
            heard_by = self._core.clock.boot() - self._sweep_s
            await self._peek(self._agenda.unheard(heard_by), claiming)
        else:
            await self._peek(self._agenda.unknown(), claiming)

    def _may_sweep(self) -> bool:
        """Tell whether to look for what others queued before saying that there is nothing."""
        return self._core.virtual

    async def _peek(self, tags: Sequence[int], claiming: Claiming) -> None:
        heard = self._core.clock.boot()
        session = self._core.session
        asked: list[Ask] = [(tag, "peek", (session, claiming.fences[tag])) for tag in tags]
        for tag, answer in zip(tags, await self._core.call_many(asked), strict=True):
            if answer == FENCED:
                self._lose(tag, claiming, heard)
            else:
                self._agenda.learn(tag, read_hint(answer), heard)

    def _lose(self, tag: int, claiming: Claiming, heard: float) -> None:
        """Take note that a tag is not to be asked with these grants."""
        claiming.fenced = True
        self._owning.lose(tag)
        self._agenda.learn(tag, NO_HINT, heard)

    async def _work(self, claiming: Claiming) -> None:
        """Ask tags until there are enough leases or none has anything."""
        for _ in range(_MOST_ROUNDS):
            shares = self._shares(claiming)
            if not shares and not claiming.freed:
                return
            await self._round(claiming, shares)
            for tag in claiming.cold:
                await self._tails.fetch(tag)
            claiming.cold.clear()

    def _shares(self, claiming: Claiming) -> dict[int, int]:
        """Choose whom to ask for how many."""
        want = claiming.k - len(claiming.leases)
        if want <= 0:
            return {}
        agenda = self._agenda
        tags = agenda.ready(self._core.clock.now_ms())
        if not tags:
            return {}
        # Near a page limit what one tag leases is not there for the next.
        at_once = 1 if claiming.is_near else TAGS_AT_ONCE
        served = partial(self._shared.of, agenda.urgency(tags[0]))
        jobs = {tag: agenda.jobs(tag) or UNTOLD for tag in tags}
        asked = share_out(tags, jobs, served, want, at_once)
        return {tag: min(MOST_PER_CALL, n) for tag, n in asked.items()}

    async def _round(self, claiming: Claiming, shares: Mapping[int, int]) -> None:
        core, agenda = self._core, self._agenda
        heard = core.clock.boot()
        expires_at = heard + claiming.lease_ms / 1000
        calls: list[Call] = []
        asked: list[tuple[int, int]] = []
        now = core.now_word()
        for tag in {**shares, **dict.fromkeys(claiming.freed, 0)}:
            freed = b"".join(claiming.freed.get(tag, ()))
            if tag in claiming.fences:
                self._calls += 1
                words: tuple[Any, ...] = (
                    now,
                    core.session,
                    f"{self._calls:0{_CALL_DIGITS}}",
                    claiming.fences[tag],
                    shares.get(tag, 0),
                    claiming.lease_ms,
                    self.stream_cap,
                    claiming.limits(),
                    freed,
                    self._shared.words(),
                )
                calls.append(Call(core.keys.anchor(tag), function("claim"), words))
                asked.append((tag, self._calls))
            else:
                calls.append(Call(core.keys.anchor(tag), function("free"), (now, freed)))
                asked.append((tag, 0))
        told, claiming.freed = claiming.freed, {}
        answers = await self._send(claiming, calls)
        for (tag, number), answer in zip(asked, answers, strict=True):
            if answer == FENCED:
                self._lose(tag, claiming, heard)
                claiming.refused.update({tag: told[tag]} if tag in told else {})
            elif number:
                first = int(f"{core.session}{number:0{_CALL_DIGITS}}01")
                hint, cold, leases = read_claimed(answer, first, expires_at)
                agenda.learn(tag, hint, heard)
                if cold and len(leases) < shares.get(tag, 0):
                    claiming.cold.append(tag)
                elif cold:
                    self._tails.fetch_soon(tag)
                core.leased.update((lease.id, tag) for lease in leases)
                claiming.take(leases)
                self._shared.take(leases)

    async def _free_refused(self, claiming: Claiming) -> None:
        """Let hosts go whose tags refused a claim that others answered.

        The caller is not told of the refusal, and a back-off must not be forgotten with it.
        """
        asked: list[Ask] = [
            (tag, "free", (b"".join(freed),)) for tag, freed in claiming.refused.items()
        ]
        await self._core.call_many(asked)

    async def _send(self, claiming: Claiming, calls: list[Call]) -> list[Any]:
        """Call scripts; one server is asked for the version in the same breath."""
        core = self._core
        if not core.one_server:
            return await core.nodes.call_many(calls)
        loop = asyncio.get_running_loop()
        began = loop.time()
        calls.append(Call(core.keys.version, function("version"), ()))
        *answers, version = await core.nodes.call_many(calls)
        claiming.version = version if loop.time() - began < _SURELY_IN_ORDER_S else None
        return answers

    async def _version_after(self, claiming: Claiming) -> int:
        """Return the version as it was when all leases of a claim had been given, or later."""
        core = self._core
        version = claiming.version
        if version is None and (claiming.leases or self._version_is_old()):
            version = await core.nodes.call(core.keys.version, function("version"))
        if version is None:
            return self._version
        if version != self._version:
            self._version = version
            core.forget_entries()
        return version

    def _version_is_old(self) -> bool:
        """Tell, about once a second, to ask for the version though nothing was leased."""
        now = asyncio.get_running_loop().time()
        if now - self._versioned < SWEEP_S and not self._core.virtual:
            return False
        self._versioned = now
        return True

    async def renew(self, leases: Sequence[Lease], lease_ms: int) -> list[int]:
        """Prolong leases and the gates they hold; answers the ids of those that are gone."""
        core = self._core
        by_tag: dict[int, list[int]] = {}
        gates: dict[int, list[str]] = {}
        for lease in leases:
            by_tag.setdefault(lease.slot % TAGS, []).append(lease.id)
            for host in core.gates_of(lease.id):
                gates.setdefault(core.keys.tag_of_host(host), []).append(f"{lease.id}:{host}")
        tags = [*by_tag, *(tag for tag in gates if tag not in by_tag)]
        asked: list[Ask] = []
        for tag in tags:
            ids = by_tag.get(tag, [])
            words = (lease_ms, self._owning.gate_ms(lease_ms), len(ids), *ids, *gates.get(tag, ()))
            asked.append((tag, "renew", words))
        gone: list[int] = []
        for tag, answer in zip(tags, await core.call_many(asked), strict=True):
            self._expect(tag, lease_ms)
            for lease_id, digit in zip(by_tag.get(tag, ()), answer, strict=True):
                if digit == ord("0"):
                    gone.append(lease_id)
                    core.entered.pop(lease_id, None)
                    core.leased.pop(lease_id, None)
        return gone

    def _expect(self, tag: int, after_ms: int) -> None:
        """Look at a tag again when something in it may be over."""
        self._agenda.improve(tag, Hint(self._core.clock.now_ms() + after_ms, NEVER))
