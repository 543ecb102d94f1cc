"""Named values of the members: where files end, what robots.txt files say, what a crawl learned.

All are in one hash, so that marks that are put together are there together. The rules of
robots.txt files and the histories of pages are not: there are many of them, so they are spread
over the tags.
"""

import re
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Final

from skitter.frontier.redis.keys import SPREAD, Keys
from skitter.frontier.redis.nodes import Nodes
from skitter.url.partition import TAGS

SCAN_STEP: Final = 1_000
"""Fields of a hash asked for at a time."""
_SCANS_TOGETHER = 32
_GLOB = re.compile(r"[*?\[\]\\]")


class Marks:
    """Puts and finds marks."""

    def __init__(self, nodes: Nodes, keys: Keys) -> None:
        self._nodes = nodes
        self._keys = keys

    async def put(self, marks: Mapping[str, bytes], news: Mapping[str, bytes]) -> None:
        """Write marks, and news, of which every member is told by a new version.

        The version comes last: whoever has seen it finds the news.
        """
        together = {**marks, **news}
        if not together:
            return
        await self._nodes.run_many(self._writes(together))
        if news:
            await self._nodes.run(self._keys.version, "INCR", self._keys.version)

    def _writes(self, marks: Mapping[str, bytes]) -> list[tuple[str, tuple[Any, ...]]]:
        fields: dict[str, list[str | bytes]] = defaultdict(list)
        for name, value in marks.items():
            fields[self._key_of(name)] += (name, value)
        return [(key, ("HSET", key, *words)) for key, words in fields.items()]

    def _key_of(self, name: str) -> str:
        tag = self._keys.tag_of_mark(name)
        return self._keys.marks if tag is None else self._keys.robots(tag)

    async def get(self, name: str) -> bytes | None:
        """Return one mark."""
        key = self._key_of(name)
        found: bytes | None = await self._nodes.run(key, "HGET", key, name)
        return found

    async def get_many(self, names: Sequence[str]) -> list[bytes | None]:
        """Return many marks, in order."""
        keys = [self._key_of(name) for name in names]
        wanted = [(key, ("HGET", key, name)) for key, name in zip(keys, names, strict=True)]
        found: list[bytes | None] = await self._nodes.run_many(wanted) if wanted else []
        return found

    async def all(self, prefix: str) -> dict[str, bytes]:
        """Return the marks whose names begin with ``prefix``."""
        spread = prefix.startswith(SPREAD)
        hashes = [] if spread else [self._keys.marks]
        if spread or any(kind.startswith(prefix) for kind in SPREAD):
            hashes += [self._keys.robots(tag) for tag in range(TAGS)]
        match = _GLOB.sub(r"\\\g<0>", prefix) + "*"
        found: dict[str, bytes] = {}
        async for _, fields in scan_hashes(self._nodes, hashes, match):
            found |= {name.decode(): value for name, value in fields.items()}
        return found


async def scan_hashes(
    nodes: Nodes, hashes: Sequence[str], match: str = "*"
) -> AsyncIterator[tuple[str, dict[bytes, bytes]]]:
    """Yield the fields of hashes piece by piece, each with the key of its hash.

    A field that is there all the time is found, maybe more than once. No server is asked for more
    at once than it answers in about a millisecond.
    """
    for first in range(0, len(hashes), _SCANS_TOGETHER):
        cursors = dict.fromkeys(hashes[first : first + _SCANS_TOGETHER], b"0")
        while cursors:
            step = [
                (key, ("HSCAN", key, cursor, "MATCH", match, "COUNT", SCAN_STEP))
                for key, cursor in cursors.items()
            ]
            answers = await nodes.run_many(step)
            for key, (cursor, words) in zip(list(cursors), answers, strict=True):
                if words:
                    yield key, dict(zip(words[::2], words[1::2], strict=True))
                if cursor == b"0":
                    del cursors[key]
                else:
                    cursors[key] = cursor
