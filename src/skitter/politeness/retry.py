"""When to try a URL again that failed for a passing reason."""

import random
from dataclasses import dataclass

_MAX_DOUBLINGS = 60


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and after which waits a URL is tried."""

    tries: int = 4
    """Attempts in all, the first one included."""
    base_s: float = 2.0
    """Wait after the first failure."""
    factor: float = 2.0
    """How much longer each further wait is."""
    cap_s: float = 300.0
    """The longest wait, before jitter."""
    jitter: float = 0.2
    """Up to this share is added at random, so that failures do not come back together."""

    def next_try_ms(self, attempts_done: int, now_ms: int, rng: random.Random) -> int | None:
        """Return when to try again after ``attempts_done`` failures, or None to give up."""
        if attempts_done >= self.tries:
            return None
        exponent = min(max(attempts_done - 1, 0), _MAX_DOUBLINGS)
        wait_s = min(self.cap_s, self.base_s * self.factor**exponent)
        return now_ms + round(wait_s * (1 + self.jitter * rng.random()) * 1000)
