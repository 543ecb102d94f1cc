"""Writes the same records to every kind of sink until it is killed.

Arguments: the directory, the number of the run, and the JSON of what is safe: how many records, and
each sink's mark. Prints the last after every batch, as soon as it is true.
"""

import asyncio
import json
import random
import sys
from pathlib import Path

from outputs import READERS, batch_of, page

from skitter.pipeline.file_sink import FileSink
from skitter.pipeline.parquet import ParquetSink
from skitter.pipeline.parquet_table import GroupSize
from skitter.pipeline.sinks import make_sink

# So that parts are sealed all the time.
ParquetSink.GROUP = GroupSize(rows=20, bytes=1 << 20)


async def open_all(place: Path, marks: dict[str, str]) -> list[FileSink]:
    """Open every sink where its mark says, or as new ones."""
    sinks = [make_sink(place / f"pages{ending}", overwrite=not marks) for ending in READERS]
    for sink in sinks:
        mark = marks.get(sink.mark_name)
        marks[sink.mark_name] = (await sink.open(mark.encode() if mark else None)).decode()
    return sinks


async def main(place: Path, run: str, safe: int, marks: dict[str, str]) -> None:
    """Write until the end, which comes from outside."""
    rng = random.Random(run)
    sinks = await open_all(place, marks)
    while True:
        print(json.dumps([safe, marks]), flush=True)
        records = [page(safe + n, labels={"run": run}) for n in range(rng.randint(1, 9))]
        for sink in sinks:
            marks[sink.mark_name] = (await sink.write(batch_of(records))).decode()
        safe += len(records)
        if rng.random() < 0.1:
            for sink in sinks:
                await sink.close()
            sinks = await open_all(place, marks)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], *json.loads(sys.argv[3])))
