"""Wide slots: hosts whose URLs are not bound to one owner of one slot.

A host of a job that is parted by domain or sub-site is claimed by whoever has the bucket of that
domain, whatever tag the host is stored under; one of a job that is parted by URL, or shared, by any
member. So members look into tags in which they own nothing: those with wide slots are listed in the
store. A server that takes over may lack the end of that list, so it is made anew from what the tags
say of themselves. No fence is needed there. A lease is given once, whoever asks; the buckets are
what keeps members out of each other's way.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from skitter.frontier.model import Grant, Link
from skitter.frontier.redis.core import Core
from skitter.url.partition import BUCKETS, TAGS, Partition

LOOK_S = 1.0
"""How long a tag that others made wide may go unnoticed."""
MEND_S = 60.0
"""How long one may that has been lost from the list by then."""


class Wide:
    """The tags with wide slots, and the buckets of this member."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.tags: set[int] = set()
        self._listed: set[int] = set()
        """Those that this process wrote into the list, as long as that is sure to have them."""
        self._breaks = core.nodes.breaks
        self._looked = float("-inf")
        self._mended = float("-inf")
        self._bits: tuple[Sequence[Grant], bytes] | None = None

    async def note(self, links: Iterable[Link]) -> None:
        """Say where wide slots are, before something is queued there."""
        core = self._core
        jobs = {link.job for link in links}
        wide = {job for job in jobs if (await core.entry(job)).partition is not Partition.HOST}
        if wide:
            await self.add({core.keys.tag_of_host(x.host) for x in links if x.job in wide})

    async def add(self, tags: set[int]) -> None:
        """Remember tags, here and for everyone."""
        self._mind_breaks()
        new = tags - self._listed
        if new:
            key = self._core.keys.wide
            # It must outlive its server before something is queued in another one.
            await self._core.nodes.run(key, "SADD", key, *new, copied=True)
            self._listed |= new
            self.tags |= new

    def _mind_breaks(self) -> None:
        """Rely on nothing that was written before a server may have forgotten it."""
        breaks = self._core.nodes.breaks
        if breaks != self._breaks:
            self._breaks = breaks
            self._listed = set()
            self._mended = float("-inf")

    async def look(self) -> None:
        """Learn what others have made wide, once a second at most."""
        now = asyncio.get_running_loop().time()
        if now - self._looked < LOOK_S and not self._core.virtual:
            return
        self._looked = now
        self._mind_breaks()
        if now - self._mended >= MEND_S:
            self._mended = now
            await self.add(await self._marked())
        key = self._core.keys.wide
        self.tags |= {int(tag) for tag in await self._core.nodes.run(key, "SMEMBERS", key)}

    async def _marked(self) -> set[int]:
        """Return the tags that say of themselves that they have wide slots."""
        anchors = [self._core.keys.anchor(tag) for tag in range(TAGS)]
        asked = [(anchor, ("HGET", anchor, "wide")) for anchor in anchors]
        answers = await self._core.nodes.run_many(asked)
        return {tag for tag, mark in enumerate(answers) if mark is not None}

    def extend(self, fences: Mapping[int, bytes], grants: Sequence[Grant]) -> Mapping[int, bytes]:
        """Add the buckets to the fences of all tags with wide slots."""
        if not self.tags:
            return fences
        bits = self._buckets(grants)
        nothing = bytes(256)
        return {**fences, **{tag: fences.get(tag, nothing) + bits for tag in self.tags}}

    def _buckets(self, grants: Sequence[Grant]) -> bytes:
        """Whoever owns the slot of that number has a bucket."""
        if self._bits is not None and self._bits[0] is grants:
            return self._bits[1]
        bits = bytearray(BUCKETS // 8)
        for grant in grants:
            if grant.slot < BUCKETS:
                bits[grant.slot // 8] |= 1 << grant.slot % 8
        self._bits = (grants, bytes(bits))
        return self._bits[1]
