"""Writes an archive in a loop until it is killed; prints the mark of each batch that is safe."""

import asyncio
import json
import sys
from pathlib import Path

from archiving import AT_MS, capture

from skitter.pipeline.archive.model import Capture
from skitter.pipeline.archive.writer import Archive


def page(number: int) -> Capture:
    """Return a capture of its own for each number; every fifth repeats an earlier body."""
    same = number - 3 if number % 5 == 4 else number
    return capture(f"https://www.example.com/{number}", b"%d " % same * 3000, at_ms=AT_MS + number)


async def main(place: Path, mark: bytes | None, start: int) -> None:
    archive = Archive(place, job="kill", max_file_bytes=60_000)
    say({"mark": (await archive.open(mark)).decode(), "locations": []})
    while True:
        batch = [page(number) for number in range(start, start + 8)]
        locations, mark = await archive.write(batch)
        await archive.sync()
        start += len(batch)
        say({"mark": mark.decode(), "locations": locations})


def say(what: object) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    directory, given, first = sys.argv[1:]
    asyncio.run(main(Path(directory), given.encode() or None, int(first)))
