"""How keys and queued records look on disk.

| family | key | value |
|---|---|---|
| seen | queue u32, fp u64 | state u8; with a Bloom filter only of URLs that ended |
| q | queue u32, class u8, urgency u8, rank u32, seq u64 | record |
| due | at_ms u64, queue u32, fp u64 | rank u32, record |
| page | queue u32, fp u64 | what the page index keeps |
| content | job u32, digest | URL |
| host | host u32 | HostRow |
| queue | queue u32 | QueueRow |
| series | see series.py | counters over time |
| meta | name | version, secret, epoch, sequence, jobs, marks, seen-set and its journal |

A *queue* is one host within one job, so the URLs of a host sit together in every family. All
integers are big-endian: byte order is queue order. Urgency is 9 - priority.

A record is a head, the path and the referrer; in version 2 the data of the URL and its length (u16)
follow. The version is the first byte: a URL without data is written as version 1 and costs nothing
more, and a program that knows no data refuses the others instead of losing it.
"""

import struct
from typing import NamedTuple

import msgspec

from skitter.frontier.model import Link
from skitter.types import Fingerprint, HostKey, JobNumber, PageClass, Role

FORMAT_VERSION = 2
"""1 kept totals and the marks of files under other names: such a crawl cannot be gone on with."""
FAMILIES = ("seen", "q", "due", "page", "content", "host", "queue", "series")

QUEUED = b"q"
SCHEDULED = b"s"
DONE = b"d"
DEAD = b"x"
DROPPED = b"o"
ENDED = frozenset((DONE, DEAD, DROPPED))
MAYBE = b"?"
"""Never stored: a Bloom filter holds the URL, and what became of it is in the queues."""

MAX_PATH_BYTES = 0xFFFF
_RECORD_VERSION = 1
_WITH_DATA = 2
_HEAD = struct.Struct(">BBBBBHHIIQH")
_HTTPS = 1
_NAV = 2
_ROLE_SHIFT = 2
_ROLE_BITS = 3 << _ROLE_SHIFT

queue_prefix = struct.Struct(">I").pack
seen_key = struct.Struct(">IQ").pack
line_prefix = struct.Struct(">IB").pack
entry_key = struct.Struct(">IBBIQ").pack
due_key = struct.Struct(">QIQ").pack
due_parts = struct.Struct(">QIQ").unpack
u32 = struct.Struct(">I")
u64 = struct.Struct(">Q")
_u16 = struct.Struct(">H")


def rank_of(key: bytes) -> int:
    """Return the rank in an entry's key."""
    return int.from_bytes(key[6:10])


class Record(NamedTuple):
    """One waiting URL, as stored."""

    path: str
    """The URL after scheme and host key; the whole URL where it is spelled unlike its host key."""
    https: bool
    page_class: PageClass
    priority: int
    attempts: int
    lost: int
    depth: int
    slot: int
    visit: int
    found_s: int
    fp: Fingerprint
    referrer: str
    role: Role = Role.PAGE
    data: bytes = b""

    def url(self, host: HostKey) -> str:
        """Return the whole URL."""
        if not self.path.startswith("/"):
            return self.path
        return f"{'https' if self.https else 'http'}://{host}{self.path}"

    def pack(self) -> bytes:
        """Return the stored form."""
        flags = (_HTTPS if self.https else 0) | (_NAV if self.page_class is PageClass.NAV else 0)
        flags |= self.role << _ROLE_SHIFT
        path = self.path.encode()
        head = _HEAD.pack(
            _WITH_DATA if self.data else _RECORD_VERSION,
            flags,
            self.priority,
            min(self.attempts, 255),
            min(self.lost, 255),
            min(self.depth, 0xFFFF),
            self.slot,
            self.visit,
            self.found_s,
            self.fp,
            len(path),
        )
        packed = head + path + self.referrer.encode()
        return packed + self.data + _u16.pack(len(self.data)) if self.data else packed

    @classmethod
    def of(cls, link: Link, found_s: int) -> "Record":
        """Make the record of a link just offered."""
        https = link.url.startswith("https")
        at = 8 if https else 7
        # "http://a.com.:81/" has the host key "a.com:81": such a URL is kept whole.
        path = link.url[len(link.host) + at :] if link.url.startswith(link.host, at) else link.url
        if not path.startswith("/"):
            path = link.url
        return cls(
            path,
            https,
            link.page_class,
            link.priority,
            0,
            0,
            link.depth,
            link.slot,
            link.visit,
            found_s,
            link.fp,
            link.referrer,
            link.role,
            link.data,
        )


def unpack_record(stored: bytes) -> Record:
    """Read a stored record."""
    (version, flags, priority, attempts, lost, depth, slot, visit, found_s, fp, length) = (
        _HEAD.unpack_from(stored)
    )
    data = b""
    if version != _RECORD_VERSION:
        if version != _WITH_DATA:
            raise ValueError(
                f"queued record of version {version}, this program reads up to {_WITH_DATA}"
            )
        stored, data = _split(stored)
    end = _HEAD.size + length
    return Record(
        stored[_HEAD.size : end].decode(),
        bool(flags & _HTTPS),
        PageClass.NAV if flags & _NAV else PageClass.DATA,
        priority,
        attempts,
        lost,
        depth,
        slot,
        visit,
        found_s,
        Fingerprint(fp),
        stored[end:].decode(),
        Role((flags & _ROLE_BITS) >> _ROLE_SHIFT),
        data,
    )


def _split(stored: bytes) -> tuple[bytes, bytes]:
    """Return a record up to its data, and the data."""
    end = len(stored) - _u16.size
    begin = end - _u16.unpack_from(stored, end)[0]
    return stored[:begin], stored[begin:end]


class HostRow(msgspec.Struct, array_like=True):
    """One host's gate, as stored."""

    version: int
    name: str
    delay_ms: int
    per_host: int
    next_at_ms: int
    floor_ms: int = 0
    held_until_ms: int = 0


class QueueRow(msgspec.Struct, array_like=True):
    """One queue's counters, as stored; leased URLs count as queued."""

    version: int
    host: int
    job: JobNumber
    data: int = 0
    nav: int = 0
    scheduled: int = 0
    done: int = 0
    dead: int = 0
    dropped: int = 0
    data_urgency: int = 0
    """No waiting data page is more urgent than this; saves a look into the queue on opening."""
    nav_urgency: int = 0


pack_row = msgspec.msgpack.Encoder().encode
unpack_host = msgspec.msgpack.Decoder(HostRow).decode
unpack_queue = msgspec.msgpack.Decoder(QueueRow).decode
