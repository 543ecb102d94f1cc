"""When a message that did not arrive is sent again.

Soon at first, then more and more seldom, and never at the same time as others: receivers that come
back are not run over by everybody at once. After a day a message is given up.
"""

from typing import Final

FIRST_S: Final = 1.0
LONGEST_S: Final = 3_600.0
GIVE_UP_S: Final = 86_400.0
SPREAD: Final = 0.5


def delay_s(failures: int, chance: float) -> float:
    """Return how long to wait after so many failures in a row; ``chance`` is from 0 to 1."""
    # A higher power would be too large for a float after weeks of failures.
    full = min(LONGEST_S, FIRST_S * 2.0 ** min(failures - 1, 30))
    return full * (1 - SPREAD * chance)


def is_given_up(first_try_ms: int, now_ms: int) -> bool:
    """Tell whether a message has been tried for long enough."""
    return now_ms - first_try_ms >= GIVE_UP_S * 1000
