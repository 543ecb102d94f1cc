"""All hosts the guard knows, within bounds: what was not met for long is forgotten first."""

from collections.abc import Iterable

from skitter.crawl.traps.limits import LONG_URL
from skitter.crawl.traps.memory import MAX_FAMILIES, MAX_HOSTS, MAX_PARTS, Family, Host
from skitter.crawl.traps.shape import Shape, shape_of
from skitter.parse.simhash import Sketch

_SHAPES = 4_096


class Atlas:
    """Hosts, and the shapes of URLs met lately."""

    def __init__(self) -> None:
        self._hosts: dict[str, Host] = {}
        self._shapes: dict[str, Shape] = {}
        self._parts = 0
        self._families = 0

    def shape(self, url: str) -> Shape:
        """Return the shape of ``url``."""
        shape = self._shapes.get(url)
        if shape is None:
            if len(self._shapes) >= _SHAPES:
                self._shapes.clear()
            shape = shape_of(url)
            if len(url) <= LONG_URL:
                self._shapes[url] = shape
        return shape

    def known(self, origin: str) -> Host | None:
        """Return what is known of a host, if anything is."""
        return self._hosts.get(origin)

    def host(self, origin: str) -> Host:
        """Return what is known of a host that is being crawled."""
        host = self._hosts.get(origin)
        if host is None:
            host = self._hosts[origin] = Host(origin)
            if len(self._hosts) > MAX_HOSTS:
                self._forget(next(iter(self._hosts)))
        return host

    def adopt(self, host: Host, family: Family) -> None:
        """Take in a family met for the first time."""
        families, kept = len(host.families), host.kept
        host.adopt(family)
        if self._hosts.get(host.origin) is not host:
            # Forgotten while its page was looked at: it goes with the page.
            return
        self._families += len(host.families) - families
        self._parts += host.kept - kept
        while self._families > MAX_FAMILIES and len(self._hosts) > 1:
            oldest = next(iter(self._hosts))
            if oldest == host.origin:
                # Met last, so forgotten last.
                self._hosts[oldest] = self._hosts.pop(oldest)
                continue
            self._forget(oldest)

    def learn(self, host: Host, family: Family, sketch: Sketch, links: Iterable[str]) -> None:
        """Remember what a page said and where it led."""
        kept = host.kept
        host.learn(family, sketch, map(hash, links))
        if self._hosts.get(host.origin) is not host:
            return
        self._parts += host.kept - kept
        if self._parts > MAX_PARTS:
            self._forget_texts(self._parts - MAX_PARTS * 3 // 4)

    def _forget_texts(self, count: int) -> None:
        """Forget ``count`` parts or more: who holds most gives first, so that nobody fills it."""
        goal = self._parts - count
        for host in sorted(self._hosts.values(), key=lambda host: host.kept, reverse=True):
            kept = host.kept
            host.forget_texts(self._parts - goal)
            self._parts += host.kept - kept
            if self._parts <= goal:
                return

    def _forget(self, origin: str) -> None:
        host = self._hosts.pop(origin)
        self._families -= len(host.families)
        self._parts -= host.kept
