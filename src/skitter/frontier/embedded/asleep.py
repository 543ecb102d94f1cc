"""Hosts that have nothing to do: out of memory but for their numbers.

Everything else of them is in their rows, from which they are made anew when they are needed. One
entry holds a host and its queues, packed, since a crawl of the whole web meets millions.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from skitter.types import HostKey, JobNumber

_HOST = struct.Struct(">I")
_QUEUE = struct.Struct(">II")


class Numbers(NamedTuple):
    """Under which numbers the rows of a host and of its queues are stored."""

    host: int
    queues: list[tuple[JobNumber, int]]
    """Job and number of each, in the order in which they are served."""


class Asleep:
    """The numbers of sleeping hosts by name."""

    def __init__(self) -> None:
        self._packed: dict[HostKey, bytes] = {}

    def __len__(self) -> int:
        return len(self._packed)

    def __iter__(self) -> Iterator[HostKey]:
        return iter(self._packed)

    def lay(self, name: HostKey, host: int, queues: Iterable[tuple[JobNumber, int]] = ()) -> None:
        """Take in a host that is to sleep."""
        self._packed[name] = _HOST.pack(host) + b"".join(_QUEUE.pack(*pair) for pair in queues)

    def add_queue(self, name: HostKey, job: JobNumber, number: int) -> None:
        """Take in another queue of a host that sleeps."""
        self._packed[name] += _QUEUE.pack(job, number)

    def numbers(self, name: HostKey) -> Numbers | None:
        """Return the numbers of a host; None when it does not sleep."""
        packed = self._packed.get(name)
        if packed is None:
            return None
        pairs = _QUEUE.iter_unpack(packed[_HOST.size :])
        return Numbers(_HOST.unpack_from(packed)[0], [(JobNumber(j), n) for j, n in pairs])

    def queue(self, job: JobNumber, name: HostKey) -> int | None:
        """Return the number of a queue; None when it does not sleep."""
        packed = self._packed.get(name)
        if packed is None:
            return None
        return next(
            (number for j, number in _QUEUE.iter_unpack(packed[_HOST.size :]) if j == job), None
        )

    def wake(self, name: HostKey) -> None:
        """Forget a host that sleeps no longer."""
        del self._packed[name]

    def of_job(self, job: JobNumber) -> Iterator[tuple[HostKey, int]]:
        """Yield the sleeping hosts of a job, with the numbers of their queues."""
        for name in self._packed:
            number = self.queue(job, name)
            if number is not None:
                yield name, number

    def drop_job(self, job: JobNumber) -> None:
        """Forget the queues of a job; their hosts sleep on."""
        for name in [name for name, _ in self.of_job(job)]:
            found = self.numbers(name)
            assert found is not None
            self.lay(name, found.host, [pair for pair in found.queues if pair[0] != job])
