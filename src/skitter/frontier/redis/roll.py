"""Who is there and who has how much, read by somebody who is no member. Nothing is written."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from skitter.clock import Clock
from skitter.frontier.members import DEAD_MS, Beat, Member
from skitter.frontier.redis.keys import Keys
from skitter.frontier.redis.nodes import Nodes
from skitter.url.partition import TAGS

_beats = msgspec.json.Decoder(Beat)
_entries = msgspec.msgpack.Decoder(tuple[str, float, str, float])
"""As 70_members.lua packs them: session, time of the beat, the beat, time of an earlier one."""


async def members(nodes: Nodes, keys: Keys, clock: Clock) -> list[Member]:
    """Return those that are alive, by name; ``clock`` is the store's."""
    words = await nodes.run(keys.members, "HGETALL", keys.members)
    now_ms = clock.now_ms()
    found = []
    for packed in words[1::2]:
        _, at_ms, beat, _ = _entries.decode(packed)
        silent_ms = max(0, now_ms - int(at_ms))
        if silent_ms < DEAD_MS:
            found.append(Member(_beats.decode(beat), silent_ms))
    return sorted(found, key=lambda member: member.beat.name)


async def _members(nodes: Nodes, keys: Sequence[str]) -> list[str]:
    found = await nodes.run_many([(key, ("ZRANGE", key, 0, -1)) for key in keys])
    return [member.decode() for answer in found for member in answer]


async def hosts_by_slot(nodes: Nodes, keys: Keys) -> Counter[int]:
    """Return how many hosts of each slot rest or are ready; three rounds, whatever is queued."""
    ready = await _members(nodes, [keys.slots_ready(tag) for tag in range(TAGS)])
    resting = await _members(nodes, [keys.slots_resting(tag) for tag in range(TAGS)])
    lists = [(slot, keys.resting(slot % TAGS, slot)) for slot in map(int, resting)]
    for lane in ready:
        slot = int(lane.partition(":")[0])
        # A host that has several jobs is in the lane of each: this is for a rough share.
        lists.append((slot, keys.ready(slot % TAGS, lane)))
    sizes = await nodes.run_many([(key, ("ZCARD", key)) for _, key in lists])
    count: Counter[int] = Counter()
    for (slot, _), size in zip(lists, sizes, strict=True):
        count[slot] += int(size)
    return count
