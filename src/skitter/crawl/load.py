"""How many requests may be in flight, following the machine's load. Pure but for the reading.

The limit falls fast and rises slowly: when the loop lags, memory runs short or file descriptors
run out, a crawl that asks for less gets more done.
"""

import resource
from dataclasses import dataclass
from pathlib import Path

LEAST = 4
LAG_HIGH_S = 1.0
LAG_LOW_S = 0.25
MEMORY_LOW = 0.05
MEMORY_OK = 0.10
FILES_HIGH = 0.85
FILES_OK = 0.70


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One reading of the machine."""

    lag_s: float
    """How late the event loop ran a timer."""
    memory_free: float
    """Share of the machine's memory that is available."""
    files_used: float
    """Share of this process's file descriptors in use."""


def next_limit(current: int, most: int, load: Load) -> int:
    """Return the number of requests to allow after a reading."""
    if load.memory_free < MEMORY_LOW:
        return max(min(LEAST, most), current // 2)
    if load.lag_s > LAG_HIGH_S or load.files_used > FILES_HIGH:
        return max(min(LEAST, most), current * 3 // 4)
    calm = load.lag_s < LAG_LOW_S and load.memory_free > MEMORY_OK and load.files_used < FILES_OK
    return min(most, current + max(1, current // 8)) if calm else current


def read_load(lag_s: float) -> Load:
    """Read the machine's state; a reading that cannot be had counts as calm."""
    return Load(lag_s=lag_s, memory_free=_memory_free(), files_used=_files_used())


def _memory_free() -> float:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return 1.0
    found = {
        name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)
    }
    return found.get("MemAvailable", 1) / max(1, found.get("MemTotal", 1))


def _files_used() -> float:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        used = sum(1 for _ in Path("/proc/self/fd").iterdir())
    except OSError:
        return 0.0
    return used / max(1, soft)


def raise_file_limit() -> int:
    """Allow as many open files as the system lets this process have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
