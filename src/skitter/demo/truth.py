"""What a right crawl of a web brings: read from the web's own facts, by walking its links.

The order in which a crawler meets pages is its own affair, and two things depend on it: which of
several redirects brings a page, and which of equal pages counts as the first. The truth says
what holds in every order.
"""

from collections import Counter, deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from skitter.demo.model import Delivery, Page, Target
from skitter.demo.web import Web
from skitter.types import Outcome

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_OK, _FAILED, _REFUSED = Outcome.OK, Outcome.FAILED, Outcome.REFUSED
# A torn or mislabelled page may be kept as far as it can be read, or given up: both are honest.
_TORN = frozenset({_OK, _FAILED})
_LOST = frozenset({_FAILED})
_FAULTS: Mapping[Delivery, frozenset[Outcome]] = {
    Delivery.CLOSE: _LOST,
    Delivery.BAD_STATUS_LINE: _LOST,
    Delivery.HUGE_HEADERS: _LOST,
    Delivery.UNKNOWN_CODING: _LOST,
    Delivery.RESET: _TORN,
    Delivery.NOT_GZIP: _TORN,
    Delivery.CHUNKS_CUT: _TORN,
    Delivery.GZIP_CUT: _TORN,
    Delivery.LONG_LENGTH: _TORN,
}
_SKIPPED_SUFFIXES = (".pdf", ".bin")


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


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What must be true of one URL after the crawl. None means that nothing is claimed."""

    target: Target
    least: int
    """Requests, at least."""
    most: int
    """Requests, at most."""
    outcomes: frozenset[Outcome]
    status: int | None = None
    title: str | None = None
    encodings: frozenset[str] = frozenset()
    n_links: int | None = None
    chain: tuple[Target, ...] = ()
    """The URLs asked one after the other from here; more than one after redirects."""
    end: Target | None = None
    """Where the redirects lead; None where they lead to nothing that is kept."""
    twins: frozenset[Target] = frozenset()
    """Every URL with the same content, this one included, where there are several."""
    optional: bool = False
    """A crawl may do without it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroundTruth:
    """Everything that is expected, by URL identity. ``web`` must know its port."""

    web: Web
    plan: Plan
    expected: Mapping[Target, Expected]

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

    def never(self) -> frozenset[str]:
        """Return URLs that exist, or seem to, and must never be requested."""
        everything = _reach_all(self.web, _entries(self.web, self.plan))
        asked = {target for target, e in self.expected.items() if e.most}
        return frozenset(map(self.web.url, everything - asked))


def ground_truth(web: Web, plan: Plan | None = None) -> GroundTruth:
    """Walk ``web`` as ``plan`` says and return what a right crawl brings."""
    plan = plan or Plan()
    walk = _Walk(web, plan)
    walk.run()
    return GroundTruth(web=web, plan=plan, expected=walk.finished())


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

    def run(self) -> None:
        """Visit until nothing is left."""
        while self._queue:
            self._visit(self._queue.popleft())

    def finished(self) -> dict[Target, Expected]:
        """Return what was found, with what only the whole walk can tell."""
        return {target: self._settled(expected) for target, expected in self._found.items()}

    def _settled(self, expected: Expected) -> Expected:
        if len(expected.chain) > 1 and any(
            hop in self._offered or self._passed[hop] > 1 for hop in expected.chain[1:]
        ):
            expected = replace(expected, outcomes=expected.outcomes | {Outcome.DUPLICATE})
        group = self._twins.get(self._originals.get(expected.target, expected.target), set())
        return replace(expected, twins=frozenset(group)) if len(group) > 1 else expected

    def _in_scope(self, target: Target) -> bool:
        return in_scope(self._web, self._plan.scope, self._entries, target)

    def _offer(self, page: Page) -> None:
        if "nofollow" in page.directives:
            return
        for target in _leads_to(page):
            if target not in self._offered and self._in_scope(target):
                self._offered.add(target)
                self._queue.append(target)

    def _visit(self, target: Target) -> None:
        if target in self._found and self._found[target].chain:
            return
        if self._web.forbids(target):
            self._found[target] = _not_asked(target, _REFUSED)
        elif target.site not in self._web.sites:
            self._found[target] = _not_asked(target, _FAILED)
        else:
            self._follow(target)

    def _follow(self, start: Target) -> None:
        """Take ``start`` and every hop its redirects lead to."""
        chain = [start]
        while True:
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
            return _LOST
        if self._web.forbids(goal) or not self._in_scope(goal):
            return frozenset({_REFUSED})
        return None

    def _take(self, chain: list[Target], page: Page) -> None:
        """Note the page at the end of ``chain`` and the redirects before it."""
        end = _page_expected(page, self._plan.tries)
        known = self._found.get(page.at)
        if known is None or not known.chain:
            self._found[page.at] = end
            self._originals[page.at] = original = page.twin_of or page.at
            self._twins.setdefault(original, set()).add(page.at)
            if end.outcomes <= {_OK, Outcome.NOINDEX} | _TORN:
                self._offer(page)
        for place, hop in enumerate(chain[:-1]):
            self._found[hop] = replace(end, target=hop, least=1, most=1, chain=tuple(chain[place:]))
        self._passed.update(chain[1:])

    def _give_up(self, chain: list[Target], page: Page, outcomes: frozenset[Outcome]) -> None:
        for place, hop in enumerate(chain):
            self._found[hop] = Expected(
                target=hop, least=1, most=1, outcomes=outcomes, chain=tuple(chain[place:])
            )
        goal = page.answer.location
        if goal is not None and outcomes is _LOST and goal not in chain:
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


def _leads_to(page: Page) -> Iterator[Target]:
    yield from (link.to for link in page.links() if link.followed)
    if page.refresh is not None:
        yield page.refresh


def _reach_all(web: Web, entries: tuple[Target, ...]) -> set[Target]:
    """Return everything a crawler without manners would reach."""
    found, queue = set(entries), deque(entries)
    while queue:
        page = web.page(queue.popleft())
        goals = {link.to for link in page.links()} | {page.refresh, page.answer.location}
        for goal in goals - found - {None}:
            assert goal is not None
            found.add(goal)
            queue.append(goal)
    return found


def _not_asked(target: Target, outcome: Outcome) -> Expected:
    return Expected(target=target, least=0, most=0, outcomes=frozenset({outcome}), chain=(target,))


def _page_expected(page: Page, tries: int) -> Expected:
    answer = page.answer
    fault = _FAULTS.get(answer.delivery)
    least = most = 1 + len(answer.first)
    if answer.status >= 500:
        least = most = tries
    elif fault is not None:
        # A client may ask twice where a kept connection fails, and may or may not try again.
        least, most = 1, 2 * tries
    bare = Expected(
        target=page.at,
        least=least,
        most=most,
        outcomes=fault or frozenset({_OK}),
        chain=(page.at,),
        end=page.at,
    )
    if fault == _LOST:
        return bare
    if answer.status >= 400:
        return replace(bare, outcomes=frozenset({Outcome.HTTP_ERROR}), status=answer.status)
    if answer.media_type not in HTML_TYPES:
        return _file_expected(bare, page)
    return _html_expected(bare, page)


def _file_expected(bare: Expected, page: Page) -> Expected:
    bare = replace(bare, outcomes=frozenset({_REFUSED, Outcome.SKIPPED}), end=None)
    if page.at.path.endswith(_SKIPPED_SUFFIXES):
        return replace(bare, least=0, optional=True)
    return bare


def _html_expected(bare: Expected, page: Page) -> Expected:
    charset = page.charset
    if "noindex" in page.directives:
        # Nothing of its content is to be kept, so nothing is claimed.
        return replace(bare, outcomes=frozenset({Outcome.NOINDEX}), status=200)
    if page.answer.body is not None or bare.outcomes == _TORN:
        return replace(bare, status=200)
    return replace(
        bare,
        status=200,
        title=" ".join(page.title.split()) if page.title else None,
        encodings=charset.lookalikes | {charset.name},
        n_links=None if page.uncounted else page.n_links,
    )
