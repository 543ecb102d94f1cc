"""What can be held against a URL by its looks alone."""

from collections import Counter
from dataclasses import dataclass

from skitter.crawl.traps.shape import Shape


@dataclass(frozen=True, slots=True, kw_only=True)
class TrapLimits:
    """When a part of a site is taken to be endless."""

    enabled: bool = True
    """Whether anything is cut at all."""
    budget: int = 3
    """Pages in a row that may bring nothing before the links among them are cut."""
    doubled_budget: int = 150
    """The same where a site's ordinary pages look alike, too, or there are hardly any."""
    max_segments: int = 24
    """Directories in a path."""
    max_path_chars: int = 1_000
    max_query_chars: int = 1_500
    max_params: int = 24
    """Parameters in a query."""
    max_repeats: int = 3
    """How often one name may come in a path."""
    static_depth: int | None = None
    """Links from an entry to a page without a query, at most; None for no limit."""
    dynamic_depth: int | None = None
    """Links from an entry to a page with a query, at most; None for no limit."""


CIRCLES = "the path goes in circles"
LONG_URL = 400
"""Characters beyond which a URL is measured before it is taken apart."""
_LONGEST_ROUND = 8


def too_far(shape: Shape, depth: int, limits: TrapLimits) -> str | None:
    """Return why a URL is not followed whoever links to it; None when nothing speaks against it."""
    why = _too_much(shape.path, shape.query, limits)
    if why is None and shape.folded:
        why = _circles(shape, limits)
    return why or _too_deep(shape, depth, limits)


def too_long(url: str, limits: TrapLimits) -> str | None:
    """Return what of a URL is more than the limits allow, without looking at it closely."""
    path, _, query = url[url.find("/", 8) :].partition("?")
    return _too_much(path, query, limits)


def _too_much(path: str, query: str, limits: TrapLimits) -> str | None:
    if path.count("/") > limits.max_segments:
        return f"more than {limits.max_segments} directories deep"
    if len(path) > limits.max_path_chars:
        return f"a path of more than {limits.max_path_chars} characters"
    if len(query) > limits.max_query_chars:
        return f"a query of more than {limits.max_query_chars} characters"
    if query.count("&") >= limits.max_params:
        return f"more than {limits.max_params} parameters"
    return None


def comes_round(shape: Shape) -> bool:
    """Tell whether a path goes on as it went before: two directories or more, once again.

    Enough for a link of a page to one below it: relative links that lack a slash do that.
    """
    return shape.folded and _has_rounds(_names(shape), 2, shortest=2)


def _circles(shape: Shape, limits: TrapLimits) -> str | None:
    names = _names(shape)
    if _has_rounds(names, 3, shortest=1):
        return CIRCLES
    words = Counter(name for name in names if not name.isdigit())
    if max(words.values()) > limits.max_repeats:
        return f"one name comes more than {limits.max_repeats} times in the path"
    return None


def _names(shape: Shape) -> list[str]:
    return [name for name in shape.path.split("/") if name]


def _has_rounds(names: list[str], times: int, *, shortest: int) -> bool:
    """Tell whether the same directories follow each other ``times`` times."""
    for size in range(shortest, min(_LONGEST_ROUND, len(names) // times) + 1):
        for start in range(len(names) - size * times + 1):
            block = names[start : start + size]
            # "/2012/12/12/" is a date, "/0/0/0" a place on a map.
            if size == 1 and block[0].isdigit():
                continue
            if block * times == names[start : start + size * times]:
                return True
    return False


def _too_deep(shape: Shape, depth: int, limits: TrapLimits) -> str | None:
    limit, kind = limits.static_depth, "a page"
    if shape.query:
        limit, kind = limits.dynamic_depth, "a page with a query"
    if limit is not None and depth > limit:
        return f"{kind} more than {limit} links from an entry"
    return None
