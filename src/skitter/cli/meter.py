"""Speed over a sliding window, and what can honestly be said of the time left."""

from collections import deque

WINDOW_S = 10.0
_MIN_SPAN_S = 2.0


class Meter:
    """Looks at two counters from time to time."""

    __slots__ = ("_samples",)

    def __init__(self) -> None:
        self._samples: deque[tuple[float, int, int]] = deque()

    def add(self, now: float, pages: int, queued: int) -> None:
        """Take one look at the counters; ``now`` must not go back."""
        self._samples.append((now, pages, queued))
        while len(self._samples) > 2 and now - self._samples[1][0] >= WINDOW_S:
            self._samples.popleft()

    @property
    def speed(self) -> float:
        """Pages per second over the window."""
        span, pages, _ = self._change()
        return pages / span if span > 0 else 0.0

    def time_left(self, to_limit: int | None = None) -> float | None:
        """Return the seconds left, or None when nobody can know.

        A queue that grows says nothing about the end, unless the job stops after ``to_limit``
        more pages and at least as many wait; a queue that shrinks ends when it is empty.
        """
        span, pages, queue_change = self._change()
        if span < _MIN_SPAN_S or pages <= 0:
            return None
        queued = self._samples[-1][2]
        if to_limit is not None and queued >= to_limit:
            return to_limit * span / pages
        if queue_change >= 0:
            return None
        return queued * span / -queue_change

    def _change(self) -> tuple[float, int, int]:
        """Return what the window spans: seconds, pages and growth of the queue."""
        if len(self._samples) < 2:
            return 0.0, 0, 0
        first, last = self._samples[0], self._samples[-1]
        return last[0] - first[0], last[1] - first[1], last[2] - first[2]
