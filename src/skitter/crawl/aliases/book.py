"""The aliases of one job, as every part of the crawl goes by them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from skitter.crawl.aliases.facts import path_of
from skitter.crawl.aliases.rows import AliasRow, LinksRow, in_force
from skitter.types import HostKey

MOST_ALIASES = 10_000
MOST_URLS = 500
"""Links to one alias that are kept: after an undo they are followed as they were."""
MOST_KEPT = 50_000
"""Links to all aliases together that are kept, about 8 MB."""
FEWEST_URLS = 5
"""Links to one alias that are kept even then: its pages link to the others."""
MAX_URL_CHARS = 400
ALIAS_WORDS = "alias of"
"""How the error of a record begins whose page is crawled under another name."""


@dataclass(slots=True)
class _Turned:
    """Links to one alias that were turned to the kept host."""

    count: int = 0
    urls: dict[str, int] = field(default_factory=dict)
    """The first of them as they were, with their depth."""


class AliasBook:
    """Knows which hosts are crawled under another name."""

    def __init__(self) -> None:
        self.names: dict[HostKey, AliasRow] = {}
        """What is in force, by alias."""
        self._rows: dict[HostKey, AliasRow] = {}
        self._turned: dict[HostKey, _Turned] = {}
        self._kept = 0
        """Links that are kept, over all aliases."""
        self._changed: set[HostKey] = set()

    def take(self, rows: Iterable[AliasRow]) -> None:
        """Take up rows: decisions of this process, of others, or of an operator."""
        for row in rows:
            known = self._rows.get(row.alias)
            # What an operator has undone stays undone, whatever comes late.
            if known is None or not known.undone_ms or row.undone_ms:
                self._rows[row.alias] = row
        self.names = in_force(self._rows.values())

    @property
    def is_full(self) -> bool:
        """Whether nothing more is recognised."""
        return len(self._rows) >= MOST_ALIASES

    def may_merge(self, alias: HostKey, kept: HostKey) -> bool:
        """Tell whether an operator has not said otherwise."""
        undone = self._rows.get(alias)
        if undone is not None and undone.undone_ms:
            return False
        other = self._rows.get(kept)
        return other is None or not other.undone_ms or other.kept != alias

    def kept_names(self) -> dict[str, str]:
        """Return every alias with the host it is crawled as."""
        return {alias: row.kept for alias, row in self.names.items()}

    def kept_host(self, host: HostKey) -> HostKey:
        """Return under which name a host is crawled; mostly its own."""
        row = self.names.get(host)
        return host if row is None else row.kept

    def kept_url(self, url: str, host: HostKey) -> str | None:
        """Return the URL under which a page is crawled; None where that is its own."""
        row = self.names.get(host)
        return None if row is None else row.origin + path_of(url)

    def turn(self, url: str, host: HostKey, depth: int, found_on: HostKey) -> str | None:
        """Return where a link to an alias leads instead; None where it stays.

        On the alias itself links stay: its pages are only read until it is known as one, and
        what they link to is found again when that is undone.
        """
        if found_on == host:
            return None
        kept = self.kept_url(url, host)
        if kept is None:
            return None
        turned = self._turned.setdefault(host, _Turned())
        turned.count += 1
        self._changed.add(host)
        self._keep(turned, url, depth)
        return kept

    def _keep(self, turned: _Turned, url: str, depth: int) -> None:
        most = MOST_URLS if self._kept < MOST_KEPT else FEWEST_URLS
        if len(turned.urls) < most and len(url) <= MAX_URL_CHARS and url not in turned.urls:
            turned.urls[url] = depth
            self._kept += 1

    def restore_links(self, rows: Mapping[HostKey, LinksRow]) -> None:
        """Go on counting links where an earlier run has stopped."""
        for alias, row in rows.items():
            turned = self._turned[alias] = _Turned(row.count)
            for url, depth in row.urls:
                self._keep(turned, url, depth)

    def take_links(self) -> list[LinksRow]:
        """Return the rows of links that have changed since this was asked last."""
        changed, self._changed = self._changed, set()
        return self.links_of(changed)

    def links_of(self, aliases: Iterable[HostKey]) -> list[LinksRow]:
        """Return the rows of links to some aliases, as far as any were turned."""
        return [
            LinksRow(alias=alias, count=turned.count, urls=list(turned.urls.items()))
            for alias in sorted(aliases)
            if (turned := self._turned.get(alias)) is not None
        ]

    def explain(self, url: str, host: HostKey) -> str | None:
        """Say why a URL is not fetched as it is; None where it is."""
        kept = self.kept_url(url, host)
        return None if kept is None else f"{alias_of(self.names[host])}; see {kept}"


def alias_of(row: AliasRow) -> str:
    """Return the words by which records and people are told."""
    return f"{ALIAS_WORDS} {row.kept} ({row.equal} of {row.common} pages compared are equal)"
