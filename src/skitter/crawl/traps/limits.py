"""What can be held against a URL by its looks alone."""

import re
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


_CIRCLE = re.compile(r"/((?:[^/]+/){0,7}?[^/]*[^/\d][^/]*)(?:/\1){2,}(?=/|\Z)")
_NUMBER_CIRCLE = re.compile(r"/((?:\d+/){1,7}\d+)(?:/\1){2,}(?=/|\Z)")


def too_far(shape: Shape, depth: int, limits: TrapLimits) -> str | None:
    """Return why a URL is not followed whoever links to it; None when nothing speaks against it."""
    if shape.folded and (why := _circles(shape, limits)):
        return why
    if shape.segments > limits.max_segments:
        return f"more than {limits.max_segments} directories deep"
    if len(shape.path) > limits.max_path_chars:
        return f"a path of more than {limits.max_path_chars} characters"
    if len(shape.query) > limits.max_query_chars:
        return f"a query of more than {limits.max_query_chars} characters"
    if shape.query.count("&") >= limits.max_params:
        return f"more than {limits.max_params} parameters"
    return _too_deep(shape, depth, limits)


def _circles(shape: Shape, limits: TrapLimits) -> str | None:
    if _CIRCLE.search(shape.path) or _NUMBER_CIRCLE.search(shape.path):
        return "the path goes in circles"
    names = [name for name in shape.path.split("/") if name and not name.isdigit()]
    if max(map(names.count, set(names))) > limits.max_repeats:
        return f"one name comes more than {limits.max_repeats} times in the path"
    return None


def _too_deep(shape: Shape, depth: int, limits: TrapLimits) -> str | None:
    limit, kind = limits.static_depth, "a page"
    if shape.query:
        limit, kind = limits.dynamic_depth, "a page with a query"
    if limit is not None and depth > limit:
        return f"{kind} more than {limit} links from an entry"
    return None
