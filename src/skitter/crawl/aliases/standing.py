"""How well known a host is to a job, so that nobody can put a copy in the place of its sites."""

from collections.abc import Iterable

from skitter.types import HostKey
from skitter.url.scope import Scope

_SEED = 1 << 20
_NEAR = 2 << 20
_MET = 3 << 20


class Standing:
    """Ranks hosts: entries in their order, seeds, their domains, and what links led to."""

    def __init__(self, entries: Iterable[HostKey], starts: Scope, home: Scope) -> None:
        self._entries: dict[HostKey, int] = {}
        for place, host in enumerate(entries):
            self._entries.setdefault(host, place)
        self._starts = starts
        self._home = home

    def __call__(self, host: HostKey) -> int:
        """Return the rank of a host, the best known first."""
        place = self._entries.get(host)
        if place is not None:
            return place
        if self._starts.contains("", host):
            return _SEED
        return _NEAR if self._home.contains("", host) else _MET
