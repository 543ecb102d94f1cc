"""Sites, their robots rules, and the web they form under names and a port."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Protocol
from urllib.parse import urlsplit

from skitter.demo.model import Answer, Page, Prose, Target


@dataclass(frozen=True, slots=True, kw_only=True)
class Robots:
    """The rules of one site for every agent, and how its robots.txt is served."""

    disallow: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    crawl_delay_s: float | None = None
    missing: bool = False
    """There is no robots.txt: a 404, which allows everything."""
    moved_to: str | None = None
    """Path that /robots.txt redirects to."""
    bom: bool = False
    extra: str = ""
    """Further groups, for other agents."""
    sitemaps: tuple[str, ...] = ()
    """Paths on the same site."""

    def forbids(self, path: str) -> bool:
        """Tell whether ``path`` is closed to every agent; the longest rule decides, allow wins."""
        closed = max((len(rule) for rule in self.disallow if _rule_matches(rule, path)), default=-1)
        opened = max((len(rule) for rule in self.allow if _rule_matches(rule, path)), default=-1)
        return closed > opened

    def text(self, origin: str = "") -> str:
        """Return the file; ``origin`` makes its sitemaps' addresses whole."""
        lines = ["User-agent: *"]
        lines += [f"Disallow: {rule}" for rule in self.disallow]
        lines += [f"Allow: {rule}" for rule in self.allow]
        if self.crawl_delay_s is not None:
            lines.append(f"Crawl-delay: {self.crawl_delay_s:g}")
        maps = [f"Sitemap: {origin}{path}" for path in self.sitemaps]
        return ("\ufeff" if self.bom else "") + "\n".join([*lines, "", self.extra, *maps, ""])


def _rule_matches(rule: str, path: str) -> bool:
    pattern = ".*".join(re.escape(part) for part in rule.removesuffix("$").split("*"))
    return re.match(pattern + ("$" if rule.endswith("$") else ""), path) is not None


class Site(Protocol):
    """One host's pages, each made when it is asked for."""

    @property
    def robots(self) -> Robots:
        """Its rules."""

    def page(self, path: str) -> Page | None:
        """Return the page at ``path`` (with query), or None where there is none."""


_TRACKING = re.compile(r"(?:utm_\w+|gclid|fbclid)=")
_ESCAPE = re.compile("(?:%[0-9A-Fa-f]{2})+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Web:
    """Every site of one demo web, and the names they answer to.

    ``hosts`` maps a site's short name to its host name; a short name without a site stands for
    a host that does not exist. ``traps`` holds, for every site that has endless parts, what tells
    the kind of trap a path lies in.
    """

    sites: Mapping[str, Site]
    hosts: Mapping[str, str]
    home: Target
    port: int = 80
    traps: Mapping[str, Callable[[str], str | None]] = field(default_factory=dict)
    _names: dict[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_names", {host: name for name, host in self.hosts.items()})

    def at_port(self, port: int) -> "Web":
        """Return the same web, served on ``port``."""
        return replace(self, port=port)

    @property
    def entry(self) -> str:
        """The URL from which everything is reachable that is linked at all."""
        return self.url(self.home)

    @property
    def entries(self) -> dict[str, str]:
        """The URLs from which each site is reachable, by its short name."""
        return {site: self.entry_of(site) for site in self.sites}

    def entry_of(self, site: str) -> str:
        """Return the URL from which ``site`` is reachable."""
        return self.url(Target(site, "/"))

    def host_key(self, site: str) -> str:
        """Return the host name of ``site``, with the port where it is not 80."""
        return self.hosts[site] if self.port == 80 else f"{self.hosts[site]}:{self.port}"

    def url(self, target: Target) -> str:
        """Return the canonical URL of ``target``."""
        return f"http://{self.host_key(target.site)}{target.path}"

    def page(self, target: Target) -> Page:
        """Return the page at ``target``; where there is none, a page that answers 404."""
        site = self.sites.get(target.site)
        return (site.page(target.path) if site else None) or missing_page(target)

    def find(self, host: str, request_path: str) -> Target | None:
        """Return what a request means, whatever its spelling; None where the host is unknown."""
        name = self._names.get(host.partition(":")[0].lower())
        if name is None or name not in self.sites:
            return None
        return Target(name, _plain(request_path))

    def target_of(self, url: str) -> Target | None:
        """Return which page ``url`` means, whatever its spelling; hosts that are gone have some."""
        parts = urlsplit(url)
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        found = self.find(parts.netloc, path)
        name = self._names.get(parts.hostname or "")
        return found or (Target(name, path) if name else None)

    def forbids(self, target: Target) -> bool:
        """Tell whether the robots.txt of the target's site closes it."""
        site = self.sites.get(target.site)
        return site is not None and site.robots.forbids(target.path)

    def trap(self, target: Target) -> str | None:
        """Return the kind of endless trap that ``target`` lies in; None for a real page."""
        kind_of = self.traps.get(target.site)
        return kind_of(target.path) if kind_of else None

    def hosts_file(self, address: str = "127.0.0.1") -> str:
        """Return lines of a hosts file that send every site to ``address``."""
        return "".join(f"{address} {self.hosts[name]}\n" for name in self.sites)


def missing_page(target: Target) -> Page:
    """Return the page a server shows where it has none."""
    return Page(
        at=target,
        title="Page not found",
        answer=Answer(status=404),
        blocks=(Prose(("There is no page at this address.",)),),
    )


def _plain(request_path: str) -> str:
    """Undo every spelling: tracking parameters, an empty query, the case of escapes."""
    path, _, query = request_path.partition("#")[0].partition("?")
    kept = "&".join(item for item in query.split("&") if item and not _TRACKING.match(item))
    return _upper_escapes(path) + (f"?{kept}" if kept else "")


def _upper_escapes(path: str) -> str:
    return _ESCAPE.sub(lambda run: run.group().upper(), path) if "%" in path else path
