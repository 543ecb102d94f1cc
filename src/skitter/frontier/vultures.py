"""What the vultures of every store count, and how long they wait."""

from typing import Final, NamedTuple

IDLE_MS: Final = 3_600_000
"""How long a host has had nothing to do before it goes."""


class Buried(NamedTuple):
    """How much nobody needed any more, and has gone."""

    hosts: int = 0
    robots: int = 0
    """Rules of robots.txt files."""
    sessions: int = 0
    """Last answers to processes, where those are kept."""
    names: int = 0
    """Addresses of hosts, where no server forgets them by itself."""
