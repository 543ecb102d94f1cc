"""What a fetched page says to robots about itself: ``<meta name=robots>`` and X-Robots-Tag."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from skitter.politeness.robots import product_token

# "name: rest", where the name is one word that begins like a word: the "15:04:05" of a date
# is no agent.
_PREFIXED = re.compile(r"\s*(\*|[A-Za-z][^\s:,;=]*)\s*:\s*(.*)", re.DOTALL)

# Directives that take a value after a colon; any other "name:" scopes what follows to an agent.
_VALUED = frozenset({"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"})

_NOINDEX = frozenset({"noindex", "none"})
_NOFOLLOW = frozenset({"nofollow", "none"})
_NOIMAGES = frozenset({"noimageindex"})
_TELLING = _NOINDEX | _NOFOLLOW | _NOIMAGES


@dataclass(frozen=True, slots=True, kw_only=True)
class Directives:
    """What may be done with a page: keep it, follow its links."""

    noindex: bool = False
    nofollow: bool = False
    noimageindex: bool = False
    """The pictures on it are not to be taken."""
    reasons: tuple[str, ...] = ()
    """Where each was found, for a person."""


NO_DIRECTIVES = Directives()
"""What nearly every page gives, shared."""


def robots_directives(meta: Iterable[str], x_robots_tag: str | None, agent: str) -> Directives:
    """Combine what the page and its header say to ``agent``; the strictest word counts.

    ``meta`` holds directives, or whole ``content`` values; ``x_robots_tag`` is the header with
    repeated fields joined by commas. "all", "index" and "follow" lift nothing.
    """
    found = [("meta robots", word) for value in meta for word in _words(value)]
    if x_robots_tag:
        found += [("X-Robots-Tag", word) for word in _for_agent(x_robots_tag, agent)]
    if not found:
        return NO_DIRECTIVES
    telling = [pair for pair in found if pair[1] in _TELLING]
    if not telling:
        return NO_DIRECTIVES
    words = {word for _, word in telling}
    return Directives(
        noindex=not words.isdisjoint(_NOINDEX),
        nofollow=not words.isdisjoint(_NOFOLLOW),
        noimageindex=not words.isdisjoint(_NOIMAGES),
        reasons=tuple(dict.fromkeys(f"{place}: {word}" for place, word in telling)),
    )


def _words(value: str) -> Iterator[str]:
    return (word for part in value.split(",") if (word := part.strip().lower()))


def _for_agent(header: str, agent: str) -> Iterator[str]:
    """Yield the directives of the header that are for ``agent`` or for everyone.

    An agent's name scopes every directive up to the next name, as in "bot: noindex, nofollow".
    """
    ours = frozenset({"*", product_token(agent).lower()})
    applies = True
    for part in header.split(","):
        word = part
        prefixed = _PREFIXED.fullmatch(part)
        if prefixed is not None:
            name = prefixed[1].lower()
            if name in _VALUED:
                continue
            applies = name in ours
            word = prefixed[2]
        if applies:
            yield word.strip().lower()
