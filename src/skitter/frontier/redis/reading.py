"""Questions about the frontier; nothing here changes it.

Counters are kept by tag and added up when someone asks: 256 small commands that travel together.
Each tag answers at a moment of its own, so a sum is a picture of no single moment while members
are at work: a link that goes from a tag to one that has answered already is in neither. Who has
to know that nothing is left compares two sums.
"""

import secrets
import struct
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, islice
from typing import Any, Final, NamedTuple

import msgspec

from skitter.frontier.model import Counts, JobEntry, Sighting, UrlState, is_pointer
from skitter.frontier.redis.keys import Keys, signed
from skitter.frontier.redis.library import function
from skitter.frontier.redis.marks import Marks, scan_hashes
from skitter.frontier.redis.nodes import Call, Nodes
from skitter.frontier.redis.notes import unpack_note
from skitter.frontier.redis.pages import Pages
from skitter.frontier.redis.records import unpack_record
from skitter.frontier.redis.tails import Tails
from skitter.types import Fingerprint, HostKey, JobNumber
from skitter.url.partition import TAGS

LOOK_LIMIT: Final = 2_000
"""How many waiting URLs are searched for the details of one; its state needs no search."""
SEEN_STEP: Final = 500
"""Fingerprints asked for in one call: about a millisecond of a server."""

_COUNTERS = ("q", "l", "s", "d", "x", "o")
"""The counters in the order of the fields of ``Counts``."""
_STATES = {
    b"u": UrlState.UNKNOWN,
    b"q": UrlState.QUEUED,
    b"l": UrlState.LEASED,
    b"s": UrlState.SCHEDULED,
    b"d": UrlState.DONE,
    b"x": UrlState.DEAD,
    b"o": UrlState.DROPPED,
}
_QUEUED, _UNKNOWN = b"q", b"u"
_HOSTS, _LOOK, _SEEN = function("hosts"), function("look"), function("seen")
_TAGS_TOGETHER = 32
_MOST_WALKS = 8
_MOST_GIVEN = 250_000
_PLACE = struct.Struct(">HQIQ")
_fp = struct.Struct(">Q")
_raw = _fp.pack
_decode_job = msgspec.json.Decoder(JobEntry).decode


class Reading:
    """Implements ``FrontierReader`` on the keys of one namespace."""

    def __init__(
        self,
        nodes: Nodes,
        keys: Keys,
        now: Callable[[], int],
        tails: Tails | None = None,
        pages: Pages | None = None,
    ) -> None:
        self._tails = tails
        self._pages = pages or Pages()
        self._nodes = nodes
        self._keys = keys
        self._now = now
        """The time of a test; 0 leaves it to the server."""
        self._marks = Marks(nodes, keys)
        self._given: OrderedDict[int, set[bytes]] = OrderedDict()
        """Walks over notes, and what each has given of the tag it is in."""

    async def jobs(self) -> dict[JobNumber, JobEntry]:
        """Return every job in the store."""
        words = await self._nodes.run(self._keys.jobs, "HGETALL", self._keys.jobs)
        numbers, entries = words[::2], words[1::2]
        return {
            JobNumber(int(number)): _decode_job(entry)
            for number, entry in zip(numbers, entries, strict=True)
        }

    async def counts(self, job: JobNumber, *, domain: str | None = None) -> Counts:
        """Return the kept counters of a job, or of one registered domain in it."""
        end = "" if domain is None else f":{domain}"
        fields = [letter + end for letter in _COUNTERS]
        rows = await self._from_all_tags(self._keys.counts, job, "HMGET", *fields)
        return Counts(
            *(sum(int(value or 0) for value in column) for column in zip(*rows, strict=True))
        )

    async def _from_all_tags(
        self, name: Callable[[int, JobNumber], str], job: JobNumber, verb: str, *rest: str
    ) -> list[Any]:
        keys = [name(tag, job) for tag in range(TAGS)]
        return await self._nodes.run_many([(key, (verb, key, *rest)) for key in keys])

    async def domains(self, job: JobNumber, limit: int = 100) -> list[tuple[str, Counts]]:
        """Return the registered domains of a job, those with most pending URLs first."""
        hashes = [self._keys.counts(tag, job) for tag in range(TAGS)]
        found: dict[str, dict[bytes, int]] = defaultdict(dict)
        async for key, fields in scan_hashes(self._nodes, hashes, "?:*"):
            # Kept by hash, because a scan may come by a field twice.
            found[key].update((name, int(value)) for name, value in fields.items())
        totals: Counter[bytes] = Counter()
        for fields_of_tag in found.values():
            totals.update(fields_of_tag)
        names = {field[2:] for field in totals}
        counts = [
            (name.decode(), Counts(*(totals[f"{letter}:".encode() + name] for letter in _COUNTERS)))
            for name in names
        ]
        counts.sort(key=lambda pair: (-pair[1].pending, pair[0]))
        return counts[:limit]

    async def hosts_with_work(self) -> int:
        """Return how many hosts have a URL to hand out, now or after their rest, or in flight."""
        anchors = [self._keys.anchor(tag) for tag in range(TAGS)]
        calls = [Call(anchor, _HOSTS, (self._now(),)) for anchor in anchors]
        return sum(await self._nodes.call_many(calls))

    async def hosts(self, job: JobNumber) -> int:
        """Return how many hosts a job has met."""
        return sum(await self._from_all_tags(self._keys.met, job, "SCARD"))

    async def look(self, job: JobNumber, host: HostKey, fp: Fingerprint) -> Sighting:
        """Return everything known of one URL."""
        anchor = self._keys.anchor(self._keys.tag_of_host(host))
        state, note, stored, rank, due, presumed = await self._nodes.call(
            anchor, _LOOK, self._now(), job, signed(fp), _raw(fp), host, LOOK_LIMIT
        )
        if state == _QUEUED and not stored and self._tails is not None:
            for found in await self._tails.find(job, host, fp):
                stored, rank = found.record, found.rank
        if state != _UNKNOWN and self._pages.elsewhere:
            [plain] = await self._pages.get([(job, fp)])
        else:
            plain = unpack_note(note)
        record = unpack_record(stored) if stored else None
        return Sighting(
            state=_STATES[state],
            note=plain,
            link=record.link(host, job, rank) if record else None,
            attempts=record.attempts if record else 0,
            due_ms=int(float(due)) if due else None,
            presumed=bool(presumed),
        )

    async def seen(self, job: JobNumber, urls: Sequence[tuple[HostKey, Fingerprint]]) -> list[bool]:
        """Tell which URLs were ever accepted, in order."""
        places: dict[int, list[int]] = defaultdict(list)
        for at, (host, _) in enumerate(urls):
            places[self._keys.tag_of_host(host)].append(at)
        asked = [(tag, part) for tag, all_of_tag in places.items() for part in _parts(all_of_tag)]
        calls = [
            Call(
                self._keys.anchor(tag),
                _SEEN,
                (self._now(), job, *(signed(urls[at][1]) for at in part)),
            )
            for tag, part in asked
        ]
        known = [False] * len(urls)
        for (_, part), answer in zip(asked, await self._nodes.call_many(calls), strict=True):
            for at, digit in zip(part, answer, strict=True):
                known[at] = digit == ord("1")
        return known

    async def mark(self, name: str) -> bytes | None:
        """Return the value a caller kept with its acks."""
        return await self._marks.get(name)

    async def marks_of(self, names: Sequence[str]) -> list[bytes | None]:
        """Return the values of many names."""
        return await self._marks.get_many(names)

    async def marks(self, prefix: str) -> dict[str, bytes]:
        """Return every mark whose name begins with ``prefix``."""
        return await self._marks.all(prefix)

    async def note(self, job: JobNumber, host: HostKey, fp: Fingerprint) -> bytes:
        """Return what the page index keeps of one URL; b"" for nothing."""
        if self._pages.elsewhere:
            [note] = await self._pages.get([(job, fp)])
            return note
        key = self._keys.notes(self._keys.tag_of_host(host), job)
        return unpack_note(await self._nodes.run(key, "HGET", key, signed(fp)))

    async def notes_of(
        self, wanted: Sequence[tuple[JobNumber, HostKey, Fingerprint]]
    ) -> list[bytes]:
        """Return the notes of many URLs: one command for each tag and job."""
        if self._pages.elsewhere:
            return await self._pages.get([(job, fp) for job, _, fp in wanted])
        places: dict[str, list[int]] = defaultdict(list)
        for at, (job, host, _) in enumerate(wanted):
            places[self._keys.notes(self._keys.tag_of_host(host), job)].append(at)
        asked = [
            (key, ("HMGET", key, *(signed(wanted[at][2]) for at in of_key)))
            for key, of_key in places.items()
        ]
        notes = [b""] * len(wanted)
        for of_key, answer in zip(places.values(), await self._nodes.run_many(asked), strict=True):
            for at, stored in zip(of_key, answer, strict=True):
                notes[at] = unpack_note(stored)
        return notes

    async def notes(
        self, job: JobNumber, after: bytes = b"", limit: int = 500
    ) -> tuple[list[bytes], bytes]:
        """Return what the page index keeps of a job's URLs, and where to go on; b"" at the end.

        A note that is there all the time is found. One that is written meanwhile may be found twice
        if another process goes on with the walk.
        """
        if self._pages.elsewhere:
            return await self._walk(job, after, limit)
        place = _Place.read(after) if after else _Place(0, 0, 0, secrets.randbits(64))
        found: list[bytes] = []
        while place.tag < TAGS and len(found) < limit:
            if place.begins_tag:
                whole, place = await self._whole_tags(job, place, limit - len(found))
                found += whole
            if place.tag < TAGS and len(found) < limit:
                some, place = await self._part_of_tag(job, place, limit - len(found))
                found += some
        if place.tag == TAGS:
            self._given.pop(place.walk, None)
        return [unpack_note(note) for note in found], place.pack() if place.tag < TAGS else b""

    async def _walk(self, job: JobNumber, after: bytes, limit: int) -> tuple[list[bytes], bytes]:
        """Return notes that are elsewhere, in the order of their fingerprints there."""
        last = Fingerprint(_fp.unpack(after)[0]) if after else None
        rows = await self._pages.walk(job, last, limit)
        place = _raw(rows[-1][0]) if rows and len(rows) == limit else b""
        return [note for _, note in rows], place

    async def _whole_tags(
        self, job: JobNumber, place: "_Place", room: int
    ) -> tuple[list[bytes], "_Place"]:
        """Take the notes of as many tags as there is room for."""
        keys = [self._keys.notes(tag, job) for tag in range(place.tag, TAGS)][:_TAGS_TOGETHER]
        sizes = await self._nodes.run_many([(key, ("HLEN", key)) for key in keys])
        fits = sum(1 for total in accumulate(sizes) if total <= room)
        asked = [
            (key, ("HVALS", key)) for key, size in zip(keys[:fits], sizes, strict=False) if size
        ]
        values = [value for some in await self._nodes.run_many(asked) for value in some]
        return [note for note in values if not is_pointer(note)], place.at_tag(place.tag + fits)

    async def _part_of_tag(
        self, job: JobNumber, place: "_Place", room: int
    ) -> tuple[list[bytes], "_Place"]:
        """Take some notes of one tag.

        A server answers with more than it was asked for, and with the same ones twice when the
        size of its table changes meanwhile; so this remembers what it has given.
        """
        key = self._keys.notes(place.tag, job)
        cursor, words = await self._nodes.run(key, "HSCAN", key, place.cursor, "COUNT", room)
        pairs = zip(words[::2], words[1::2], strict=True)
        listed = {name: note for name, note in pairs if not is_pointer(note)}
        names = list(listed)
        given = self._given_by(place, names)
        fresh = {name: note for name, note in listed.items() if name not in given}
        taken = dict(islice(fresh.items(), room))
        given.update(taken)
        if len(taken) < len(fresh):
            return list(taken.values()), place._replace(skip=place.skip + len(taken))
        if int(cursor):
            return list(taken.values()), place._replace(cursor=int(cursor), skip=0)
        return list(taken.values()), place.at_tag(place.tag + 1)

    def _given_by(self, place: "_Place", names: list[bytes]) -> set[bytes]:
        """Return what a walk has given of its tag, or what its place tells if that is forgotten."""
        given = self._given.pop(place.walk, None)
        if place.begins_tag or given is None or len(given) > _MOST_GIVEN:
            given = set(names[: place.skip])
        self._given[place.walk] = given
        if len(self._given) > _MOST_WALKS:
            self._given.popitem(last=False)
        return given

    async def tallies(self, job: JobNumber) -> dict[str, int]:
        """Return the totals of a job."""
        totals: Counter[str] = Counter()
        for words in await self._from_all_tags(self._keys.tallies, job, "HGETALL"):
            for name, value in zip(words[::2], words[1::2], strict=True):
                totals[name.decode()] += int(value)
        return dict(totals)

    async def contents(self, job: JobNumber, digests: Sequence[bytes]) -> list[str | None]:
        """Return for each content hash the first URL of the job whose page had it."""
        if self._pages.elsewhere:
            return await self._pages.contents(job, digests)
        keys = [self._keys.contents(self._keys.tag_of_digest(digest), job) for digest in digests]
        asked = [(key, ("HGET", key, digest)) for key, digest in zip(keys, digests, strict=True)]
        found = await self._nodes.run_many(asked)
        return [None if url is None else url.decode() for url in found]


class _Place(NamedTuple):
    """Where a walk over notes goes on."""

    tag: int
    cursor: int
    skip: int
    """How many notes behind the cursor were given already."""
    walk: int

    @classmethod
    def read(cls, packed: bytes) -> "_Place":
        return cls(*_PLACE.unpack(packed))

    def pack(self) -> bytes:
        return _PLACE.pack(*self)

    @property
    def begins_tag(self) -> bool:
        return not self.cursor and not self.skip

    def at_tag(self, tag: int) -> "_Place":
        return _Place(tag, 0, 0, self.walk)


def _parts(places: list[int]) -> Iterator[list[int]]:
    return (places[at : at + SEEN_STEP] for at in range(0, len(places), SEEN_STEP))
