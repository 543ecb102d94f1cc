"""A clock that moves only when a test says so."""

DEFAULT_NOW_MS = 1_750_000_000_000
DEFAULT_BOOT_MS = 1_000_000


class VirtualClock:
    """A ``Clock`` standing still between calls of ``advance``.

    Time is kept in whole milliseconds, so that many small steps add up to exactly one large one.
    """

    def __init__(self, now_ms: int = DEFAULT_NOW_MS, boot_ms: int = DEFAULT_BOOT_MS) -> None:
        self._now_ms = now_ms
        self._boot_ms = boot_ms

    def now_ms(self) -> int:
        """Return milliseconds since the epoch."""
        return self._now_ms

    def boot(self) -> float:
        """Return seconds since a start of no meaning."""
        return self._boot_ms / 1000

    def advance(self, seconds: float) -> None:
        """Let ``seconds`` pass on both clocks, rounded to the millisecond."""
        if seconds < 0:
            raise ValueError(f"time only goes forward, got {seconds} s")
        step = round(seconds * 1000)
        self._now_ms += step
        self._boot_ms += step
