"""One listener: where it stands, and what it is sent next."""

import asyncio
from collections import deque

from skitter.api.live.channel import Channel, Piece
from skitter.api.live.history import Missed


class Listener:
    """Somebody who listens to a channel, and is first told what was missed."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self._place = channel.end
        self._missed = Missed(deque(), 0)
        self._awake = asyncio.Event()

    @property
    def is_behind(self) -> bool:
        """Whether something waits to be sent."""
        return self._place < self.channel.end or bool(self._missed.events)

    def repeat(self, missed: Missed) -> None:
        """Let it be told of what happened before it came."""
        self._missed = missed

    def wake(self) -> None:
        """Let it send what waits, or a sign of life."""
        self._awake.set()

    async def wait(self) -> None:
        """Wait until it is woken."""
        await self._awake.wait()
        self._awake.clear()

    def skip(self) -> None:
        """Let everything pass that has happened: it was read elsewhere."""
        self._place = self.channel.end

    def take(self, most: int) -> Piece:
        """Return what to send now, ``most`` messages at once; it counts as sent."""
        if self._missed.events:
            return self._repeated(most)
        piece = self.channel.piece(self._place, most)
        self._place = piece.place
        return piece

    def _repeated(self, most: int) -> Piece:
        events, dropped = self._missed
        count = min(most, len(events))
        first = events.popleft().message(dropped)
        data = first + b"".join(events.popleft().message() for _ in range(count - 1))
        self._missed = Missed(events, 0)
        return Piece(data, count, dropped, self._place)
