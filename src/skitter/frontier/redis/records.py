"""How a waiting URL is stored: a head of 23 bytes, the path, the referrer, and data if it has any.

The host is in the key, so it is left out of the path, and of the referrer where that is a page of
the same host. Scripts change attempts, losses and visits in place. The first byte is a version: 2
where data and its length (u16) follow the referrer, else 1, so that a URL without data costs
nothing more. A program that knows no data refuses such a record instead of losing it.
"""

import struct
from typing import NamedTuple

from skitter.frontier.model import Lease, Link
from skitter.types import Fingerprint, HostKey, JobNumber, PageClass, Role

RECORD_VERSION = 1
_WITH_DATA = 2
MAX_URL_CHARS = 0xFFFF

HEAD = "BBBBBHHIQH"
"""Version, flags, priority, attempts, losses, depth, visit, found, fingerprint, bytes of path."""
_HEAD = struct.Struct(">" + HEAD)
_HTTPS = 1
_NAV = 2
_ROLE_SHIFT = 2
_ROLE_BITS = 3 << _ROLE_SHIFT
_MOST = 0xFFFF
_RETURNED = 128
_PLACE_BYTES = 8
"""What a script hangs on to a URL that was given back, so that it finds its old place."""

_u16 = struct.Struct(">H")
_pack_head = _HEAD.pack
_unpack_head = _HEAD.unpack_from
HEAD_BYTES = _HEAD.size


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
    visit: int
    found_s: int
    fp: Fingerprint
    referrer: str
    role: Role
    data: bytes

    def link(self, host: HostKey, job: JobNumber, rank: int, slot: int = 0) -> Link:
        """Return what was offered."""
        origin = f"http{'s' * self.https}://{host}"
        return Link(
            url=_whole(self.path, origin),
            fp=self.fp,
            host=host,
            job=job,
            slot=slot,
            page_class=self.page_class,
            priority=self.priority,
            depth=self.depth,
            rank=rank,
            referrer=_whole(self.referrer, origin),
            visit=self.visit,
            role=self.role,
            data=self.data,
        )


def pack_record(link: Link, found_s: int) -> bytes:
    """Return the stored form of a link just offered."""
    fields, text = record_parts(link, found_s, origins(link.host))
    return _pack_head(*fields) + text.encode() + data_part(link.data)


def data_part(data: bytes) -> bytes:
    """Return the end of a record: nothing without data."""
    return data + _u16.pack(len(data)) if data else b""


def origins(host: HostKey) -> tuple[str, str]:
    """Return how the URLs of a host begin, https first; the slash is the path's."""
    return f"https://{host}/", f"http://{host}/"


def record_parts(link: Link, found_s: int, begins: tuple[str, str]) -> tuple[tuple[int, ...], str]:
    """Return the fields of a record's head, and the path and referrer behind it as one text."""
    path, referrer = link.url, link.referrer
    flags, origin = (_HTTPS, begins[0]) if path[4] == "s" else (0, begins[1])
    # "http://a.com.:81/" has the host key "a.com:81": such a URL is kept whole.
    if path.startswith(origin):
        at = len(origin) - 1
        path = path[at:]
        if referrer.startswith(origin):
            referrer = referrer[at:]
    if not link.page_class:
        flags |= _NAV
    flags |= link.role << _ROLE_SHIFT
    depth, visit = link.depth, link.visit
    if depth > _MOST or visit > _MOST:
        depth, visit = min(depth, _MOST), min(visit, _MOST)
    length = len(path) if path.isascii() else len(path.encode())
    version = _WITH_DATA if link.data else RECORD_VERSION
    head = (version, flags, link.priority, 0, 0, depth, visit, found_s, link.fp, length)
    return head, path + referrer


def unpack_record(stored: bytes) -> Record:
    """Read a stored record."""
    version, flags, priority, attempts, lost, depth, visit, found_s, fp, length = _unpack_head(
        stored
    )
    if flags & _RETURNED:
        stored = stored[:-_PLACE_BYTES]
    data = b""
    if version != RECORD_VERSION:
        if version != _WITH_DATA:
            raise ValueError(
                f"queued record of version {version}, this program reads up to {_WITH_DATA}"
            )
        stored, data = _split(stored)
    end = HEAD_BYTES + length
    return Record(
        stored[HEAD_BYTES:end].decode(),
        bool(flags & _HTTPS),
        PageClass.NAV if flags & _NAV else PageClass.DATA,
        priority,
        attempts,
        lost,
        depth,
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


def fp_of(stored: bytes) -> Fingerprint:
    """Return the fingerprint of a stored record."""
    return Fingerprint(_unpack_head(stored)[8])


class Given(NamedTuple):
    """What a claim answers of one lease beside its record."""

    id: int
    host: HostKey
    job: JobNumber
    rank: int
    slot: int
    fence: int
    gated: bool = True


def make_lease(given: Given, stored: bytes, expires_at: float) -> Lease:
    """Return the lease of a record that was handed out."""
    record = unpack_record(stored)
    origin = f"http{'s' * record.https}://{given.host}"
    return Lease(
        given.id,
        _whole(record.path, origin),
        record.fp,
        given.host,
        given.job,
        given.slot,
        given.fence,
        record.page_class,
        record.priority,
        record.depth,
        record.attempts,
        record.lost,
        record.visit,
        _whole(record.referrer, origin),
        record.found_s,
        expires_at,
        record.role,
        given.rank,
        given.gated,
        record.data,
    )


def _whole(path: str, origin: str) -> str:
    return origin + path if path[:1] == "/" else path
