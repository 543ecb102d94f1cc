"""The slots of this session: taken, kept and given back, with a fence for each.

Fences are kept by tag and packed: the text that says what is held in a tag is the one that every
claim there is checked by.
"""

import struct
from collections.abc import Collection, Iterable, Mapping, Sequence

from skitter.errors import Fenced
from skitter.frontier.model import LEASE_MS, Grant
from skitter.frontier.redis.core import Core
from skitter.frontier.redis.wide import Wide
from skitter.frontier.redis.wire import pack_gate
from skitter.url.partition import SLOTS, TAGS, is_wide

PLACES = SLOTS // TAGS
NOTHING = bytes(4 * PLACES)
_fences = struct.Struct(f">{PLACES}I")


class Owning:
    """Who owns what, as far as this session knows."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.fences: dict[int, bytes] = {}
        """Tag to the fences this session was given last."""
        self._known: tuple[Sequence[Grant], dict[int, bytes]] | None = None
        self.wide = Wide(core)
        self._present: set[int] = set()
        """Tags with wide slots that have heard of this session."""
        self._as_member: tuple[str, int] | None = None
        self._ttl_ms = LEASE_MS

    async def own(self, member: str, slots: Iterable[int], ttl_ms: int) -> list[Grant]:
        """Take or keep slots."""
        asked = list(slots)
        await self.wide.look()
        self._as_member = (member, ttl_ms)
        self._ttl_ms = ttl_ms
        wanted: dict[int, bytearray] = {}
        for slot in asked:
            tag = slot % TAGS
            if tag not in wanted:
                wanted[tag] = bytearray(PLACES + 1)
            wanted[tag][slot // TAGS] = 1
        grants = await self._own(asked, wanted, member, ttl_ms)
        await self._keep_gates()
        return grants

    def gate_ms(self, lease_ms: int) -> int:
        """Return how long a redirect's gate is held by a lease that lasts so long.

        It may be in a tag where nobody hears that its member has died, so it is kept like a slot:
        with every call that keeps those.
        """
        return min(lease_ms, self._ttl_ms)

    async def _keep_gates(self) -> None:
        core = self._core
        gates: dict[int, list[str]] = {}
        for lease_id, entered in core.entered.items():
            for host in entered.hosts:
                gates.setdefault(core.keys.tag_of_host(host), []).append(f"{lease_id}:{host}")
        await core.call_many(
            [(tag, "renew", (0, self.gate_ms(LEASE_MS), 0, *some)) for tag, some in gates.items()]
        )

    async def _own(
        self, asked: Sequence[int], wanted: dict[int, bytearray], member: str, ttl_ms: int
    ) -> list[Grant]:
        core = self._core
        for tag in self.wide.tags:
            wanted.setdefault(tag, bytearray(PLACES + 1))[PLACES] = 1
        self._present = set(self.wide.tags)
        expires_at = core.clock.boot() + ttl_ms / 1000
        answers = await core.call_many(
            [
                (
                    tag,
                    "own",
                    (core.session, member, ttl_ms, bytes(places), self.fences.get(tag, b"")),
                )
                for tag, places in wanted.items()
            ]
        )
        for tag, (now_ms, held) in zip(wanted, answers, strict=True):
            if held:
                self._set(tag, held)
            core.tell_time(now_ms)
        held_now = {tag: _fences.unpack(self.fences.get(tag, NOTHING)) for tag in wanted}
        return [
            Grant(slot, fence, expires_at)
            for slot in asked
            if (fence := held_now[slot % TAGS][slot // TAGS])
        ]

    def _set(self, tag: int, fences: bytes) -> None:
        self._known = None
        if fences == NOTHING:
            self.fences.pop(tag, None)
        else:
            self.fences[tag] = fences

    async def disown(self, grants: Iterable[Grant]) -> None:
        """Give slots back."""
        grants = list(grants)
        given: dict[int, list[int]] = {}
        for grant in grants:
            given.setdefault(grant.slot % TAGS, [0] * PLACES)[grant.slot // TAGS] = grant.fence
        packed = {tag: _fences.pack(*fences) for tag, fences in given.items()}
        session = self._core.session
        await self._core.call_many(
            [
                (tag, "disown", (session, fences, int(tag in self._present)))
                for tag, fences in packed.items()
            ]
        )
        await self._leave_gates({grant.slot for grant in grants})
        for tag, fences in given.items():
            mine = _fences.unpack(self.fences.get(tag, NOTHING))
            left = [0 if held == gone else held for held, gone in zip(mine, fences, strict=True)]
            self._set(tag, _fences.pack(*left))
        if not self.fences:
            await self._leave_wide()

    async def _leave_wide(self) -> None:
        """Let others have what is leased here in wide slots."""
        session = self._core.session
        await self._core.call_many([(tag, "absent", (session,)) for tag in self._present])
        self._present.clear()
        self._as_member = None

    async def _leave_gates(self, slots: Collection[int]) -> None:
        """Give up the gates that redirects of leases in these slots took in any tag."""
        core = self._core
        gone = {at: entered for at, entered in core.entered.items() if entered.slot in slots}
        gates: dict[int, list[bytes]] = {}
        for lease_id, entered in gone.items():
            del core.entered[lease_id]
            for host in entered.hosts:
                tag = core.keys.tag_of_host(host)
                gates.setdefault(tag, []).append(pack_gate(lease_id, host))
        await core.call_many([(tag, "settle", (b"".join(some),)) for tag, some in gates.items()])

    async def packed_with_wide(self, grants: Sequence[Grant]) -> Mapping[int, bytes]:
        """Return the fences of grants by tag, and the buckets where there are wide slots."""
        fences = self.packed(grants)
        await self.wide.look()
        if not self.wide.tags <= self._present and self._as_member is not None:
            new = self.wide.tags - self._present
            mine = {tag: self._wanted_again(tag) for tag in new}
            await self._own([], mine, *self._as_member)
        return self.wide.extend(fences, grants)

    def _wanted_again(self, tag: int) -> bytearray:
        held = _fences.unpack(self.fences.get(tag, NOTHING))
        return bytearray([*(1 if fence else 0 for fence in held), 1])

    def packed(self, grants: Sequence[Grant]) -> Mapping[int, bytes]:
        """Return the fences of grants by tag; raises ``Fenced`` for one that is out of date.

        Callers pass the same list again and again, so the last one is remembered.
        """
        if self._known is not None and self._known[0] is grants:
            return self._known[1]
        fences: dict[int, list[int]] = {}
        for grant in grants:
            fences.setdefault(grant.slot % TAGS, [0] * PLACES)[grant.slot // TAGS] = grant.fence
        for tag, asked in fences.items():
            mine = _fences.unpack(self.fences.get(tag, NOTHING))
            if any(fence and fence != held for fence, held in zip(asked, mine, strict=True)):
                raise Fenced("a grant is not this session's, or not any more")
        packed = {tag: _fences.pack(*asked) for tag, asked in fences.items()}
        self._known = (grants, packed)
        return packed

    def lose(self, tag: int) -> None:
        """Take note that another owner was met in a tag."""
        self._set(tag, NOTHING)

    def holds(self, slot: int) -> bool:
        """Tell whether a slot is held, as far as is known."""
        if is_wide(slot):
            return slot % TAGS in self._present
        fences = self.fences.get(slot % TAGS)
        if fences is None:
            return False
        at = slot // TAGS * 4
        return fences[at : at + 4] != b"\0\0\0\0"
