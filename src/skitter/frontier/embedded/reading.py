"""Questions about the frontier; nothing here changes it."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from skitter.frontier.embedded.core import Core
from skitter.frontier.embedded.intake import MARK
from skitter.frontier.embedded.layout import (
    DEAD,
    DONE,
    DROPPED,
    MAYBE,
    SCHEDULED,
    Record,
    due_parts,
    queue_prefix,
    seen_key,
    u32,
    unpack_record,
)
from skitter.frontier.model import Counts, JobState, Link, Sighting, UrlState, is_pointer
from skitter.types import Fingerprint, HostKey, JobNumber

LOOK_LIMIT = 20_000
"""How many waiting entries are searched for the details of one; its state needs no search."""

_STATES = {DONE: UrlState.DONE, DEAD: UrlState.DEAD, DROPPED: UrlState.DROPPED}


class _Place(NamedTuple):
    """A queue as far as questions go, so that nobody is woken by them."""

    id: int
    job: JobNumber
    host: HostKey


class Reading:
    """Answers from kept counters and single keys."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def counts(self, job: JobNumber, domain: str | None) -> Counts:
        """Return a copy of the kept counters."""
        registry = self._core.registry
        kept = registry.counts.get(job) if domain is None else registry.domains.get((job, domain))
        return msgspec.structs.replace(kept) if kept is not None else Counts()

    def domains(self, job: JobNumber, limit: int) -> list[tuple[str, Counts]]:
        """Return the domains with most pending URLs."""
        mine = [(d, c) for (number, d), c in self._core.registry.domains.items() if number == job]
        mine.sort(key=lambda pair: (-pair[1].pending, pair[0]))
        return [(domain, msgspec.structs.replace(counts)) for domain, counts in mine[:limit]]

    def mark(self, name: str) -> bytes | None:
        """Return a value kept with the acks."""
        return self._core.rocks.get(MARK + name.encode())

    def marks(self, prefix: str) -> dict[str, bytes]:
        """Return the marks whose names begin with ``prefix``."""
        found = self._core.rocks.scan_meta(MARK + prefix.encode())
        return {key[len(MARK) :].decode(): value for key, value in found}

    def seen(self, job: JobNumber, urls: Sequence[tuple[HostKey, Fingerprint]]) -> list[bool]:
        """Tell which URLs are known."""
        core = self._core
        numbers = [core.registry.known_number(job, host) for host, _ in urls]
        keys = [seen_key(n, fp) for n, (_, fp) in zip(numbers, urls, strict=True) if n is not None]
        known = iter(core.seen.known(keys))
        return [number is not None and next(known) for number in numbers]

    def contents(self, job: JobNumber, digests: Sequence[bytes]) -> list[str | None]:
        """Return the first URLs with those contents."""
        if not digests:
            return []
        prefix = u32.pack(job)
        found = self._core.rocks.get_many("content", [prefix + digest for digest in digests])
        return [url.decode() if url is not None else None for url in found]

    def note(self, job: JobNumber, host: HostKey, fp: Fingerprint) -> bytes:
        """Return the note of one URL."""
        number = self._core.registry.known_number(job, host)
        if number is None:
            return b""
        return self._core.rocks.get_one("page", seen_key(number, fp)) or b""

    def notes_of(self, wanted: Sequence[tuple[JobNumber, HostKey, Fingerprint]]) -> list[bytes]:
        """Return the notes of many URLs."""
        known_number = self._core.registry.known_number
        numbers = [known_number(job, host) for job, host, _ in wanted]
        keys = [
            seen_key(number, fp)
            for number, (_, _, fp) in zip(numbers, wanted, strict=True)
            if number is not None
        ]
        found = iter(self._core.rocks.get_many("page", keys) if keys else ())
        return [(next(found) or b"") if number is not None else b"" for number in numbers]

    def notes(self, job: JobNumber, after: bytes, limit: int) -> tuple[list[bytes], bytes]:
        """Return notes in key order from behind ``after``; other jobs' keys are walked over."""
        found: list[bytes] = []
        number, owner = 0, None
        for key, note in self._core.rocks.scan("page", after):
            if number != (number := u32.unpack_from(key)[0]):
                owner = self._core.registry.job_of(number)
            if key == after or owner != job or is_pointer(note):
                continue
            found.append(note)
            if len(found) == limit:
                return found, key
        return found, b""

    def look(self, job: JobNumber, host: HostKey, fp: Fingerprint) -> Sighting:
        """Return everything known of one URL."""
        core = self._core
        number = core.registry.known_number(job, host)
        if number is None:
            return Sighting(UrlState.UNKNOWN)
        queue = _Place(number, job, host)
        key = seen_key(number, fp)
        state = core.seen.state(key)
        if state is None:
            return Sighting(UrlState.UNKNOWN)
        note = core.rocks.get_one("page", key) or b""
        if state in _STATES:
            return Sighting(_STATES[state], note)
        cancelled = core.registry.jobs[job].state is JobState.CANCEL
        if state == MAYBE:
            return self._look_everywhere(queue, fp, note, cancelled=cancelled)
        if cancelled:
            return Sighting(UrlState.DROPPED, note)
        return self._look_waiting(queue, fp, note, scheduled=state == SCHEDULED)

    def _look_waiting(
        self, queue: _Place, fp: Fingerprint, note: bytes, *, scheduled: bool
    ) -> Sighting:
        """Look for the details of a URL whose row says where it waits."""
        found = (self._look_due if scheduled else self._look_queue)(queue, fp, note)
        if found.presumed:
            return Sighting(UrlState.SCHEDULED if scheduled else UrlState.QUEUED, note)
        return found

    def _look_everywhere(
        self, queue: _Place, fp: Fingerprint, note: bytes, *, cancelled: bool
    ) -> Sighting:
        """Look for what only a Bloom filter speaks for, where it would wait if it did."""
        found = self._look_queue(queue, fp, note)
        if found.presumed:
            due = self._look_due(queue, fp, note)
            if not due.presumed or found.state is UrlState.UNKNOWN:
                found = due
        if cancelled and found.state is not UrlState.UNKNOWN:
            return Sighting(UrlState.DROPPED, note, presumed=found.presumed)
        return found

    def _look_queue(self, queue: _Place, fp: Fingerprint, note: bytes) -> Sighting:
        """Find a queued URL; when it is not found, say whether it may be further back."""
        core = self._core
        prefix = queue_prefix(queue.id)
        for n, (key, value) in enumerate(core.rocks.scan("q", prefix, prefix)):
            record = unpack_record(value)
            if record.fp == fp:
                leased = key in core.leases.by_key
                state = UrlState.LEASED if leased else UrlState.QUEUED
                return Sighting(state, note, _link(queue, record), record.attempts)
            if n == LOOK_LIMIT:
                return Sighting(UrlState.QUEUED, note, presumed=True)
        return Sighting(UrlState.UNKNOWN, presumed=True)

    def _look_due(self, queue: _Place, fp: Fingerprint, note: bytes) -> Sighting:
        """Find a scheduled URL; when it is not found, say whether it may come later."""
        for n, (key, value) in enumerate(self._core.rocks.scan("due", b"")):
            at_ms, number, due_fp = due_parts(key)
            if number == queue.id and due_fp == fp:
                record = unpack_record(value[4:])
                link = _link(queue, record)
                return Sighting(UrlState.SCHEDULED, note, link, record.attempts, at_ms)
            if n == LOOK_LIMIT:
                return Sighting(UrlState.SCHEDULED, note, presumed=True)
        return Sighting(UrlState.UNKNOWN, presumed=True)


def _link(queue: _Place, record: Record) -> Link:
    return Link(
        record.url(queue.host),
        record.fp,
        queue.host,
        queue.job,
        record.slot,
        record.page_class,
        record.priority,
        record.depth,
        0,
        record.referrer,
        role=record.role,
        data=record.data,
    )
