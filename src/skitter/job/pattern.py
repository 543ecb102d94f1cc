"""Include and exclude patterns as one question: whether a link may be followed.

RE2 sets match every pattern in one pass of linear time, so that a job's rules cannot hang a
worker.
"""

from collections.abc import Sequence

import re2

_SET_MEMORY_BYTES = 64 * 1024 * 1024


class LinkFilter:
    """The judgement of a job's ``include`` and ``exclude``; the patterns must be valid."""

    __slots__ = ("_exclude", "_exclude_set", "_include_set")

    def __init__(self, include: Sequence[str], exclude: Sequence[str]) -> None:
        self._exclude = tuple(exclude)
        self._include_set = _compiled(include)
        self._exclude_set = _compiled(exclude)

    def refusal(self, url: str) -> str | None:
        """Return why ``url`` is not followed, or None when it may be."""
        if self._exclude_set is not None:
            hits = self._exclude_set.Match(url)
            if hits:
                return f"excluded by {self._exclude[min(hits)]}"
        if self._include_set is not None and not self._include_set.Match(url):
            return "no include pattern matches"
        return None


def _compiled(patterns: Sequence[str]) -> "re2.Set | None":
    if not patterns:
        return None
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _SET_MEMORY_BYTES
    compiled = re2.Set.SearchSet(options)
    for pattern in patterns:
        compiled.Add(pattern)
    compiled.Compile()
    return compiled
