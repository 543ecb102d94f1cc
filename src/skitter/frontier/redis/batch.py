"""The acks of one call to the store, and how they are cut into calls of a script."""

from collections.abc import Iterator, Sequence

from skitter.frontier.model import Ack, Link
from skitter.url.partition import TAGS

MOST_ACKS = 16
MOST_LINKS = 800
"""Of one call: about three milliseconds of a server."""


class Batch:
    """The acks of one call, each lease once."""

    def __init__(self, acks: Sequence[Ack]) -> None:
        self.live: dict[int, Ack] = {}
        self.stale: list[int] = []
        self.refused: list[Ack] = []
        self.accepted: list[Ack] = []
        self.near: dict[int, list[Link]] = {}
        """Links that are queued in the step that ends their lease, by lease."""
        self.orders: dict[int, int] = {}
        """The orders of what leases bring, by lease, where that matters."""
        for ack in acks:
            if ack.lease.id in self.live:
                self.stale.append(ack.lease.id)
            else:
                self.live[ack.lease.id] = ack

    def refuse(self, ack: Ack) -> None:
        """Take note that a lease had ended."""
        del self.live[ack.lease.id]
        self.stale.append(ack.lease.id)
        self.refused.append(ack)

    def by_tag(self) -> dict[int, list[Ack]]:
        """Return the acks by the tag of their lease."""
        found: dict[int, list[Ack]] = {}
        for ack in self.live.values():
            found.setdefault(ack.lease.slot % TAGS, []).append(ack)
        return found


def chunks(acks: Sequence[Ack], batch: Batch) -> Iterator[list[Ack]]:
    """Cut acks into calls that are not too long for a server."""
    chunk: list[Ack] = []
    links = 0
    for ack in acks:
        n = len(batch.near.get(ack.lease.id, ()))
        if chunk and (len(chunk) == MOST_ACKS or links + n > MOST_LINKS):
            yield chunk
            chunk, links = [], 0
        chunk.append(ack)
        links += n
    if chunk:
        yield chunk
