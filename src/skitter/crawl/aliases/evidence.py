"""Which hosts may be one site: equal content at equal paths, noticed as pages come.

Of each host the first pages are remembered, of the hosts those that were met last. Whether two
of them really are one site is judged elsewhere, when enough speaks for it.
"""

from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from skitter.crawl.aliases.facts import LEAST_BYTES, Fact
from skitter.crawl.aliases.verdict import FEWEST
from skitter.types import HostKey
from skitter.url.host import origin

SAMPLE = 16
"""Pages of a host that are remembered."""
MOST_HOSTS = 4_096
MOST_PAIRS = 4_096
MOST_HOLDERS = 4
"""Hosts that a page is compared with at once."""
MOST_PATHS = 24
"""Equal pages of a pair that are remembered."""
SUSPECT = 2
"""Equal pages from which on two hosts are worth a look."""
_OFTEN = 6
"""After so many looks a pair is looked at when there are twice as many pages."""


@dataclass(slots=True)
class Sample:
    """The first pages of a host."""

    origin: str
    """Scheme, host and port, as it was met first."""
    facts: dict[str, Fact | None] = field(default_factory=dict)
    """By path; None where only the store knows what the page was like."""
    pages: int = 0
    """How many were seen."""


@dataclass(slots=True, eq=False)
class Pair:
    """Two hosts with equal pages."""

    one: HostKey
    other: HostKey
    paths: dict[str, None] = field(default_factory=dict)
    """Where they were found equal."""
    look_at: int = FEWEST
    """How many pages of both hosts must have been seen before they are compared."""
    looks: int = 0
    closed: bool = False
    """Whether it is certain that they are two sites, or one."""

    @property
    def hosts(self) -> tuple[HostKey, HostKey]:
        """Both, in order."""
        return self.one, self.other

    def put_off(self, pages: int) -> None:
        """Wait for more pages: what there is does not suffice."""
        self.looks += 1
        self.look_at = pages + 2 if self.looks < _OFTEN else 2 * pages


class Evidence:
    """What one process has noticed; bounded."""

    def __init__(self) -> None:
        self._samples: OrderedDict[HostKey, Sample] = OrderedDict()
        self._holders: dict[int, list[HostKey]] = {}
        """By path and content: the first hosts that had it, of those remembered."""
        self._pairs: OrderedDict[tuple[HostKey, HostKey], Pair] = OrderedDict()
        self._suspects: dict[HostKey, set[tuple[HostKey, HostKey]]] = {}
        """The pairs that are worth a look, by each of their hosts."""
        self._ripe: dict[tuple[HostKey, HostKey], None] = {}
        self._grown: dict[tuple[HostKey, HostKey], None] = {}

    def saw(self, host: HostKey, url: str, path: str, fact: Fact) -> None:
        """Take in a page that was fetched from ``url``."""
        if host in self._samples:
            self._samples.move_to_end(host)
            sample = self._samples[host]
        else:
            sample = self._sample(host, origin(url))
        sample.pages += 1
        facts = sample.facts
        keys = [hash((path, digest)) for digest in fact.digests]
        if fact.size >= LEAST_BYTES:
            for holder in {one for key in keys for one in self._holders.get(key, ())}:
                if holder != host:
                    self.same(holder, host, path)
        if (len(facts) < SAMPLE or path in facts) and facts.get(path) is None:
            facts[path] = fact
            for key in keys:
                holders = self._holders.setdefault(key, [])
                if len(holders) < MOST_HOLDERS and host not in holders:
                    holders.append(host)
        if host in self._suspects:
            self._ripen(host)

    def _sample(self, host: HostKey, site: str) -> Sample:
        """Return the sample of a host; those met longest ago make room for it."""
        sample = self._samples.get(host)
        if sample is not None:
            self._samples.move_to_end(host)
            return sample
        sample = self._samples[host] = Sample(site)
        if len(self._samples) > MOST_HOSTS:
            self._forget(*self._samples.popitem(last=False))
        return sample

    def _forget(self, host: HostKey, sample: Sample) -> None:
        for key, holders in self._held(host, sample.facts):
            holders.remove(host)
            if not holders:
                del self._holders[key]

    def _held(
        self, host: HostKey, facts: Mapping[str, Fact | None]
    ) -> list[tuple[int, list[HostKey]]]:
        """Return where a host is among the holders."""
        known = ((path, fact) for path, fact in facts.items() if fact is not None)
        keys = (hash((path, digest)) for path, fact in known for digest in fact.digests)
        return [(key, held) for key in keys if host in (held := self._holders.get(key, []))]

    def pages(self, host: HostKey) -> int:
        """Return how many pages of a host were seen since it was met."""
        sample = self._samples.get(host)
        return sample.pages if sample is not None else 0

    def met(self, host: HostKey, site: str) -> None:
        """Take note of a host whose pages others have fetched."""
        self._sample(host, site)

    def name(self, host: HostKey, path: str, content: str) -> None:
        """Take note of the first URL that had the content of a page."""
        sample = self._samples.get(host)
        fact = sample.facts.get(path) if sample is not None else None
        if sample is not None and fact is not None:
            sample.facts[path] = fact._replace(content=content)

    def same(self, one: HostKey, other: HostKey, path: str) -> None:
        """Take in that two hosts have the same content at ``path``."""
        names = (one, other) if one < other else (other, one)
        pair = self._pairs.get(names)
        if pair is None:
            pair = self._pairs[names] = Pair(*names)
            if len(self._pairs) > MOST_PAIRS:
                self._drop(next(iter(self._pairs)))
        if path in pair.paths or pair.closed or len(pair.paths) >= MOST_PATHS:
            return
        self._pairs.move_to_end(names)
        pair.paths[path] = None
        self._grown[names] = None
        if len(pair.paths) == SUSPECT:
            for host in names:
                self._suspects.setdefault(host, set()).add(names)
        if len(pair.paths) >= SUSPECT:
            self._ripen(one)

    def _ripen(self, host: HostKey) -> None:
        """Note which pairs of a host are to be looked at by now."""
        for names in self._suspects[host]:
            pair = self._pairs[names]
            if not pair.closed and self._fewer_pages(pair) >= pair.look_at:
                self._ripe[names] = None

    def _fewer_pages(self, pair: Pair) -> int:
        """Return how many pages are known of the host with fewer.

        Others may fetch one of them, or do so from some time on: what they found equal counts.
        """
        fewer = min((pages for pages in map(self.pages, pair.hosts) if pages), default=0)
        return max(fewer, len(pair.paths))

    def put_off(self, pair: Pair) -> None:
        """Look at a pair again when there are more pages."""
        pair.put_off(self._fewer_pages(pair))

    def restore(self, pair: Pair, samples: Iterable[tuple[HostKey, str, Iterable[str]]]) -> None:
        """Take up what an earlier run or another member has noticed of a pair."""
        for host, site, paths in samples:
            sample = self._sample(host, site)
            for path in paths:
                if len(sample.facts) < SAMPLE:
                    sample.facts.setdefault(path, None)
            sample.pages = max(sample.pages, len(sample.facts))
        for path in pair.paths:
            self.same(*pair.hosts, path)
        self._grown.pop(pair.hosts, None)

    def merged(self, alias: HostKey, kept: HostKey) -> None:
        """Count for ``kept`` from here on what was found equal to its alias."""
        for _, holders in self._held(alias, self.facts(alias)):
            holders.remove(alias)
            if kept not in holders:
                holders.append(kept)
        for names, pair in list(self._pairs.items()):
            if alias in names:
                self._drop(names)
                other = names[0] if names[1] == alias else names[1]
                if other != kept:
                    for path in pair.paths:
                        self.same(kept, other, path)

    def _drop(self, names: tuple[HostKey, HostKey]) -> None:
        self._pairs.pop(names, None)
        self._ripe.pop(names, None)
        self._grown.pop(names, None)
        for host in names:
            suspects = self._suspects.get(host, set())
            suspects.discard(names)
            if not suspects:
                self._suspects.pop(host, None)

    def site(self, host: HostKey) -> str:
        """Return scheme, host and port of a host that was met; "" for one that was forgotten."""
        sample = self._samples.get(host)
        return sample.origin if sample is not None else ""

    def facts(self, host: HostKey) -> dict[str, Fact | None]:
        """Return what is remembered of a host's pages, by path."""
        sample = self._samples.get(host)
        return dict(sample.facts) if sample is not None else {}

    @property
    def has_ripe(self) -> bool:
        """Whether a pair is worth a look."""
        return bool(self._ripe)

    def take_ripe(self) -> Iterator[Pair]:
        """Yield the pairs that are worth a look, each once."""
        while self._ripe:
            names, _ = self._ripe.popitem()
            yield self._pairs[names]

    def take_grown(self) -> list[Pair]:
        """Return the pairs that have more equal pages than when this was asked last."""
        grown, self._grown = self._grown, {}
        return [self._pairs[names] for names in grown]
