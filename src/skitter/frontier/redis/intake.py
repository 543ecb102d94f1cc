"""What comes in: offered links, and the acks that end leases.

A step is atomic within one tag. Over several the order makes it safe: marks and news first, then
notes for a page index that is not in Redis, then links into other tags, then the acks with the
links of their own tag, and last what an accepted ack leaves behind elsewhere (hops, gates, content
digests). A crash on the way may repeat a fetch and loses nothing.
"""

import asyncio
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from skitter.frontier.model import (
    SCORED_RANKS,
    Ack,
    Hop,
    Link,
    Receipt,
    Result,
    pointer_to,
)
from skitter.frontier.redis.agenda import Agenda
from skitter.frontier.redis.batch import MOST_LINKS, Batch, chunks
from skitter.frontier.redis.bounds import Bounds
from skitter.frontier.redis.core import Ask, Core, NoSuchJob
from skitter.frontier.redis.marks import Marks
from skitter.frontier.redis.notes import pack_note
from skitter.frontier.redis.owning import Owning
from skitter.frontier.redis.pages import Pages, leaves
from skitter.frontier.redis.records import MAX_URL_CHARS
from skitter.frontier.redis.tails import Tails
from skitter.frontier.redis.wire import (
    STALE,
    Taken,
    pack_ack,
    pack_gate,
    pack_hops,
    pack_links,
    pack_meant,
    read_acked,
    read_taken,
)
from skitter.types import Fingerprint, HostKey, JobNumber
from skitter.url.partition import TAGS

HOLD_MS = 15_000
"""Leases that are about to be acked do not end before this time, whoever looks."""

_Key = tuple[JobNumber, Fingerprint]


class _Part(NamedTuple):
    """Links for one call."""

    tag: int
    job: JobNumber | None
    """The job of them all, where that matters."""
    links: list[Link]


class _Sum:
    """What became of the links of a verb."""

    __slots__ = ("long", "new", "over")

    def __init__(self) -> None:
        self.new = 0
        self.over = 0
        self.long: set[int] = set()
        """Tags with lists that are too long."""


class Intake:
    """Offers and acks."""

    def __init__(
        self,
        core: Core,
        owning: Owning,
        agenda: Agenda,
        marks: Marks,
        tails: Tails,
        pages: Pages,
    ) -> None:
        self._tails = tails
        self._pages = pages
        self._wide = owning.wide
        self._core = core
        self._owning = owning
        self._agenda = agenda
        self._marks = marks
        self._bounds = Bounds(core)
        self._one_at_a_time = asyncio.Lock()
        self._requests = 0

    async def offer(self, links: Sequence[Link]) -> Receipt:
        """Queue the links that are new; those of a job that was dropped are not."""
        try:
            return await self._take_offer(links)
        except NoSuchJob:
            self._core.forget_entries()
            gone = await self._core.dropped({link.job for link in links})
            if not gone:
                raise
            receipt = await self._take_offer([link for link in links if link.job not in gone])
            left = len(links) - receipt.new
            return Receipt(new=receipt.new, known=left, overflow=receipt.overflow)

    async def _take_offer(self, links: Sequence[Link]) -> Receipt:
        total = _Sum()
        if links:
            found = _distinct(links, {})
            rooms = await self._bounds.rooms({link.job for link in found})
            await self._wide.note(found)
            await self._offer(found, rooms, total)
            await self._tails.give(total.long)
        return Receipt(new=total.new, known=len(links) - total.new, overflow=total.over)

    async def _offer(
        self, links: Sequence[Link], rooms: Mapping[JobNumber, int], total: _Sum
    ) -> None:
        """Offer links to their tags: together, or in order where a bound is near."""
        if not rooms:
            parts = list(self._by_tag(links))
            for part, taken in zip(parts, await self._send_links(parts, rooms), strict=True):
                self._count(part, taken, total)
            return
        left = dict(rooms)
        for part in self._in_order(links):
            [taken] = await self._send_links([part], left)
            self._count(part, taken, total)
            if part.job in left:
                left[part.job] -= taken.queued

    def _by_tag(self, links: Iterable[Link]) -> Iterator[_Part]:
        by_tag: dict[int, list[Link]] = {}
        for link in links:
            by_tag.setdefault(self._core.keys.tag_of_host(link.host), []).append(link)
        for tag, found in by_tag.items():
            for at in range(0, len(found), MOST_LINKS):
                yield _Part(tag, None, found[at : at + MOST_LINKS])

    def _in_order(self, links: Iterable[Link]) -> Iterator[_Part]:
        """Cut links into the longest parts that go to one tag and one job each."""
        part: _Part | None = None
        for link in links:
            tag = self._core.keys.tag_of_host(link.host)
            if part is None or part[:2] != (tag, link.job) or len(part.links) == MOST_LINKS:
                if part is not None:
                    yield part
                part = _Part(tag, link.job, [])
            part.links.append(link)
        if part is not None:
            yield part

    async def _send_links(
        self, parts: Sequence[_Part], rooms: Mapping[JobNumber, int]
    ) -> list[Taken]:
        asked: list[Ask] = []
        for part in parts:
            room = rooms.get(part.job, "") if part.job is not None else ""
            asked.append((part.tag, "offer", (room, self._pack_links(part.links))))
        # What is queued in one tag must outlive the server that has it before its page is acked in
        # another.
        answers = await self._core.call_many(asked, copied=True)
        return [read_taken(answer) for answer in answers]

    def _pack_links(self, links: Iterable[Link]) -> bytes:
        groups: dict[tuple[JobNumber, HostKey], list[Link]] = {}
        job, name, group = JobNumber(0), HostKey(""), list[Link]()
        for link in links:
            # Most links of a page go where the one before went.
            if link.host != name or link.job != job:
                job, name = link.job, link.host
                group = groups.setdefault((job, name), [])
            group.append(link)
        found_s = self._core.clock.now_ms() // 1000
        packed = []
        for (job, name), group in groups.items():
            host = self._core.host_in(job, name)
            packed.append(pack_links(host, job, group, self._owning.holds(host.slot), found_s))
        return b"".join(packed)

    def _count(self, part: _Part, taken: Taken, total: _Sum) -> None:
        total.new += taken.new
        total.over += taken.over
        if taken.long:
            total.long.add(part.tag)
        self._agenda.improve(part.tag, taken.hint)
        if taken.queued:
            for job in {link.job for link in part.links}:
                self._bounds.note(job, taken.queued)

    async def ack(
        self, acks: Sequence[Ack], marks: Mapping[str, bytes], news: Mapping[str, bytes]
    ) -> Receipt:
        """End leases with everything their pages brought; those of a dropped job had ended."""
        try:
            return await self._take_acks(acks, marks, news)
        except NoSuchJob:
            self._core.forget_entries()
            gone = await self._core.dropped({ack.lease.job for ack in acks})
            if not gone:
                raise
            receipt = await self._take_acks([a for a in acks if a.lease.job not in gone], {}, {})
            ended = tuple(ack.lease.id for ack in acks if ack.lease.job in gone)
            return msgspec.structs.replace(receipt, stale=receipt.stale + ended)

    async def _take_acks(
        self, acks: Sequence[Ack], marks: Mapping[str, bytes], news: Mapping[str, bytes]
    ) -> Receipt:
        await self._marks.put(marks, news)
        if not acks:
            return Receipt()
        async with self._one_at_a_time:
            batch = Batch(acks)
            found = [link for ack in acks for link in ack.links]
            rooms = await self._bounds.rooms({link.job for link in found})
            await self._wide.note(found)
            await self._hold(batch, everyone=bool(rooms))
            if self._pages.elsewhere:
                while not await self._pages.put(batch.live.values(), batch.orders):
                    await self._hold(batch, everyone=bool(rooms))
            total = _Sum()
            links = self._split(batch, everything=bool(rooms))
            await self._offer(links, rooms, total)
            await self._end(batch, total)
            await self._follow(batch)
        await self._tails.give(total.long)
        offered = sum(len(ack.links) for ack in batch.accepted)
        return Receipt(
            len(batch.accepted),
            tuple(batch.stale),
            total.new,
            max(0, offered - total.new),
            total.over,
        )

    async def _hold(self, batch: Batch, *, everyone: bool) -> None:
        """Find out which leases are live, of acks that change more than their own tag."""
        by_tag: dict[int, list[Ack]] = {}
        noted = self._pages.elsewhere
        for ack in batch.live.values():
            tag = ack.lease.slot % TAGS
            if everyone or (noted and leaves(ack)) or self._reaches_out(ack, tag):
                by_tag.setdefault(tag, []).append(ack)
        asked: list[Ask] = []
        for tag, some in by_tag.items():
            leases = b"".join(pack_meant(ack.lease) for ack in some)
            asked.append((tag, "hold", (HOLD_MS, leases, int(noted))))
        for some, answer in zip(by_tag.values(), await self._core.call_many(asked), strict=True):
            digits, _, order = answer.partition(b" ")
            for ack, digit in zip(some, digits, strict=True):
                if digit == ord("0"):
                    batch.refuse(ack)
                elif order:
                    batch.orders[ack.lease.id] = int(order)

    def _reaches_out(self, ack: Ack, tag: int) -> bool:
        if ack.hops or len(ack.links) > MOST_LINKS:
            return True
        tag_of = self._core.keys.tag_of_host
        return any(tag_of(host) != tag for host in {link.host for link in ack.links})

    def _split(self, batch: Batch, *, everything: bool) -> list[Link]:
        """Return the links to be offered before the acks; the others stay with their acks."""
        hopped = {(ack.lease.job, hop.fp): True for ack in batch.live.values() for hop in ack.hops}
        if everything:
            links = [link for ack in batch.live.values() for link in ack.links]
            return _distinct(links, hopped)
        away: list[Link] = []
        tag_of = self._core.keys.tag_of_host
        for ack in batch.live.values():
            tag = ack.lease.slot % TAGS
            found = _distinct(ack.links, hopped)
            here = {host for host in {link.host for link in found} if tag_of(host) == tag}
            near = [link for link in found if link.host in here]
            if len(near) > MOST_LINKS:
                near = []
            batch.near[ack.lease.id] = near
            if len(near) < len(found):
                away += found if not near else [link for link in found if link.host not in here]
        return _distinct(away, {})

    async def _end(self, batch: Batch, total: _Sum) -> None:
        """Call the acks' own script, tag by tag; one call of a tag after the other."""
        waiting = {tag: list(chunks(acks, batch)) for tag, acks in batch.by_tag().items()}
        while waiting:
            calls = {tag: chunks.pop(0) for tag, chunks in waiting.items()}
            waiting = {tag: chunks for tag, chunks in waiting.items() if chunks}
            asked = [self._ending(tag, acks, batch) for tag, acks in calls.items()]
            answers = await self._core.call_many(asked)
            for (tag, acks), answer in zip(calls.items(), answers, strict=True):
                taken, letters = read_acked(answer)
                links = [link for ack in acks for link in batch.near.get(ack.lease.id, ())]
                self._count(_Part(tag, None, links), taken, total)
                for ack, letter in zip(acks, letters, strict=True):
                    if letter == STALE:
                        batch.refuse(ack)
                    else:
                        batch.accepted.append(ack)

    def _ending(self, tag: int, acks: Sequence[Ack], batch: Batch) -> Ask:
        core = self._core
        self._requests += 1
        words: list[str | bytes | int] = [core.session, self._requests]
        for ack in acks:
            gates = core.gates_of(ack.lease.id)
            here = [host for host in gates if core.keys.tag_of_host(host) == tag]
            hops = [hop for hop in _hops(ack) if core.keys.tag_of_host(hop.host) == tag]
            words.append(self._pack_ack(ack, here))
            words.append(self._pack_hops(ack, hops))
            words.append(self._pack_links(batch.near.get(ack.lease.id, ())))
        return tag, "ack", tuple(words)

    def _pack_ack(self, ack: Ack, gates: Sequence[HostKey]) -> bytes:
        if not self._pages.elsewhere:
            return pack_ack(ack, gates, pack_note(ack.note))
        waits = ack.listed and self._core.has_outbox(ack.lease.job)
        return pack_ack(ack, gates, pack_note(ack.note) if waits else b"", elsewhere=True)

    def _pack_hops(self, ack: Ack, hops: Iterable[Hop]) -> bytes:
        by_host: dict[HostKey, list[Hop]] = {}
        for hop in hops:
            by_host.setdefault(hop.host, []).append(hop)
        here = ack.note and not self._pages.elsewhere
        pointer = pointer_to(ack.lease.url) if here else b""
        return b"".join(
            pack_hops(self._core.host(host), ack.lease.job, some, pointer)
            for host, some in by_host.items()
        )

    async def _follow(self, batch: Batch) -> None:
        """Do what accepted acks ask of other tags: hops are known, gates let go, contents kept."""
        core = self._core
        gates: dict[int, list[bytes]] = {}
        hops: dict[int, list[bytes | int]] = {}
        for ack in [*batch.accepted, *batch.refused]:
            tag_of_ack = ack.lease.slot % TAGS
            for host in core.gates_of(ack.lease.id):
                tag = core.keys.tag_of_host(host)
                if tag != tag_of_ack:
                    gates.setdefault(tag, []).append(pack_gate(ack.lease.id, host))
            core.entered.pop(ack.lease.id, None)
            core.leased.pop(ack.lease.id, None)
        for ack in batch.accepted:
            for hop in _hops(ack):
                tag = core.keys.tag_of_host(hop.host)
                if tag != ack.lease.slot % TAGS:
                    packed = self._pack_hops(ack, [hop])
                    hops.setdefault(tag, []).extend((ack.lease.id, packed))
        asked: list[Ask] = []
        for tag in {**gates, **hops}:
            words = (b"".join(gates.get(tag, ())), *hops.get(tag, ()))
            asked.append((tag, "settle", words))
        await core.call_many(asked)
        self._agenda.doubt(gates)
        if not self._pages.elsewhere:
            await self._keep_contents(batch.accepted)

    async def _keep_contents(self, accepted: Iterable[Ack]) -> None:
        commands = []
        keys = self._core.keys
        for ack in (ack for ack in accepted if ack.result is Result.DONE):
            for digest in filter(None, (ack.digest, ack.alike)):
                key = keys.contents(keys.tag_of_digest(digest), ack.lease.job)
                commands.append((key, ("HSETNX", key, digest, ack.lease.url)))
        if commands:
            await self._core.nodes.run_many(commands)


def _hops(ack: Ack) -> Sequence[Hop]:
    return ack.hops if ack.result in (Result.DONE, Result.DEAD) else ()


def _distinct(links: Sequence[Link], leave_out: Mapping[_Key, bool]) -> list[Link]:
    """Return each link once, the one with the best score, in the order of their first places."""
    found: dict[_Key, Link] = {}
    for link in links:
        key = (link.job, link.fp)
        other = found.get(key)
        fits = key not in leave_out and len(link.url) <= MAX_URL_CHARS
        better = other is not None and link.rank < min(other.rank, SCORED_RANKS)
        if fits and (other is None or better):
            found[key] = link
    return list(found.values())
