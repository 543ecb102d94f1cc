"""One listener: where it stands, and what it is sent next."""

import asyncio
from collections import deque
from typing import Final

from skitter.api.live.channel import Channel, Piece
from skitter.api.live.history import Missed

RATE: Final = 10
"""Messages a second that one listener is sent at most."""


class Listener:
    """Somebody who listens to a channel, and is first told what was missed."""

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self._place = channel.end
        self._missed = Missed(deque(), 0)
        self._awake = asyncio.Event()
        self._sent: deque[tuple[float, int]] = deque()
        """When something was sent in the last second, and how many messages."""

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

    def take(self, most: int, now: float) -> Piece:
        """Return what to send now, ``most`` messages at once; it counts as sent.

        However late it was woken before, there are never more than ``RATE`` in a second.
        """
        room = min(most, RATE - self._in_a_second(now))
        if room <= 0:
            return Piece(b"", 0, 0, self._place)
        if self._missed.events:
            piece = self._repeated(room)
        else:
            piece = self.channel.piece(self._place, room)
            self._place = piece.place
        if piece.messages:
            self._sent.append((now, piece.messages))
        return piece

    def _in_a_second(self, now: float) -> int:
        while self._sent and self._sent[0][0] <= now - 1:
            self._sent.popleft()
        return sum(n for _, n in self._sent)

    def _repeated(self, most: int) -> Piece:
        events, dropped = self._missed
        count = min(most, len(events))
        first = events.popleft().message(dropped)
        data = first + b"".join(events.popleft().message() for _ in range(count - 1))
        self._missed = Missed(events, 0)
        return Piece(data, count, dropped, self._place)
