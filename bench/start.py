"""How long ``skitter up`` takes to serve: ``python -m bench.start``.

From the start of the command to the first answer of its API, with as many workers as it takes by
itself: on a directory that is made then, on one that is there, and on a Redis.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

from bench.redis_server import redis_running
from bench.upped import asked, upped

WANTED_S = 3.0
REDIS_CORE = 1


def start_s(data: Path, *flags: str) -> float:
    """Return the seconds after which a service has answered."""
    begun = time.monotonic()
    with upped(data, *flags) as url:
        asked(url, "/v1/jobs")
        return time.monotonic() - begun


def tell(name: str, seconds: Sequence[float]) -> bool:
    """Print what was found; answers whether it is good enough."""
    half = median(seconds)
    print(f"{name}: median {half:.2f} s, max {max(seconds):.2f} s of {len(seconds)}")
    return half < WANTED_S


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    rounds = range(given.rounds)
    with tempfile.TemporaryDirectory() as home:
        folder = Path(home)
        good = [
            tell("a new directory", [start_s(folder / f"new{n}") for n in rounds]),
            tell("a directory that is there", [start_s(folder / "new0") for _ in rounds]),
        ]
        with redis_running(folder / "redis", core=REDIS_CORE) as redis:
            flags = ("--store", redis.url)
            shared = [start_s(folder / f"node{n}", *flags) for n in rounds]
        good.append(tell("a Redis", shared))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
