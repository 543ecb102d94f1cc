"""What a right crawl of a web brings: read from the web's own facts, by walking its links.

The order in which a crawler meets pages is its own affair, and two things depend on it: which of
several redirects brings a page, and which of equal pages counts as the first. The truth says
what holds in every order.
"""

from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from skitter.demo.expected import LOST, TORN, Expected, not_asked, page_expected
from skitter.demo.listing import SiteMap, site_map
from skitter.demo.model import Page, Target
from skitter.demo.topics import is_about
from skitter.demo.web import Web
from skitter.types import Outcome

_OK, _FAILED, _REFUSED = Outcome.OK, Outcome.FAILED, Outcome.REFUSED


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The crawl that is judged."""

    entries: tuple[Target, ...] = ()
    """Where it starts; empty starts at the web's home."""
    scope: Literal["host", "domain", "any"] = "domain"
    tries: int = 4
    """Requests for a page that keeps failing."""
    redirects: int = 10
    """Hops that are followed."""
    sitemaps: Literal["auto", "only", "no"] = "auto"
    """Whether what sitemaps list is fetched too, alone, or not at all.

    Those that no robots.txt mentions are looked for on the hosts of entries.
    """
    trap_share: float = 0.05
    """The most of a site's fetched pages that may lie in its endless traps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundTruth:
    """Everything that is expected, by URL identity. ``web`` must know its port."""

    web: Web
    plan: Plan
    expected: Mapping[Target, Expected]
    """Every page but those of endless traps, of which a crawl may see a few."""
    sitemaps: frozenset[Target] = frozenset()
    """The sitemaps that must be asked for, once each."""

    @property
    def fetched_once(self) -> frozenset[str]:
        """URLs that must be requested exactly once."""
        found = (e for e in self.expected.values() if e.least == e.most == 1)
        return frozenset(self.web.url(e.target) for e in found)

    @property
    def pages(self) -> frozenset[str]:
        """URLs of the pages that must be kept, where redirects have led."""
        return frozenset(
            self.web.url(e.target)
            for e in self.expected.values()
            if e.outcomes == {_OK} and e.end == e.target
        )

    def relevant(self, *phrases: str) -> frozenset[str]:
        """Return URLs of the pages to be kept that are about one of ``phrases``."""
        wanted = (
            e.target
            for e in self.expected.values()
            if e.outcomes == {_OK}
            and e.end == e.target
            and any(is_about(self.web.page(e.target), phrase) for phrase in phrases)
        )
        return frozenset(map(self.web.url, wanted))

    def is_trap(self, url: str) -> bool:
        """Tell whether ``url`` lies in an endless trap."""
        target = self.web.target_of(url)
        return target is not None and self.web.trap(target) is not None

    @property
    def entries(self) -> tuple[Target, ...]:
        """Where the crawl starts."""
        return _entries(self.web, self.plan)

    def never(self) -> frozenset[str]:
        """Return URLs that exist, or seem to, and must never be requested."""
        everything = _reach_all(self.web, self.entries)
        asked = {target for target, e in self.expected.items() if e.most}
        return frozenset(map(self.web.url, everything - asked))


def ground_truth(web: Web, plan: Plan | None = None) -> GroundTruth:
    """Walk ``web`` as ``plan`` says and return what a right crawl brings."""
    plan = plan or Plan()
    walk = _Walk(web, plan)
    walk.run()
    files = frozenset(file for found in walk.site_maps.values() for file in found.files)
    return GroundTruth(web=web, plan=plan, expected=walk.finished(), sitemaps=files)


class _Walk:
    """One pass over everything that links and redirects lead to."""

    def __init__(self, web: Web, plan: Plan) -> None:
        self._web = web
        self._plan = plan
        self._entries = _entries(web, plan)
        self._queue = deque(self._entries)
        self._offered: set[Target] = set(self._entries)
        self._found: dict[Target, Expected] = {}
        self._passed: Counter[Target] = Counter()
        self._twins: dict[Target, set[Target]] = {}
        self._originals: dict[Target, Target] = {}
        self.site_maps: dict[str, SiteMap] = {}

    def run(self) -> None:
        """Visit until nothing is left."""
        while self._queue:
            self._visit(self._queue.popleft())

    def finished(self) -> dict[Target, Expected]:
        """Return what was found, with what only the whole walk can tell."""
        found = {target: self._settled(expected) for target, expected in self._found.items()}
        if self._plan.sitemaps == "only":
            listed = {entry.to for known in self.site_maps.values() for entry in known.pages}
            for entry in set(self._entries) - listed:
                # It says where to look; whether it is looked at itself is a matter of taste.
                found[entry] = replace(found[entry], least=0, optional=True)
        return found

    def _settled(self, expected: Expected) -> Expected:
        if len(expected.chain) > 1 and any(
            hop in self._offered or self._passed[hop] > 1 for hop in expected.chain[1:]
        ):
            expected = replace(expected, outcomes=expected.outcomes | {Outcome.DUPLICATE})
        group = self._twins.get(self._originals.get(expected.target, expected.target), set())
        return replace(expected, twins=frozenset(group)) if len(group) > 1 else expected

    def _in_scope(self, target: Target) -> bool:
        return in_scope(self._web, self._plan.scope, self._entries, target)

    def _offer(self, targets: Iterable[Target]) -> None:
        for target in targets:
            if target in self._offered or not self._in_scope(target) or self._web.trap(target):
                continue
            self._offered.add(target)
            self._queue.append(target)

    def _greet(self, site: str) -> None:
        """Read the sitemaps of ``site``, if that was not done before."""
        if self._plan.sitemaps == "no" or site in self.site_maps:
            return
        guess = any(entry.site == site for entry in self._entries)
        found = self.site_maps[site] = site_map(self._web, site, guess=guess)
        self._offer(entry.to for entry in found.pages)

    def _visit(self, target: Target) -> None:
        if target.site in self._web.sites:
            self._greet(target.site)
        if target in self._found and self._found[target].chain:
            return
        if self._web.forbids(target):
            self._found[target] = not_asked(target, _REFUSED)
        elif target.site not in self._web.sites:
            self._found[target] = not_asked(target, _FAILED)
        else:
            self._follow(target)

    def _follow(self, start: Target) -> None:
        """Take ``start`` and every hop its redirects lead to."""
        chain = [start]
        while True:
            self._greet(chain[-1].site)
            page = self._web.page(chain[-1])
            if not 300 <= page.answer.status < 400:
                self._take(chain, page)
                return
            outcome = self._dead_end(chain, page.answer.location)
            if outcome is not None:
                self._give_up(chain, page, outcome)
                return
            assert page.answer.location is not None
            chain.append(page.answer.location)

    def _dead_end(self, chain: list[Target], goal: Target | None) -> frozenset[Outcome] | None:
        if goal is None:
            return frozenset({_FAILED, _REFUSED, Outcome.HTTP_ERROR})
        if goal in chain or len(chain) > self._plan.redirects:
            return LOST
        if self._web.forbids(goal) or not self._in_scope(goal):
            return frozenset({_REFUSED})
        return None

    def _take(self, chain: list[Target], page: Page) -> None:
        """Note the page at the end of ``chain`` and the redirects before it."""
        end = page_expected(page, self._plan.tries)
        known = self._found.get(page.at)
        if known is None or not known.chain:
            self._found[page.at] = end
            self._originals[page.at] = original = page.twin_of or page.at
            self._twins.setdefault(original, set()).add(page.at)
            if end.outcomes <= {_OK, Outcome.NOINDEX} | TORN:
                self._offer(self._followed(page))
        for place, hop in enumerate(chain[:-1]):
            self._found[hop] = replace(end, target=hop, least=1, most=1, chain=tuple(chain[place:]))
        self._passed.update(chain[1:])

    def _followed(self, page: Page) -> Iterator[Target]:
        if self._plan.sitemaps == "only" or "nofollow" in page.directives:
            return
        yield from (link.to for link in page.links() if link.followed)
        if page.refresh is not None:
            yield page.refresh

    def _give_up(self, chain: list[Target], page: Page, outcomes: frozenset[Outcome]) -> None:
        for place, hop in enumerate(chain):
            self._found[hop] = Expected(
                target=hop, least=1, most=1, outcomes=outcomes, chain=tuple(chain[place:])
            )
        goal = page.answer.location
        if goal is not None and outcomes is LOST and goal not in chain:
            # Whether the hop past the limit is still asked for is a matter of counting.
            self._found[goal] = replace(
                self._found[chain[-1]], target=goal, least=0, optional=True, chain=()
            )
        self._passed.update(chain[1:])


def in_scope(
    web: Web, scope: Literal["host", "domain", "any"], entries: tuple[Target, ...], target: Target
) -> bool:
    """Tell whether a crawl from ``entries`` may go to ``target``."""
    if scope == "any":
        return True
    if scope == "host":
        return any(target.site == entry.site for entry in entries)
    return any(_domain(web, target) == _domain(web, entry) for entry in entries)


def _domain(web: Web, target: Target) -> list[str]:
    return web.hosts[target.site].split(".")[-2:]


def _entries(web: Web, plan: Plan) -> tuple[Target, ...]:
    return plan.entries or (web.home,)


def _reach_all(web: Web, entries: tuple[Target, ...]) -> set[Target]:
    """Return everything a crawler without manners would reach, but for endless traps."""
    found, queue, sites = set(entries), deque(entries), set[str]()
    while queue:
        page = web.page(queue.popleft())
        goals = {link.to for link in page.links()} | {page.refresh, page.answer.location}
        if page.at.site in web.sites and page.at.site not in sites:
            sites.add(page.at.site)
            goals.update(entry.to for entry in site_map(web, page.at.site).pages)
        for goal in goals - found - {None}:
            assert goal is not None
            found.add(goal)
            if not web.trap(goal):
                queue.append(goal)
    return {target for target in found if not web.trap(target)}
