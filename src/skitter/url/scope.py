"""Which URLs belong to a crawl, judged by host alone.

- ``host``: the host key of an entry, so http and https alike but another port is another host;
- ``domain``: the registered domain of an entry, any port; IP addresses and single labels compare
  whole;
- ``subsite``: registered domain and first host label of an entry, any port;
- ``any``: everything.

A scope only grows: ``add`` takes in where an entry redirects to.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Self, assert_never

from skitter.types import HostKey
from skitter.url.host import host_key
from skitter.url.partition import domain_key, subsite_key

_VERDICTS_KEPT = 1 << 16
_NAMED_IN_ANSWER = 3


class ScopeKind(StrEnum):
    """How far from its entries a crawl may go."""

    HOST = "host"
    DOMAIN = "domain"
    SUBSITE = "subsite"
    ANY = "any"


class Scope:
    """The hosts a crawl covers; ``seeds`` are serialised URLs."""

    __slots__ = ("_members", "_verdicts", "kind")

    def __init__(self, kind: ScopeKind, seeds: Iterable[str] = ()) -> None:
        self.kind = kind
        self._members: set[str] = set()
        self._verdicts: dict[HostKey, bool] = {}
        for seed in seeds:
            self.add(seed)

    @classmethod
    def restore(cls, kind: ScopeKind, members: Iterable[str]) -> Self:
        """Rebuild a scope from what ``members`` returned."""
        scope = cls(kind)
        scope._members.update(members)
        return scope

    def members(self) -> list[str]:
        """Return the keys of the scope in order, for ``restore``; ``any`` needs none."""
        return sorted(self._members)

    def add(self, href: str) -> bool:
        """Take the host of ``href`` into the scope; tell whether that made it wider."""
        if self.kind is ScopeKind.ANY:
            return False
        key = self._key(host_key(href))
        if key in self._members:
            return False
        self._members.add(key)
        self._verdicts.clear()
        return True

    def contains(self, href: str, host: HostKey | None = None) -> bool:
        """Tell whether ``href`` belongs; pass its host key where it is at hand."""
        if self.kind is ScopeKind.ANY:
            return True
        if host is None:
            host = host_key(href)
        verdict = self._verdicts.get(host)
        if verdict is None:
            verdict = self._key(host) in self._members
            if len(self._verdicts) >= _VERDICTS_KEPT:
                self._verdicts.clear()
            self._verdicts[host] = verdict
        return verdict

    def why_not(self, href: str) -> str | None:
        """Say in a sentence why ``href`` does not belong; None when it does."""
        host = host_key(href)
        if self.contains(href, host):
            return None
        return f"{host} is outside the {self.kind} scope of this crawl, {self._described()}"

    def _key(self, host: HostKey) -> str:
        match self.kind:
            case ScopeKind.HOST:
                return host
            case ScopeKind.DOMAIN:
                return domain_key(host)
            case ScopeKind.SUBSITE:
                return subsite_key(host)
            case ScopeKind.ANY:
                return "*"
            case _:
                assert_never(self.kind)

    def _described(self) -> str:
        members = self.members()
        if not members:
            return "which has no entries"
        shown = ", ".join(members[:_NAMED_IN_ANSWER])
        more = len(members) - _NAMED_IN_ANSWER
        return f"{shown} and {more} more" if more > 0 else shown
