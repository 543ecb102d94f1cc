"""The waiting URLs of one class in one queue: a sorted head in memory, the rest on disk.

Invariant: every entry on disk with a key below ``next_read`` is in the head, leased, or gone.
So a refill starts at ``next_read`` and never walks over what was deleted before it, which is
what makes a queue in an LSM tree slow otherwise.
"""

from bisect import insort
from collections.abc import Callable, Container, Iterable

from skitter.frontier.embedded.layout import line_prefix

Entry = tuple[bytes, bytes]
"""Key and stored record."""

ReadFrom = Callable[[bytes, bytes], Iterable[Entry]]
"""Entries from a key on, in order, while they carry a prefix."""

URGENCY_BYTE = 5
LEAST_URGENT = 9
RANK_BITS = 32
RANK_MASK = (1 << RANK_BITS) - 1
LAST_FRONT = LEAST_URGENT << RANK_BITS | RANK_MASK
MIN_HEAD = 8
MAX_HEAD = 512
_WEIGHT_BITS = 9
"""A record counts as one entry for every 512 bytes of it that are begun."""


def front_of(key: bytes) -> int:
    """Return the urgency and rank in an entry's key as one number."""
    return int.from_bytes(key[URGENCY_BYTE : URGENCY_BYTE + 5])


class HeadBudget:
    """How many entries all heads together may hold, so that memory does not follow the queue.

    One with much data counts as several, or the heads of URLs with data would fill the memory.
    """

    __slots__ = ("left",)

    def __init__(self, entries: int) -> None:
        self.left = entries

    def share(self) -> int:
        """Return how many entries one refill may load."""
        return max(MIN_HEAD, min(MAX_HEAD, self.left))


class Line:
    """One class of one queue."""

    __slots__ = ("budget", "head", "hint", "most_urgent", "next_read", "prefix", "waiting")

    def __init__(self, queue: int, page_class: int, budget: HeadBudget) -> None:
        self.prefix = line_prefix(queue, page_class)
        self.next_read = self.prefix
        self.head: list[Entry] = []
        self.waiting = 0
        """Entries neither leased nor gone, on disk or in the head."""
        self.most_urgent = LEAST_URGENT
        """The most urgent there ever was."""
        self.hint = LAST_FRONT
        """What ``front`` says while the first entry is not in memory."""
        self.budget = budget

    def insert(self, key: bytes, record: bytes) -> None:
        """Account for an entry that begins to wait: just written, or given back by a lease."""
        if len(self.head) == self.waiting and self.budget.left > 0:
            # Nothing waits unread, so the head may grow at its end.
            if key >= self.next_read:
                self.next_read = key + b"\0"
            self._put(key, record)
        elif key < self.next_read:
            self._put(key, record)
        self.most_urgent = min(self.most_urgent, key[URGENCY_BYTE])
        front = front_of(key)
        self.hint = min(self.hint, front) if self.waiting else front
        self.waiting += 1

    def _put(self, key: bytes, record: bytes) -> None:
        head = self.head
        if head and key < head[-1][0]:
            insort(head, (key, record))
        else:
            head.append((key, record))
        self.budget.left -= 1 + (len(record) >> _WEIGHT_BITS)
        most = MAX_HEAD if self.budget.left > 0 else MIN_HEAD
        if len(head) > 2 * most:
            self._unload(most)

    def _unload(self, most: int) -> None:
        """Leave the far part of a head that grew at its front (depth-first) to the disk."""
        self.next_read = self.head[most][0]
        self.budget.left += _weights(self.head[most:])
        del self.head[most:]

    def urgency(self) -> int:
        """Return the first entry's urgency (0 is most urgent), or a lower bound of it."""
        return self.front() >> RANK_BITS

    def front(self) -> int:
        """Return the first entry's urgency and rank as one number, or a lower bound of it."""
        return front_of(self.head[0][0]) if self.head else self.hint

    def restore(self, waiting: int, most_urgent: int) -> None:
        """Take over what an earlier run left on disk."""
        self.waiting = waiting
        self.most_urgent = most_urgent
        self.hint = most_urgent << RANK_BITS

    def pop(self, read_from: ReadFrom, leased: Container[bytes]) -> Entry | None:
        """Take the first entry; None when none waits."""
        if not self.waiting:
            return None
        if not self.head:
            self._refill(read_from, leased)
        if not self.head:
            raise AssertionError(f"line {self.prefix.hex()} lost {self.waiting} entries")
        self.waiting -= 1
        entry = self.head.pop(0)
        self.budget.left += 1 + (len(entry[1]) >> _WEIGHT_BITS)
        return entry

    def _refill(self, read_from: ReadFrom, leased: Container[bytes]) -> None:
        share = room = self.budget.share()
        for key, record in read_from(self.next_read, self.prefix):
            self.next_read = key + b"\0"
            if key in leased:
                continue
            self.head.append((key, record))
            room -= _weight(record)
            if room <= 0:
                break
        self.budget.left -= share - room
        self.hint = front_of(self.head[0][0]) if self.head else 0

    def remove(self, key: bytes) -> None:
        """Account for a waiting entry that has just been deleted."""
        for at, entry in enumerate(self.head):
            if entry[0] == key:
                del self.head[at]
                self.budget.left += _weight(entry[1])
                break
        self.waiting -= 1

    def clear(self) -> None:
        """Account for the deletion of every waiting entry."""
        self.budget.left += _weights(self.head)
        self.head.clear()
        self.waiting = 0


def _weight(record: bytes) -> int:
    """Return how many entries a record counts as."""
    return 1 + (len(record) >> _WEIGHT_BITS)


def _weights(entries: Iterable[Entry]) -> int:
    return sum(_weight(record) for _, record in entries)
