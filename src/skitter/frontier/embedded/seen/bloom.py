"""The seen-set as a counting Bloom filter in a mapped file.

A URL must never count as known unless its queue entry is safe, or it would be lost; and a kill or
a power cut must not leave half of it in the filter, or forgetting it later would take out what
belongs to others. So a step's keys go into a layer in memory and into a row of the step's own
write batch. When enough have gathered they are settled, in a thread: the bytes that they change
are worked out and written as a patch, in a file of their own; the store says that the patch
counts and deletes the rows, in one batch; its log is synced; only then the mapped bytes are set.
The kernel may write a mapped page to the disk at any moment, and whatever it has written when the
power fails, writing the patches again on opening makes the filter exact. Now and then the mapped
file itself is synced, and the patches go.
"""

import asyncio
import logging
from collections.abc import Sequence
from pathlib import Path

from rocksdict import WriteBatch

from skitter.errors import DataDirError, FrontierError
from skitter.frontier.embedded.change import Change
from skitter.frontier.embedded.layout import ENDED, MAYBE, u64
from skitter.frontier.embedded.rocks import Rocks
from skitter.frontier.embedded.seen.counting import CountingBloom, Patch
from skitter.frontier.embedded.seen.file import BloomFile
from skitter.frontier.embedded.seen.journal import (
    PROGRESS,
    STEP,
    Layer,
    Progress,
    number_of,
    pack_step,
    stored_progress,
    stored_steps,
)
from skitter.frontier.embedded.seen.patches import PatchLog
from skitter.frontier.model import SeenFacts, SeenOptions

SETTLE_AT = 8_192
"""Keys that wait in memory before they are settled."""
HOLD_AT = 4 * SETTLE_AT
"""Keys that may gather while a slow disk is waited for; then the frontier waits too."""
SYNC_AT = 32 * SETTLE_AT
"""Keys settled before the file is synced: a sync writes most of the file, wherever they fall."""

log = logging.getLogger(__name__)


class BloomSeen:
    """Implements ``SeenSet``; rows are kept only of URLs that ended."""

    marks_waiting = False

    def __init__(self, rocks: Rocks, path: Path, options: SeenOptions, secret: bytes) -> None:
        self.options = options
        self.settle_at, self.hold_at, self.sync_at = SETTLE_AT, HOLD_AT, SYNC_AT
        self._rocks = rocks
        self._file = BloomFile(path, options, secret)
        self._filter = CountingBloom(self._file.shape, self._file.array)
        self._patches = PatchLog(path.with_suffix(".patches"))
        self._progress = stored_progress(rocks)
        self._take_patches()
        self._unsynced = 0
        """Keys settled since the file was synced."""
        self._top = stored_steps(rocks)
        self._next_step = number_of(self._top.rows[-1]) + 1 if self._top.rows else 0
        self._settling: Layer | None = None
        self._patch: Patch | None = None
        """The bytes of the settling layer, once they are written as a patch that counts."""
        self._task: asyncio.Task[None] | None = None
        self._warned = False
        self._warn_if_full()

    def _take_patches(self) -> None:
        """Bring the file to where the store says it is."""
        try:
            _, patched, synced = self._progress
            for patch in list(self._patches.read(synced + 1, patched)):
                self._filter.apply(patch)
        except DataDirError:
            self._let_go()
            raise

    @property
    def urls(self) -> int:
        """How many URLs are in the filter, or on their way into it."""
        settling = self._settling.growth if self._settling and not self._patch else 0
        return self._progress.urls + settling + self._top.growth

    def known(self, keys: Sequence[bytes]) -> list[bool]:
        """Tell which keys the filter holds; a small share of the others is named, too."""
        if not keys:
            return []
        found: list[bool] = self._filter.contains(b"".join(keys)).tolist()
        for layer in (self._settling, self._top):
            if layer is not None and layer.added:
                added = layer.added
                found = [has or key in added for has, key in zip(found, keys, strict=True)]
            if layer is not None and layer.removed:
                removed = layer.removed
                found = [has and key not in removed for has, key in zip(found, keys, strict=True)]
        return found

    def state(self, key: bytes) -> bytes | None:
        """Return the row of a URL that ended; of another only whether the filter holds it."""
        row = self._rocks.get_one("seen", key)
        if row is not None:
            return row
        return MAYBE if self.known([key])[0] else None

    def add(self, change: Change, key: bytes, state: bytes) -> None:
        """Plan that an unknown URL becomes known."""
        change.added.append(key)
        self.move(change, key, state)

    def move(self, change: Change, key: bytes, state: bytes) -> None:
        """Plan a row for a URL that ends."""
        if state in ENDED:
            change.put("seen", key, state)

    def drop(self, change: Change, key: bytes) -> None:
        """Plan that a URL becomes unknown."""
        change.delete("seen", key)
        change.removed.append(key)

    def seal(self, change: Change) -> None:
        """Put the keys of a step in its own write batch."""
        if change.added or change.removed:
            row = STEP + u64.pack(self._next_step)
            change.put_meta(row, pack_step(change.added, change.removed))

    def follow(self, change: Change) -> None:
        """Take the keys of a written step."""
        if change.added or change.removed:
            row = STEP + u64.pack(self._next_step)
            self._next_step += 1
            self._top.take(change.added, change.removed, row)
            self._warn_if_full()

    def _warn_if_full(self) -> None:
        if self._warned or self.urls <= self.options.expected:
            return
        self._warned = True
        shape, urls = self._filter.shape, self.urls
        log.warning(
            "the Bloom filter of known URLs holds %s, more than the %s it was made for: new URLs"
            " are taken for known and passed over at a rate of %s, and of %s at twice as many;"
            " to keep the rate, start over with --fresh and a larger expected count",
            f"{urls:,}",
            f"{self.options.expected:,}",
            _share(shape.rate(urls)),
            _share(shape.rate(2 * urls)),
        )

    async def tend(self) -> None:
        """Settle what has gathered, in the background unless too much has."""
        if self._task is None and len(self._top) >= self.settle_at:
            self._task = asyncio.create_task(self._settle())
        task = self._task
        if task is None or (not task.done() and len(self._top) < self.hold_at):
            return
        try:
            await asyncio.shield(task)
        finally:
            if task.done():
                self._task = None

    async def _settle(self) -> None:
        """Bring one layer into the filter; after a failure the next call goes on with it.

        Layers change places on the loop, where ``known`` runs, so that every key is found in a
        layer or in the filter at any moment.
        """
        if self._settling is None:
            self._settling, self._top = self._top, Layer()
        await asyncio.to_thread(self._bring_in, self._settling)
        self._unsynced += len(self._settling)
        self._settling = self._patch = None
        if self._unsynced >= self.sync_at:
            await asyncio.to_thread(self._sync_file)

    def _bring_in(self, layer: Layer) -> None:
        if self._patch is None:
            patch = self._filter.patch(b"".join(layer.added), b"".join(layer.removed))
            self._write_patch(layer, patch)
            self._patch = patch
        self._rocks.sync_now()
        self._filter.apply(self._patch)

    def _write_patch(self, layer: Layer, patch: Patch) -> None:
        """Put a patch in the place of the steps that it follows from."""
        urls, patched, synced = self._progress
        self._patches.append(patched + 1, patch)
        progress = Progress(urls + layer.growth, patched + 1, synced)
        batch = WriteBatch(raw_mode=True)
        batch.put(PROGRESS, progress.pack())
        for row in layer.rows:
            batch.delete(row)
        self._rocks.write(batch)
        self._progress = progress

    def _sync_file(self) -> None:
        """Make the file itself safe; the patches up to here are needed no more."""
        self._file.sync()
        progress = self._progress._replace(synced=self._progress.patched)
        self._rocks.put_meta({PROGRESS: progress.pack()})
        # Were the patches gone and this were not, the next opening would miss them.
        self._rocks.sync_now()
        self._patches.clear()
        self._progress = progress
        self._unsynced = 0

    async def close(self) -> None:
        """Settle everything, sync the file and unmap it; what fails is done on opening again."""
        task, self._task = self._task, None
        try:
            if task is not None:
                await task
            while self._settling is not None or self._top.rows:
                await self._settle()
            if self._progress.synced < self._progress.patched:
                await asyncio.to_thread(self._sync_file)
        except FrontierError as error:
            log.info("the Bloom filter is left to the next opening: %s", error)
        finally:
            self._let_go()

    def _let_go(self) -> None:
        del self._filter
        self._file.close()
        self._patches.close()

    def facts(self, known: int) -> SeenFacts:
        """Describe the filter; ``known`` is what it should hold, and does."""
        del known
        shape, urls = self._filter.shape, self.urls
        return SeenFacts("bloom", urls, self.options.expected, shape.rate(urls), shape.size)


def _share(rate: float) -> str:
    return f"1 in {round(1 / rate):,}" if rate < 0.1 else f"{rate:.0%}"
