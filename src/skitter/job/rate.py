"""How many requests may be made in how much time, written as "20/60s"."""

import re
from dataclasses import dataclass
from typing import Final, Self

MOST_REQUESTS: Final = 10_000
LEAST_MS: Final = 1_000
MOST_MS: Final = 24 * 3600 * 1000

_UNITS_MS: Final = {"s": 1_000, "m": 60_000, "h": 3_600_000}
_WRITTEN = re.compile(r"([0-9]{1,9}) ?/ ?([0-9]{1,9}(?:\.[0-9]{1,3})?)([smh])")
_WANTED = 'wanted requests and a time, such as "20/60s", "500/10m" or "5/1h"'


@dataclass(frozen=True, slots=True)
class Rate:
    """At most ``most`` requests in any ``per_ms`` milliseconds."""

    most: int
    per_ms: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read "20/60s"; raises ``ValueError`` in words when it says nothing that can be kept."""
        found = _WRITTEN.fullmatch(text.strip())
        if found is None:
            raise ValueError(_WANTED)
        most = int(found[1])
        per_ms = round(float(found[2]) * _UNITS_MS[found[3]])
        if not 1 <= most <= MOST_REQUESTS:
            raise ValueError(f"wanted 1 to {MOST_REQUESTS} requests; {_WANTED}")
        if not LEAST_MS <= per_ms <= MOST_MS:
            raise ValueError(f"wanted a time from 1 second to 24 hours; {_WANTED}")
        return cls(most, per_ms)

    def __str__(self) -> str:
        """Return it as it is written."""
        seconds = f"{self.per_ms / 1000:.3f}".rstrip("0").rstrip(".")
        return f"{self.most}/{seconds}s"
