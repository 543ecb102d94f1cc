"""Limits over all members: rate windows, tokens, and values shared for a while."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from skitter.frontier.limits import Permit, TokenWish, Wish
from skitter.frontier.redis.core import Ask, Core
from skitter.url.partition import tag_of

MOST_TOGETHER: Final = 128
"""Wishes that one script is asked about."""

_encode = msgspec.msgpack.Encoder().encode


class Windows:
    """What is asked of the tag of a domain, or of whatever else has a name."""

    def __init__(self, core: Core) -> None:
        self._core = core

    async def permit(self, wanted: Sequence[Wish]) -> list[Permit]:
        """Grant what rate windows allow.

        A replica has heard of the grants before they are used, unless it does not answer: whoever
        follows this server must not give them once more.
        """
        answers = await self._ask("permit", (), wanted, lambda wish: wish.domain, copied=True)
        return [Permit(granted=answer > 0, at_ms=abs(answer)) for answer in answers]

    async def tokens(self, holder: str, wanted: Sequence[TokenWish], ttl_ms: int) -> list[int]:
        """Take, keep or give back tokens."""
        return await self._ask("tokens", (holder, ttl_ms), wanted, lambda wish: wish.name)

    async def _ask(
        self,
        verb: str,
        words: tuple[str | int, ...],
        wanted: Sequence[Any],
        name: Callable[[Any], str],
        *,
        copied: bool = False,
    ) -> list[int]:
        """Ask the scripts of all tags concerned; answers are in the order of the wishes."""
        tags: dict[int, list[int]] = {}
        for at, wish in enumerate(wanted):
            tags.setdefault(tag_of(name(wish)), []).append(at)
        parts = [
            (tag, places[first : first + MOST_TOGETHER])
            for tag, places in tags.items()
            for first in range(0, len(places), MOST_TOGETHER)
        ]
        asked: list[Ask] = [
            (tag, verb, (*words, _encode([wanted[at] for at in places]))) for tag, places in parts
        ]
        found = [0] * len(wanted)
        for (_, places), answers in zip(
            parts, await self._core.call_many(asked, copied=copied), strict=True
        ):
            for at, answer in zip(places, answers, strict=True):
                found[at] = answer
        return found

    async def share(self, values: Mapping[str, bytes], ttl_ms: int) -> None:
        """Let others have values for a while; the server forgets them then."""
        until = self._core.clock.now_ms() + ttl_ms
        # A time that a test has given is not the server's.
        lasts = () if self._core.virtual else ("PX", ttl_ms)
        await self._core.nodes.run_many(
            [
                (key, ("SET", key, b"%d %b" % (until, value), *lasts))
                for key, value in ((self._key(name), value) for name, value in values.items())
            ]
        )

    async def shared(self, names: Sequence[str]) -> list[bytes | None]:
        """Return the values that are there, in order."""
        keys = [self._key(name) for name in names]
        found = await self._core.nodes.run_many([(key, ("GET", key)) for key in keys])
        now_ms = self._core.clock.now_ms()
        return [_live(kept, now_ms) for kept in found]

    def _key(self, name: str) -> str:
        return f"{self._core.keys.prefix(tag_of(name))}N:{name}"


def _live(kept: bytes | None, now_ms: int) -> bytes | None:
    if kept is None:
        return None
    until, _, value = kept.partition(b" ")
    return value if int(until) > now_ms else None
