"""The browser seam: a page that was fetched goes in, what its scripts have made of it comes out.

A browser asks nobody itself. What the scripts of a page want is asked for by whoever gave the page,
who may say no.
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Protocol

import msgspec


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What a page in the browser wants, always by GET."""

    url: str
    is_script: bool
    headers: Mapping[str, str]
    """As the page says them, names in lower case."""
    most_bytes: int
    """How large the answer may be."""


class Answered(msgspec.Struct, frozen=True, kw_only=True):
    """What it gets."""

    status: int
    headers: Mapping[str, str]
    body: bytes


Ask = Callable[[Wanted], Awaitable[Answered | None]]
"""Gets something for a page; None when that may not or cannot be."""


class Sheet(msgspec.Struct, frozen=True, kw_only=True):
    """A page for the browser."""

    url: str
    body: bytes
    encoding: str
    """A name that browsers know."""
    agent: str
    """What the page is told of who reads it."""
    time_s: float
    """When the page is read at the latest, however busy it is."""
    ask: Ask


class Rendered(msgspec.Struct, frozen=True, kw_only=True):
    """A page as it stood when nothing more happened, or when its time was over."""

    text: str
    moved_to: str | None = None
    """Where its scripts wanted to go instead; they were kept from it."""
    asked: int = 0
    """How much it wanted of the network."""
    late: bool = False
    """Whether its time was over."""


class Renderer(Protocol):
    """Shows pages. Safe to call from many tasks at once; few of them have their turn together."""

    async def render(self, sheet: Sheet) -> Rendered:
        """Return what becomes of a page, or raise a ``RenderError``."""
