"""The trap guard: tells the endless parts of a site from real ones, link by link.

A trap makes itself: its pages bring nothing of their own, neither text nor links elsewhere, and
lead to more of the kind. So what counts is what pages of a strain brought when they were reached
from the strain itself; a link from elsewhere is never cut for it. See docs/decisions/0010.

For one page the order of calls is: ``before``, ``wants_content``, ``page``, then ``link`` for
each of its links.
"""

from collections.abc import Callable, Mapping

from skitter.crawl.traps.atlas import Atlas
from skitter.crawl.traps.limits import (
    CIRCLES,
    LONG_URL,
    TrapLimits,
    comes_round,
    too_far,
    too_long,
)
from skitter.crawl.traps.memory import Family, Host, Known, Slot, Strain
from skitter.crawl.traps.parameters import Place
from skitter.crawl.traps.sampling import is_wanted
from skitter.crawl.traps.shape import Shape, in_order, is_far, template_of
from skitter.crawl.traps.store import (
    MAX_TEMPLATES,
    Changes,
    Cut,
    CutRow,
    PlaceRow,
    Row,
    SlotRow,
    StrainRow,
    TextRow,
)
from skitter.crawl.traps.verdict import is_doubtful, is_inside, is_kin, is_own, objection
from skitter.crawl.traps.visit import PageSeen, joined, skeleton_key
from skitter.parse.simhash import Sketch

__all__ = ["Cut", "TrapGuard", "TrapLimits"]

MAX_CUTS = 1_000
PROVEN = 5
"""Pages with something of their own after which a kind of page is trusted."""
REST = "…"
"""Stands for all templates beyond the first thousand."""


class TrapGuard:
    """Watches over the links of one job."""

    def __init__(self, limits: TrapLimits, *, now_ms: Callable[[], int]) -> None:
        self._limits = limits
        self._now_ms = now_ms
        self._atlas = Atlas()
        self._known = Known()
        self._refused = Known(20_000)
        self._at: PageSeen | None = None
        self._changes = Changes()
        self._passed = ""
        """The page that needs no look, nor do its links."""
        self.doubtful = False
        """Whether the link that ``link`` last let pass should wait for all others of its host."""
        self.cut: dict[str, Cut] = {}
        """By template: how many links were cut, why, and the first of them."""

    def link(self, url: str, *, found_on: str, depth: int) -> str | None:
        """Judge a link at ``depth`` on the page ``found_on``: None to follow it, or why not.

        A link that is cut here may be fine when another page has it: the caller must not take it
        for known.
        """
        self.doubtful = False
        if not self._limits.enabled or not found_on or found_on == self._passed:
            return None
        at = self._at
        if at is None or at.url != found_on:
            at = self._open(found_on, depth - 1, "")
        number = hash(url)
        new = self._known.add(number)
        if not new and number not in self._refused:
            return None
        if len(url) > LONG_URL and (why := too_long(url, self._limits)):
            self._refused.add(number)
            return self._refuse(template_of(url[:LONG_URL]), why, url, new=new)
        shape = self._atlas.shape(url)
        why, template = too_far(shape, depth, self._limits), shape.template
        if why is None:
            host = at.host if shape.origin == at.shape.origin else self._atlas.host(shape.origin)
            if host is not at.host and host.is_calm and not shape.slot and not shape.folded:
                # Nothing can be held against what another site names, and there is nothing yet to
                # learn of this one but where its pages come again.
                if new:
                    at.outside += 1
                    self._notice_mirror(host, shape)
                return None
            family = host.families.get(shape.template) or self._born(host, shape, at, depth)
            own = is_own(shape, family, at.shape, at.family)
            why = self._objection(host, shape, family, at, own=own)
            if new:
                self._look(host, shape, at, own=own)
            self.doubtful = is_doubtful(host, shape, family, own=own)
            template = _answers_for(shape, family)
        if why is None:
            return None
        self._refused.add(number)
        return self._refuse(template, why, url, new=new)

    def before(self, url: str, depth: int, *, found_on: str = "") -> str | None:
        """Judge a queued URL, linked from ``found_on``, once more before it is fetched."""
        self._settle()
        host = self._atlas.known(_origin(url))
        if not found_on or host is None or not host.watched:
            return None
        shape, other = self._atlas.shape(url), self._atlas.shape(found_on)
        family = host.families.get(shape.template) or self._born(host, shape, None, depth)
        own = is_own(shape, family, other, host.families.get(other.template))
        why = objection(host, shape, family, other, own=own, known=skeleton_key(shape))
        if why is None:
            return None
        return self._refuse(_answers_for(shape, family), why, url, new=True)

    def is_proven(self, url: str) -> bool:
        """Tell whether the kind of page a URL names is trusted: several may be visited at once."""
        host = self._atlas.known(_origin(url))
        shape = self._atlas.shape(url)
        family = host.families.get(shape.template) if host is not None else None
        if family is None or shape.slot or shape.folded:
            return False
        return family.strain.fresh >= PROVEN and not family.strain.idle

    def wants_content(self, url: str, depth: int, *, found_on: str = "") -> bool:
        """Tell whether the text of a page about to be read is needed."""
        if not self._limits.enabled:
            return False
        self._settle()
        host = self._atlas.known(_origin(url))
        self._passed = url if host is not None and host.passes_over() else ""
        if self._passed:
            return False
        shape = self._atlas.shape(url)
        return is_wanted(self._atlas, shape, depth, found_on)

    def page(self, url: str, *, depth: int, found_on: str, sketch: Sketch | None) -> None:
        """Take in a page that was fetched; ``sketch`` where the content was wanted."""
        if not self._limits.enabled:
            return
        if url == self._passed:
            self._atlas.host(_origin(url)).sound += 1
            return
        # Who linked to a page matters only when it is read.
        at = self._open(url, depth, found_on if sketch is not None else "")
        at.family.pages += 1
        # A page that comes again, after a crash or to be refreshed, is no copy of itself.
        if sketch is not None and not self._changes.has_text(url):
            self._read(at, found_on, sketch)

    def _read(self, at: PageSeen, found_on: str, sketch: Sketch) -> None:
        """Compare a page with those before it, then remember it."""
        above = self._above(at, found_on)
        at.read(sketch, above)
        links = joined(at.url, sketch.hrefs)
        if at.echo or at.thin:
            parent = at.host.families.get(at.family.parent)
            told = at.family.parts | parent.parts if parent else at.family.parts
            at.others = [url for url in links if hash(url) not in told]
            twin = at.shape.twin
            at.replay = bool(twin) and hash(twin) in self._known
        self._atlas.learn(at.host, at.family, sketch, links)
        self._changes.put_text(at.url, at.host, at.family, sketch)

    def explain(self, url: str) -> str | None:
        """Return why links to ``url`` are cut, if they are, in a sentence."""
        shape = self._atlas.shape(url)
        host = self._atlas.known(shape.origin)
        why = too_far(shape, 0, self._limits)
        if why is None and host is not None:
            family = host.families.get(shape.template) or Family("", Strain("", 0), "", 0)
            known = skeleton_key(shape)
            why = objection(host, shape, family, shape, own=True, known=known)
        cut = self.cut.get(shape.template)
        why = why or (cut.why if cut is not None else None)
        return f"it looks like part of a trap: {why}" if why else None

    def take_changes(self) -> dict[str, bytes]:
        """Return what is to be stored since the last call, by name."""
        self._settle()
        return self._changes.take()

    def restore(self, stored: Mapping[str, bytes]) -> None:
        """Take up what an earlier run stored."""
        for row in self._changes.read(stored):
            self._restore(row)

    def _restore(self, row: Row) -> None:
        match row:
            case CutRow(template, cut):
                self.cut[template] = cut
            case PlaceRow(origin, key, why):
                self._watched(origin).places[key] = Place(key, why=why)
            case SlotRow(origin, key, copies, repeats, fresh, differs, why, seen):
                slot = Slot(key, dict(seen), copies, repeats, fresh, differs, why)
                self._watched(origin).slots[key] = slot
            case TextRow():
                self._restore_text(row)
            case StrainRow():
                host, strain = self._watched(_origin(row.root)), row.strain()
                for template in row.templates:
                    self._atlas.adopt(host, Family(template, strain, "", row.depth))

    def _restore_text(self, row: TextRow) -> None:
        host = self._atlas.host(row.origin)
        host.sound = max(host.sound, row.sound)
        family = host.families.get(row.template)
        if family is None:
            strain = Strain(row.template, row.depth)
            family = Family(row.template, strain, "", row.depth)
            self._atlas.adopt(host, family)
        family.pages += 1
        sketch = Sketch(row.simhash, dict.fromkeys(row.parts, 1), ())
        self._atlas.learn(host, family, sketch, ())

    def _watched(self, origin: str) -> Host:
        host = self._atlas.host(origin)
        host.watched = True
        return host

    def _open(self, url: str, depth: int, found_on: str) -> PageSeen:
        """Turn to another page; what the last one brought is settled."""
        self._settle()
        shape = self._atlas.shape(url)
        host = self._atlas.host(shape.origin)
        other = self._atlas.shape(found_on) if found_on else None
        family = host.families.get(shape.template)
        if family is None:
            parent = other.template if other else ""
            family = Family(shape.template, Strain(shape.template, depth), parent, depth)
            self._atlas.adopt(host, family)
        at = self._at = PageSeen(url, shape, host, family, depth)
        if host.mirrors:
            at.mirror = host.mirrors.get(shape.top)
        if other is not None and other.origin == shape.origin:
            at.kin = is_kin(shape, other) or shape.segments <= other.segments
            at.own = is_own(shape, family, other, host.families.get(other.template))
        return at

    def _above(self, at: PageSeen, found_on: str) -> Family | None:
        """Return the family of the page that linked to ``at``, if it lies beside or above."""
        if not found_on:
            return None
        other = self._atlas.shape(found_on)
        return at.host.families.get(other.template) if is_inside(at.shape, other) else None

    def _born(self, host: Host, shape: Shape, at: PageSeen | None, depth: int) -> Family:
        """Return a family met for the first time, of the strain that brought it forth."""
        strain, parent = None, ""
        if at is not None:
            parent = at.shape.template
            if at.begets and is_inside(shape, at.shape):
                strain = at.family.strain
                strain.families += 1
        family = Family(shape.template, strain or Strain(shape.template, depth), parent, depth)
        self._atlas.adopt(host, family)
        return family

    def _objection(
        self, host: Host, shape: Shape, family: Family, at: PageSeen, *, own: bool
    ) -> str | None:
        known = skeleton_key(shape)
        why = objection(host, shape, family, at.shape, own=own, known=known)
        if why is not None or not own:
            return why
        if len(shape.names) > 1 and self._is_permuted(shape):
            self._note(host, shape, permuted=True)
            return "the same parameters in another order"
        if comes_round(shape) and shape.segments > at.shape.segments:
            return CIRCLES
        if shape.date is not None and is_far(shape.date, self._now_ms()):
            return "a date far from today"
        return None

    def _is_permuted(self, shape: Shape) -> bool:
        """Tell whether the same parameters came before in another order; the first one is good."""
        tidy = in_order(shape)
        spelling = hash((tidy, shape.query))
        # In a tuple, since the tidy form may be a URL that was met as such.
        if self._known.add(hash((tidy,))):
            self._known.add(spelling)
        return spelling not in self._known

    def _look(self, host: Host, shape: Shape, at: PageSeen, *, own: bool) -> None:
        """Take in what a link says that was not met before."""
        fresh = not shape.skeleton or self._known.add(hash(shape.skeleton))
        at.tally(shape, own=own, fresh=fresh)
        if shape.names and shape.place == at.shape.place:
            self._note(host, shape)
        if not shape.slot and not shape.folded:
            self._notice_mirror(host, shape)

    def _notice_mirror(self, host: Host, shape: Shape) -> None:
        shadow = shape.shadow
        if shadow and hash(shadow) in self._known:
            host.mirror(shape)

    def _note(self, host: Host, shape: Shape, *, permuted: bool = False) -> None:
        place = host.place(shape)
        if place.note(shape, permuted=permuted):
            host.watched = True
            self._changes.put_place(host.origin, place)

    def _settle(self) -> None:
        """Draw the conclusion from the last page, all of whose links are known by now."""
        at, self._at = self._at, None
        if at is None:
            return
        outcome = at.conclude(self._limits)
        if isinstance(outcome, Slot):
            if at.echo:
                self._changes.put_slot(at.host.origin, outcome)
        elif outcome:
            self._keep(at.host, at.family.strain)

    def _keep(self, host: Host, strain: Strain) -> None:
        templates = [strain.root]
        if strain.families > 1:
            families = host.families.values()
            templates = [f.template for f in families if f.strain is strain][-MAX_TEMPLATES:]
        self._changes.put(StrainRow.of(strain, templates))

    def _refuse(self, template: str, why: str, url: str, *, new: bool) -> str:
        if new:
            if template not in self.cut and len(self.cut) >= MAX_CUTS:
                template = REST
            cut = self.cut.get(template)
            if cut is None:
                cut = self.cut[template] = Cut(0, why, url)
            cut.count += 1
            self._changes.put(CutRow(template, cut))
        return why


def _origin(url: str) -> str:
    return url[: url.find("/", 8)]


def _answers_for(shape: Shape, family: Family) -> str:
    """Return the template under which a cut link is counted."""
    return family.strain.root if family.strain.why else shape.template
