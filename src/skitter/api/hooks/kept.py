"""Webhooks as they are kept in the store: who wants what, and how far each one is.

Each is two marks, because they are written by different processes: what was asked for by whoever
was asked, how far it is by the one that delivers.
"""

from typing import Final

import msgspec

from skitter.api.live.filters import Filter

WISHES: Final = "webhook:"
STATES: Final = "webhook-state:"


class Hook(msgspec.Struct, frozen=True, kw_only=True):
    """A receiver of events."""

    id: str
    url: str
    secret: str
    types: tuple[str, ...]
    created_ms: int
    start: str
    """The last event before it was there."""
    job: str | None = None
    version: int = 1

    @property
    def mark(self) -> str:
        """The name it is kept under."""
        return WISHES + self.id

    @property
    def filter(self) -> Filter:
        """What it wants."""
        jobs = frozenset() if self.job is None else frozenset({self.job})
        return Filter(job=jobs, type=frozenset(self.types))

    def encode(self) -> bytes:
        """Return it as it is kept."""
        return msgspec.json.encode(self)


class HookState(msgspec.Struct, frozen=True, kw_only=True):
    """How far a receiver has been told."""

    after: str
    """The last event that it knows of, or that is none of its business."""
    delivered: int = 0
    failed: int = 0
    """Events that were given up."""
    failures: int = 0
    """Tries in a row that came to nothing."""
    first_try_ms: int = 0
    """When the events after ``after`` were first tried; 0 when they were not."""
    next_try_ms: int = 0
    last_error: str | None = None
    version: int = 1

    def encode(self) -> bytes:
        """Return it as it is kept."""
        return msgspec.json.encode(self)


def state_mark(hook_id: str) -> str:
    """Return the name of the mark that says how far a webhook is."""
    return STATES + hook_id


def read_hook(raw: bytes) -> Hook | None:
    """Read a webhook; None for one that is gone."""
    return msgspec.json.decode(raw, type=Hook) if raw else None


def read_state(raw: bytes | None, start: str) -> HookState:
    """Read how far a webhook is; one without a state is at its start."""
    return msgspec.json.decode(raw, type=HookState) if raw else HookState(after=start)
