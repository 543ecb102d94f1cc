"""The table of members in Redis: one small function per verb, all on keys of the common group.

The server's clock decides who is silent, so members whose own clocks disagree agree on who is dead.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from skitter.frontier.members import Beat, Member, Plan, View, name_taken
from skitter.frontier.redis.keys import Keys
from skitter.frontier.redis.library import function
from skitter.frontier.redis.nodes import Nodes

_encoder = msgspec.json.Encoder()
_beats = msgspec.json.Decoder(Beat)
_names = msgspec.json.Decoder(tuple[str, ...])
_weights = msgspec.json.Decoder(tuple[float, ...])


class RedisMembers:
    """Implements ``MemberTable``; the connections are the caller's to open and close."""

    def __init__(self, nodes: Nodes, keys: Keys, *, now_ms: Callable[[], int] = lambda: 0) -> None:
        self._nodes = nodes
        self._keys = keys
        self._now_ms = now_ms
        """The time of a test; 0 leaves it to the server."""

    async def beat(self, beat: Beat) -> View:
        """Say that a member is alive, and learn who else is."""
        body = _encoder.encode(beat)
        accepted, *rest = await self._call("beat", beat.name, beat.session, body)
        if not accepted:
            raise name_taken(beat.name, _beats.decode(rest[0]).node)
        epoch, control, inherited_ms, *told = rest
        living = [
            Member(_beats.decode(body), silent_ms)
            for body, silent_ms in zip(told[::2], told[1::2], strict=True)
        ]
        return View(
            members=tuple(sorted(living, key=lambda member: member.beat.name)) or (Member(beat),),
            whole=bool(living),
            plan_epoch=epoch,
            control=control.decode(),
            inherited_ms=None if inherited_ms < 0 else inherited_ms,
        )

    async def leave(self, name: str, session: str) -> None:
        """Take a member out, and control from it."""
        await self._call("leave", name, session)

    async def lead(self, session: str, ttl_ms: int) -> int:
        """Take or keep control."""
        return int(await self._call("lead", session, ttl_ms))

    async def publish(self, plan: Plan, epoch: int) -> bool:
        """Put a plan in force."""
        members = _encoder.encode(plan.members)
        weights = _encoder.encode(plan.weights)
        return bool(await self._call("publish", epoch, plan.epoch, members, plan.places, weights))

    async def plan(self) -> Plan:
        """Return the plan in force."""
        key = self._keys.plan
        epoch, members, places, weights = await self._nodes.run(
            key, "HMGET", key, "epoch", "members", "places", "weights"
        )
        if not epoch:
            return Plan(0)
        return Plan(int(epoch), _names.decode(members), places, _weights.decode(weights or b"[]"))

    async def _call(self, verb: str, *args: bytes | str | int) -> Any:
        now_ms = self._now_ms()
        return await self._nodes.call(self._keys.control, function(verb), now_ms, *args)
