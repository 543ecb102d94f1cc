"""Which seen-set a store has: chosen when it is made, kept as long as it lives."""

from pathlib import Path

import msgspec

from skitter.errors import DataDirError
from skitter.frontier.embedded.rocks import Rocks
from skitter.frontier.embedded.seen.base import SeenSet
from skitter.frontier.embedded.seen.exact import ExactSeen
from skitter.frontier.model import SeenOptions

ROW = b"seen"
FILE = "seen.bloom"

_decode = msgspec.json.Decoder(SeenOptions).decode


def open_seen(
    rocks: Rocks, path: Path, wanted: SeenOptions | None, secret: bytes, *, made: bool
) -> SeenSet:
    """Open the seen-set of the store in ``path``; ``made`` says whether the store is older.

    None for ``wanted`` takes the one that is there, and an exact one where there is none.
    Raises ``DataDirError``, changing nothing, when the store has another one than is wanted.
    """
    kept = rocks.get(ROW)
    held = _decode(kept) if kept is not None else SeenOptions()
    options = wanted or held
    if made and options.kind != held.kind:
        raise DataDirError(
            f"{path}: remembers known URLs with seen = {held.kind}; wanted seen = {options.kind}:"
            f" go on with {held.kind}, or start over with --fresh"
        )
    if options.kind == "exact":
        return ExactSeen(rocks)
    # numpy, which the filter needs, is of no use to any other crawl.
    from skitter.frontier.embedded.seen.bloom import BloomSeen  # noqa: PLC0415
    from skitter.frontier.embedded.seen.file import create  # noqa: PLC0415

    if not made:
        create(path / FILE, options, secret)
    return BloomSeen(rocks, path / FILE, options, secret)


def seen_row(seen: SeenSet) -> bytes:
    """Return what the store keeps of the choice, under ``ROW``."""
    return msgspec.json.encode(seen.options)
