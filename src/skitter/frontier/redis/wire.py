"""What scripts are given and what they answer, as bytes; the scripts say what means what.

A script is called with few long texts instead of many short ones: a word of a command costs more
than the bytes in it.
"""

import struct
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from skitter.frontier.model import Ack, Freed, Hop, Lease, Link
from skitter.frontier.redis.keys import signed
from skitter.frontier.redis.records import (
    HEAD,
    HEAD_BYTES,
    Given,
    data_part,
    make_lease,
    origins,
    record_parts,
)
from skitter.types import Fingerprint, HostKey, JobNumber

NEVER = (1 << 53) - 1
"""As a time: nothing to wait for. As a front: nothing is ready."""
RANK_BITS = 32
NO_JOB = b"NOJOB"
FENCED = b"FENCED"
STALE = ord("S")

_u8 = struct.Struct(">B").pack
_u16 = struct.Struct(">H").pack
_u32 = struct.Struct(">I").pack
_group = struct.Struct(">IHBH").pack
_hop_group = struct.Struct(">IHH").pack
_link = struct.Struct(">IQBI" + HEAD).pack
_let_go = struct.Struct(">QQQQBH").pack
_fence_fp = struct.Struct(">IQ").pack
_ending = struct.Struct(">BBQI").pack
_amount = struct.Struct(">q").pack
_taken = struct.Struct(">IIIQQ?")
_hint = struct.Struct(">QQ")
_unparked = struct.Struct(">QQI")
_claimed = struct.Struct(">QQ?H")
_given = struct.Struct(">IIHI?H")
_size = struct.Struct(">I").unpack_from

raw_fp = struct.Struct(">Q").pack


class Host(NamedTuple):
    """What scripts need to know of a host they meet."""

    name: HostKey
    slot: int
    domain: str
    packed: bytes
    """Domain and name, each behind its length."""
    origins: tuple[str, str]
    """How its URLs begin."""


class Hint(NamedTuple):
    """When a tag has something to do next, and the front of the best host that is ready."""

    at_ms: int
    front: int
    jobs: tuple[JobNumber, ...] = ()
    """Those with a host as urgent as that; not told by all scripts."""


NO_HINT = Hint(NEVER, NEVER)


class Taken(NamedTuple):
    """What became of links."""

    new: int
    over: int
    queued: int
    hint: Hint
    long: bool
    """Whether a list has a part that belongs into the cold store."""


class Claimed(NamedTuple):
    """What a claim in one tag brought."""

    hint: Hint
    cold: bool
    """Whether lists wait for the cold store."""
    leases: list[Lease]


def pack_host(name: HostKey, slot: int, domain: str) -> Host:
    """Prepare a host for any number of calls."""
    packed = _short(domain.encode()) + _short(name.encode())
    return Host(name, slot, domain, packed, origins(name))


def _short(text: bytes) -> bytes:
    return _u16(len(text)) + text


def pack_links(
    host: Host, job: JobNumber, links: Sequence[Link], mine: bool, found_s: int
) -> bytes:
    """Write one group: links of one job to one host."""
    parts: list[bytes] = []
    begins = host.origins
    for link in links:
        fp = signed(link.fp)
        head, text = record_parts(link, found_s, begins)
        if link.data:
            tail = text.encode() + data_part(link.data) + fp.encode()
        else:
            tail = (text + fp).encode()
        digits = len(fp)
        size = HEAD_BYTES + len(tail) - digits
        parts += (_link(link.rank, link.not_before_ms, digits, size, *head), tail)
    body = b"".join(parts)
    return _group(job, host.slot, mine, len(links)) + host.packed + _u32(len(body)) + body


def pack_hops(host: Host, job: JobNumber, hops: Sequence[Hop], pointer: bytes) -> bytes:
    """Write one group of hops, and the pointer that the page index keeps of each."""
    fps = [signed(hop.fp).encode() for hop in hops]
    body = b"".join(_u8(len(fp)) + fp for fp in fps)
    return _hop_group(job, host.slot, len(fps)) + host.packed + _short(pointer) + body


UNASKED = 1 << 52
"""In the place of a delay: no request was made."""


def pack_freed(item: Freed) -> bytes:
    """Write one host that is let go."""
    delay = 0 if item.delay_ms is None else item.delay_ms + 1
    if item.unasked:
        delay = UNASKED
    gate = pack_gate(item.lease_id, item.host)
    return gate + _let_go(
        delay,
        max(0, item.not_before_ms),
        max(0, item.floor_ms),
        max(0, item.held_until_ms),
        item.retuned + 2 * item.drains,
        item.per_host or 0,
    )


def pack_gate(lease_id: int, host: HostKey) -> bytes:
    """Write one gate that a lease may hold."""
    words = str(lease_id).encode()
    return _u8(len(words)) + words + _short(host.encode())


def pack_meant(lease: Lease) -> bytes:
    """Write which lease is meant, so that no other one is taken for it."""
    words = str(lease.id).encode()
    return _u8(len(words)) + words + _fence_fp(lease.fence, lease.fp)


def pack_ack(ack: Ack, gates: Iterable[HostKey], note: bytes, *, elsewhere: bool = False) -> bytes:
    """Write one ack without its links and hops; ``note`` is packed.

    With ``elsewhere`` the page index has the note already, and it is for the outputs alone.
    """
    fp = signed(ack.lease.fp).encode()
    at_ms = 0 if ack.at_ms is None else max(1, ack.at_ms)
    flags = (ack.listed and bool(note)) + 2 * elsewhere
    parts = [pack_meant(ack.lease), _u8(len(fp)), fp, _ending(ack.result, flags, at_ms, len(note))]
    parts += (note, _u8(len(ack.tally)))
    for name, amount in ack.tally:
        parts += (_short(name.encode()), _amount(amount))
    hosts = [_short(host.encode()) for host in gates]
    return b"".join([*parts, _u8(len(hosts)), *hosts])


def read_taken(answer: bytes) -> Taken:
    """Read what became of links."""
    new, over, queued, at_ms, front, long = _taken.unpack_from(answer)
    return Taken(new, over, queued, Hint(at_ms, front), long)


def read_acked(answer: bytes) -> tuple[Taken, bytes]:
    """Read what became of acks: of their links, and a letter for each."""
    return read_taken(answer), answer[_taken.size :]


def read_hint(answer: bytes) -> Hint:
    """Read a hint, with or without jobs behind it."""
    at_ms, front = _hint.unpack_from(answer)
    return Hint(at_ms, front, _read_jobs(answer, _hint.size))


def _read_jobs(answer: bytes, at: int) -> tuple[JobNumber, ...]:
    if len(answer) <= at:
        return ()
    return tuple(map(JobNumber, struct.unpack_from(f">{answer[at]}I", answer, at + 1)))


def read_unparked(answer: bytes) -> tuple[Hint, int]:
    """Read a hint and how many hosts are left."""
    at_ms, front, left = _unparked.unpack(answer)
    return Hint(at_ms, front), left


def read_claimed(answer: bytes, first_id: int, expires_at: float) -> Claimed:
    """Read the leases a claim brought; their ids count from the first."""
    at_ms, front, cold, n = _claimed.unpack_from(answer)
    leases, at = _read_leases(answer, n, first_id, expires_at)
    return Claimed(Hint(at_ms, front, _read_jobs(answer, at)), cold, leases)


def _read_leases(
    answer: bytes, n: int, first_id: int, expires_at: float
) -> tuple[list[Lease], int]:
    """Return leases, and where the answer goes on."""
    at, leases = _claimed.size, []
    for number in range(n):
        job, rank, slot, fence, gated, length = _given.unpack_from(answer, at)
        at += _given.size
        host = HostKey(answer[at : at + length].decode())
        at += length
        [length] = _size(answer, at)
        at += 4
        given = Given(first_id + number, host, JobNumber(job), rank, slot, fence, gated)
        leases.append(make_lease(given, answer[at : at + length], expires_at))
        at += length
    return leases, at


def fingerprint_words(fp: Fingerprint) -> tuple[str, bytes]:
    """Return a fingerprint as the text and the bytes that scripts compare."""
    return signed(fp), raw_fp(fp)
