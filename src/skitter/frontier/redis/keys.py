"""The names of all keys of one namespace, and how their parts are written.

Everything of a host is in its tag: one of 256 groups of keys that a Redis Cluster keeps on one
server. What belongs to no host is in the *common* group, under the bare namespace. The scripts
derive their names from the anchor in the same way; a name that changes here changes there.
"""

import re
from functools import lru_cache
from typing import Final

from skitter.frontier.model import HISTORY
from skitter.types import Fingerprint, HostKey, JobNumber, PageClass
from skitter.url.partition import TAGS, slot_of, tag_of

SPREAD: Final = ("robots:", f"{HISTORY}:")
"""Marks of such names are spread over the tags: there is one for every origin, or every page."""

_HOSTS_CACHED = 1 << 16
_SIGN = 1 << 63
_WRAP = 1 << 64

_slot_of = lru_cache(_HOSTS_CACHED)(slot_of)


def _escaped(text: str) -> str:
    """Return a text as a pattern of keys that matches it alone."""
    return re.sub(r"[*?\[\]\\]", r"\\\g<0>", text)


def signed(fp: Fingerprint) -> str:
    """Return a fingerprint as scripts and integer sets spell it: a signed decimal number."""
    return str(fp - _WRAP if fp >= _SIGN else fp)


def unsigned(text: bytes | str) -> Fingerprint:
    """Read a fingerprint that a script or an integer set spells."""
    return Fingerprint(int(text) % _WRAP)


class Keys:
    """Names of keys, by what they hold."""

    def __init__(self, namespace: str) -> None:
        self.namespace = namespace
        self._prefixes = tuple(f"{{{namespace}:{tag:03}}}:" for tag in range(TAGS))
        self.common = f"{{{namespace}}}:"
        """How the names of the common group begin."""
        self.meta = self.common + "meta"
        self.jobs = self.common + "jobs"
        """Number of a job to its entry."""
        self.numbers = self.common + "numbers"
        """Id of a job to its number."""
        self.version = self.common + "version"
        self.marks = self.common + "marks"
        self.members = self.common + "members"
        self.plan = self.common + "plan"
        self.control = self.common + "control"
        self.events = self.common + "events"
        """The stream of what has happened."""
        self.stirs = self.common + "stirs"
        """The stream of tags in which something was queued."""
        self.series = self.common + "series:"
        """How the keys of counters over time begin."""
        self.submitted = self.common + "submitted"
        """URLs by how often they were submitted."""
        self.wide = self.common + "wide"
        """The tags in which there are wide slots; the anchor of each says so, too."""
        self.buried = self.common + "buried"
        """How much has left the store because nobody needed it."""
        self.any_host = f"{{{_escaped(namespace)}:[0-9][0-9][0-9]}}:h:*"
        """A pattern of the keys of all hosts."""
        self._host_key = re.compile(rf"\{{{re.escape(namespace)}:(\d\d\d)\}}:h:(.*)", re.DOTALL)

    def slot_of_host(self, host: HostKey) -> int:
        """Return the slot of a host; asked for every link, so the answers are remembered."""
        return _slot_of(host)

    def tag_of_host(self, host: HostKey) -> int:
        """Return the tag that holds everything of a host."""
        return _slot_of(host) % TAGS

    def tag_of_digest(self, digest: bytes) -> int:
        """Return the tag that holds a content digest."""
        return digest[0]

    def tag_of_mark(self, name: str) -> int | None:
        """Return the tag that holds a mark; None when it is in the common group."""
        return tag_of(name) if name.startswith(SPREAD) else None

    def prefix(self, tag: int) -> str:
        """Return how the names of a tag begin."""
        return self._prefixes[tag]

    def anchor(self, tag: int) -> str:
        """Return the key every script of a tag is called with; it always exists."""
        return self._prefixes[tag] + "a"

    def owners(self, tag: int) -> str:
        """Return who owns the slots of a tag."""
        return self._prefixes[tag] + "o"

    def job(self, tag: int, job: JobNumber) -> str:
        """Return a job's settings and the state of its integer sets."""
        return f"{self._prefixes[tag]}j:{job}"

    def host(self, tag: int, host: HostKey) -> str:
        """Return a host's gate."""
        return f"{self._prefixes[tag]}h:{host}"

    def resting(self, tag: int, slot: int) -> str:
        """Return the resting hosts of a slot by their next-allowed time."""
        return f"{self._prefixes[tag]}r:{slot}"

    def ready(self, tag: int, lane: str) -> str:
        """Return the ready hosts of a lane (a slot and a job) by urgency, then turn."""
        return f"{self._prefixes[tag]}y:{lane}"

    def slots_resting(self, tag: int) -> str:
        """Return the slots of a tag by the earliest of their resting hosts."""
        return self._prefixes[tag] + "R"

    def slots_ready(self, tag: int) -> str:
        """Return the lanes of a tag by the best of their ready hosts."""
        return self._prefixes[tag] + "Y"

    def bands(self, tag: int, job: JobNumber, page_class: PageClass, host: HostKey) -> str:
        """Return the bands of a line that have waiting URLs."""
        return f"{self._prefixes[tag]}b:{job}:{page_class:d}:{host}"

    def band(
        self, tag: int, job: JobNumber, page_class: PageClass, band: int, host: HostKey
    ) -> str:
        """Return the waiting URLs of one band: one urgency and rank of a line."""
        return f"{self._prefixes[tag]}q:{job}:{page_class:d}:{band}:{host}"

    def due(self, tag: int) -> str:
        """Return what is scheduled, by time."""
        return self._prefixes[tag] + "d"

    def due_records(self, tag: int) -> str:
        """Return the records of what is scheduled."""
        return self._prefixes[tag] + "D"

    def leases(self, tag: int) -> str:
        """Return the leases by their ids."""
        return self._prefixes[tag] + "l"

    def lease_ends(self, tag: int) -> str:
        """Return the leases by their expiry."""
        return self._prefixes[tag] + "L"

    def gates(self, tag: int) -> str:
        """Return the gates and the URLs that are held for redirect hops."""
        return self._prefixes[tag] + "G"

    def gate_ends(self, tag: int) -> str:
        """Return the same by expiry."""
        return self._prefixes[tag] + "GX"

    def gate_line(self, tag: int, host: HostKey) -> str:
        """Return the leases in line for a host."""
        return f"{self._prefixes[tag]}W:{host}"

    def targets(self, tag: int) -> str:
        """Return the URLs that redirects lead to or have brought."""
        return self._prefixes[tag] + "T"

    def bucket(self, tag: int, letter: str, job: JobNumber, bucket: int) -> str:
        """Return one bucket of an integer set: S seen, F done, X dead, O dropped."""
        return f"{self._prefixes[tag]}{letter}:{job}:{bucket}"

    def bloom(self, tag: int, job: JobNumber, group: int) -> str:
        """Return the counters of one group of a job's Bloom filter."""
        return f"{self._prefixes[tag]}B:{job}:{group}"

    def met(self, tag: int, job: JobNumber) -> str:
        """Return the hosts a job has met."""
        return f"{self._prefixes[tag]}m:{job}"

    def counts(self, tag: int, job: JobNumber) -> str:
        """Return the counters of a job and of its domains."""
        return f"{self._prefixes[tag]}c:{job}"

    def tallies(self, tag: int, job: JobNumber) -> str:
        """Return the totals of a job."""
        return f"{self._prefixes[tag]}t:{job}"

    def notes(self, tag: int, job: JobNumber) -> str:
        """Return the page index of a job."""
        return f"{self._prefixes[tag]}n:{job}"

    def contents(self, tag: int, job: JobNumber) -> str:
        """Return the content digests of a job, each with the first URL that had it."""
        return f"{self._prefixes[tag]}e:{job}"

    def records(self, tag: int, job: JobNumber) -> str:
        """Return the stream of a job's records."""
        return f"{self._prefixes[tag]}s:{job}"

    def robots(self, tag: int) -> str:
        """Return the marks of robots.txt files."""
        return self._prefixes[tag] + "k"

    def lock(self, name: str) -> str:
        """Return who holds a lock, and until when."""
        return f"{self._prefixes[tag_of(name)]}K:{name}"

    def requests(self, tag: int) -> str:
        """Return the last request of each session and its answer."""
        return self._prefixes[tag] + "Q"

    def moved(self, tag: int) -> str:
        """Return the hosts of a tag that were moved, each with the slot it has now."""
        return self._prefixes[tag] + "M"

    def read_host(self, key: str) -> tuple[int, str]:
        """Return tag and host of a host's key."""
        found = self._host_key.fullmatch(key)
        assert found is not None
        return int(found[1]), found[2]

    def parked(self, tag: int, job: JobNumber) -> str:
        """Return the hosts set aside because the job is paused."""
        return f"{self._prefixes[tag]}park:{job}"
