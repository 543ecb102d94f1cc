"""How many requests may be in flight, following the machine's load. Pure but for the reading.

The limit falls fast and rises slowly: when the loop lags, memory runs short or file descriptors
run out, a crawl that asks for less gets more done. Where others want the processors too, the crawl
gives way, but not below a quarter: most of its requests only wait for the network.
"""

import asyncio
import resource
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

LOAD_S = 1.0
LEAST = 4
LAG_HIGH_S = 1.0
LAG_LOW_S = 0.25
MEMORY_LOW = 0.05
MEMORY_OK = 0.10
FILES_HIGH = 0.85
FILES_OK = 0.70
CPU_HIGH = 0.85
CPU_OK = 0.60
CPU_LEAST_SHARE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One reading of the machine."""

    lag_s: float
    """How late the event loop ran a timer."""
    memory_free: float
    """Share of the machine's memory that is available."""
    files_used: float
    """Share of this process's file descriptors in use."""
    cpu_wait: float = 0.0
    """Share of the last ten seconds in which some task waited for a processor."""


def next_limit(current: int, most: int, load: Load) -> int:
    """Return the number of requests to allow after a reading."""
    if load.memory_free < MEMORY_LOW:
        return max(min(LEAST, most), current // 2)
    if load.lag_s > LAG_HIGH_S or load.files_used > FILES_HIGH:
        return max(min(LEAST, most), current * 3 // 4)
    if load.cpu_wait > CPU_HIGH:
        least = max(min(LEAST, most), most // CPU_LEAST_SHARE)
        return min(current, max(least, current * 3 // 4))
    return min(most, current + max(1, current // 8)) if _is_calm(load) else current


def _is_calm(load: Load) -> bool:
    return (
        load.lag_s < LAG_LOW_S
        and load.memory_free > MEMORY_OK
        and load.files_used < FILES_OK
        and load.cpu_wait < CPU_OK
    )


def read_load(lag_s: float) -> Load:
    """Read the machine's state; a reading that cannot be had counts as calm."""
    return Load(
        lag_s=lag_s,
        memory_free=_memory_free(),
        files_used=_files_used(),
        cpu_wait=_cpu_wait(),
    )


def _memory_free() -> float:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return 1.0
    found = {
        name: int(rest.split()[0]) for name, _, rest in (line.partition(":") for line in lines)
    }
    return found.get("MemAvailable", 1) / max(1, found.get("MemTotal", 1))


def _cpu_wait() -> float:
    """Read the kernel's pressure figure: "some avg10=12.34 avg60=..." in per cent."""
    try:
        words = Path("/proc/pressure/cpu").read_text().split()
        return float(words[1].partition("=")[2]) / 100
    except (OSError, IndexError, ValueError):
        return 0.0


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


async def loads() -> AsyncIterator[Load]:
    """Yield the machine's load about once a second."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + LOAD_S
        await asyncio.sleep(LOAD_S)
        yield read_load(max(0.0, loop.time() - due))
