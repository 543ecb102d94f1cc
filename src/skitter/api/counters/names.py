"""What of the counters is asked for: one by its name, or all whose names begin so."""

import re
from datetime import datetime
from typing import Final, NamedTuple

from skitter.api.counters.steps import LENGTH_MS, MOST_POINTS, POINTS
from skitter.client.events import Step
from skitter.crawl.observer import BY_HOST
from skitter.errors import ConfigError

GROUPS: Final = frozenset({"status", "module"})
"""Names that stand for several counters, as in ``status:200``."""
PLAIN_NAMES: Final = (
    "pages",
    "ok",
    "failed",
    "refused",
    "rejected",
    "bytes",
    "media",
    "images",
    "elapsed_ms",
    "timed",
)
"""What is counted beside those, each over all and by dimension."""
MOST_NAME: Final = 300
_DIMENSIONS: Final = ("job", "kind", "node", "host")


class Asked(NamedTuple):
    """A name, or how names begin."""

    text: str
    exact: bool


class Stretch(NamedTuple):
    """From when to when, both included."""

    since_ms: int
    until_ms: int


def asked_for(name: str) -> Asked:
    """Read a name: ``pages``, ``pages|job=a``, ``pages|job`` for every job, ``status``, ``a*``."""
    if not 0 < len(name) <= MOST_NAME or not name.isprintable():
        raise ConfigError(f"name: wanted the name of a counter, got {name[:40]!r}")
    if name.endswith("*"):
        return Asked(name[:-1], exact=False)
    counter, divided, dimension = name.partition("|")
    if counter not in PLAIN_NAMES and counter.partition(":")[0] not in GROUPS:
        known = ", ".join((*PLAIN_NAMES, *sorted(GROUPS)))
        raise ConfigError(f"name: nothing is counted as {counter[:40]!r}; wanted one of {known}")
    if name in GROUPS:
        return Asked(f"{name}:", exact=False)
    if divided:
        _check_dimension(counter, dimension.partition("=")[0])
        if "=" not in dimension:
            return Asked(f"{name}=", exact=False)
    return Asked(name, exact=True)


def _check_dimension(counter: str, dimension: str) -> None:
    """Raise where nothing is counted so: a series of zeros would say that nothing has happened."""
    group, of_group, _ = counter.partition(":")
    if group in GROUPS and not of_group:
        one = {"status": "status:200", "module": "module:fetch"}[group]
        raise ConfigError(f"name: wanted one {group}, as in {one}|{dimension[:40]}")
    if dimension not in _DIMENSIONS:
        known = ", ".join(_DIMENSIONS)
        raise ConfigError(f"name: nothing is counted by {dimension[:40]!r}; wanted one of {known}")
    if group == "module" and dimension != "node":
        raise ConfigError(f"name: {counter[:40]} is not counted by {dimension}; wanted |node")
    if dimension == "host" and group not in (*BY_HOST, "status"):
        known = ", ".join((*BY_HOST, "status:200"))
        raise ConfigError(f"name: {counter[:40]} is not counted by host; wanted one of {known}")


def stretch_of(step: Step, since: str | None, until: str | None, now_ms: int) -> Stretch:
    """Return which time is asked for; raises when that is too long for the step, or upside down."""
    until_ms = now_ms if until is None else time_ms("until", until)
    length = LENGTH_MS[step]
    since_ms = until_ms - POINTS[step] * length if since is None else time_ms("since", since)
    if since_ms > until_ms:
        raise ConfigError("since: wanted a time before the end")
    if (until_ms - since_ms) // length > MOST_POINTS:
        raise ConfigError(f"since: more than {MOST_POINTS} steps; wanted a longer step, or less")
    return Stretch(since_ms, until_ms)


def time_ms(field: str, text: str) -> int:
    """Read a time in RFC 3339, or in seconds since the epoch."""
    if re.fullmatch(r"[0-9]{1,11}(\.[0-9]{1,6})?", text):
        return round(float(text) * 1000)
    try:
        found = datetime.fromisoformat(text)
        at_ms = round(found.timestamp() * 1000)
    except (ValueError, OverflowError):
        found, at_ms = None, -1
    if at_ms < 0 or found is None or found.tzinfo is None:
        raise ConfigError(f"{field}: wanted a time as 2026-01-31T12:00:00Z")
    return at_ms
