"""One page and what it brought: the evidence, and what follows from it."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from xxhash import xxh3_64_intdigest

from skitter.crawl.traps.limits import TrapLimits
from skitter.crawl.traps.memory import OWN_SHARE, Family, Host, Slot, words_beyond
from skitter.crawl.traps.shape import Shape, choices, shape_of
from skitter.crawl.traps.token import RETURN_NAMES
from skitter.crawl.traps.verdict import (
    DEEP_SEGMENTS,
    DESCENT,
    FEW_SOUND,
    is_inside,
    is_kin,
    judge_mirror,
    judge_slot,
    judge_strain,
)
from skitter.parse.simhash import Sketch, near
from skitter.url.parse import Base

THIN_WORDS = 12
MAX_OTHERS = 20
"""Links of a page that are looked at to see whether it is a list."""
_MAX_URL = 4_096
"""Characters of a link that are looked at; a page may write longer ones."""
MAX_LISTS = 100
"""Lists of a strain that are taken for such while they bring nothing that is not known."""
_SKELETONS = 2_000


def skeleton_key(shape: Shape) -> int:
    """Return the number of a URL without its ids; 0 where it has none."""
    return xxh3_64_intdigest(shape.skeleton.encode()) if shape.skeleton else 0


def joined(url: str, hrefs: Sequence[str]) -> list[str]:
    """Return the links of a page as URLs; most are paths, which need no parsing."""
    origin = url[: url.find("/", 8)]
    urls: list[str] = []
    base: Base | None = None
    for href in hrefs:
        if href[:1] == "/" and href[:2] != "//":
            urls.append(origin + href)
        elif href.startswith(("http://", "https://")):
            urls.append(href)
        else:
            base = base or Base(url)
            if target := base.join(href):
                urls.append(target)
    return urls


@dataclass(slots=True, eq=False)
class PageSeen:
    """A page whose links are being looked at."""

    url: str
    shape: Shape
    host: Host
    family: Family
    depth: int
    own: bool = False
    """Whether a page of its own strain linked to it."""
    kin: bool = False
    """Whether the page that linked to it is of the same kind by its looks."""
    replay: bool = False
    """Whether its name is known from the directory above: a relative link, followed again."""
    mirror: Slot | None = None
    """The directory that may repeat the rest of the host, when the page is in one."""
    echo: bool | None = None
    """Whether it has nothing of its own; None when it was not read."""
    thin: bool = False
    """Whether it has hardly anything of its own."""
    repeat: bool = False
    """Whether it was seen before under another id."""
    others: list[str] = field(default_factory=list)
    """Its links that neither its family nor the one it came from had."""
    bred: int = 0
    """Links that are new and stay within the strain."""
    outside: int = 0
    """Links that are new and lead elsewhere."""

    def read(self, sketch: Sketch, parent: Family | None) -> None:
        """Compare the page with what its host said before.

        ``parent`` is the family of the page that linked to it, where that lies beside or above.
        """
        shape, host = self.shape, self.host
        place = host.places.get(shape.place) if shape.names else None
        anywhere = shape.folded or bool(shape.slot) or self.mirror is not None
        anywhere = anywhere or (place is not None and place.permuted)
        words, something = host.has_own(self.family, sketch, anywhere=anywhere)
        self.echo = not something
        self.thin = something and words <= THIN_WORDS
        if self.echo and not self.own and parent is not None and parent.parts:
            own = words_beyond(sketch, parent.parts)
            if own * OWN_SHARE <= sum(sketch.parts.values()):
                # It says what the page above it says: the two are of one kind.
                self.own, self.family.strain = True, parent.strain
                parent.strain.families += 1
        slot = host.slot(shape)
        if slot is None:
            return
        key = skeleton_key(shape)
        earlier = slot.seen.get(key)
        if earlier is not None:
            self.repeat = True
            self.echo = self.echo or near(earlier, sketch.simhash)
            return
        if len(slot.seen) >= _SKELETONS:
            slot.seen.pop(next(iter(slot.seen)))
        slot.seen[key] = sketch.simhash

    def tally(self, shape: Shape, *, own: bool, fresh: bool) -> None:
        """Take in a link that is new; ``fresh`` says that it is so without its ids, too."""
        same_slot = bool(shape.slot) and shape.slot == self.shape.slot
        same_mirror = self.mirror is not None and shape.top == self.shape.top
        if own or same_slot or same_mirror or is_inside(shape, self.shape):
            self.bred += 1
        elif fresh:
            self.outside += 1

    @property
    def begets(self) -> bool:
        """Whether families found on it belong to its strain."""
        return self.echo is True and not self.outside

    def conclude(self, limits: TrapLimits) -> Slot | bool:
        """Draw the conclusion, all links being known.

        Returns the slot of the URL's id if the page spoke for or against that, else whether the
        page's strain has changed in a way that should be kept.
        """
        if self.echo is None:
            self.host.sound += 1
            return False
        if self.mirror is not None:
            self._conclude_mirror(self.mirror)
            return False
        if self.shape.slot:
            slot = self.host.slots[self.shape.slot]
            self._conclude_slot(slot)
            return slot
        return self._conclude_strain(limits)

    def _conclude_strain(self, limits: TrapLimits) -> bool:
        host, strain = self.host, self.family.strain
        strain.led += bool(self.outside)
        if not self.echo:
            return self._conclude_fresh(limits)
        if not self.own:
            strain.alike += 1
            host.sound += 1
            return False
        if self._is_harmless():
            return False
        strain.idle += 1
        host.watched = True
        judge_strain(host, strain, self.shape, limits)
        return True

    def _is_harmless(self) -> bool:
        """Tell whether a page without anything of its own is no sign of a trap."""
        strain = self.family.strain
        if not self._is_barren() and not self._is_combination():
            # A kind of page that comes to an end by itself is no trap, however alike its pages.
            strain.alike += not self.outside
            return True
        if strain.lists < MAX_LISTS and self._is_list():
            strain.lists += 1
            return True
        generation = self.depth - strain.depth
        strain.generation = max(strain.generation, generation)
        # Years lead to months and months to days, with nothing but numbers on them.
        return not self.kin and not self.replay and generation < DESCENT

    def _is_barren(self) -> bool:
        return self.bred > 0 and not self.outside

    def _conclude_fresh(self, limits: TrapLimits) -> bool:
        host, strain = self.host, self.family.strain
        barren = self._is_barren()
        self._conclude_thin(barren=barren)
        if self.own and self.thin and barren and self._is_empty_date():
            strain.idle += 1
            host.watched = True
            judge_strain(host, strain, self.shape, limits)
            return True
        strain.fresh += 1
        host.sound += 1
        was_idle = self.own and strain.idle > 0
        if was_idle:
            strain.idle = 0
        return was_idle

    def _is_empty_date(self) -> bool:
        """Tell whether it is a day or month with a few words, on a host that says more elsewhere.

        "Nothing in May" is new the first time it is said.
        """
        return self.shape.date is not None and self.host.sound >= FEW_SOUND and not self._is_list()

    def _conclude_thin(self, *, barren: bool) -> None:
        thin = self.thin and barren
        if self.shape.segments >= DEEP_SEGMENTS:
            self.host.thin = self.host.thin + 1 if thin else 0
            self.host.watched = self.host.watched or thin

    def _is_list(self) -> bool:
        """Tell whether it leads to pages elsewhere that its family did not lead to before."""
        others = (url[:_MAX_URL] for url in self.others[:MAX_OTHERS])
        return any(self._leads_out(shape_of(url)) for url in others)

    def _leads_out(self, shape: Shape) -> bool:
        kin = is_kin(shape, self.shape) or is_inside(shape, self.shape)
        return not kin and not shape.slot and not shape.folded

    def _is_combination(self) -> bool:
        """Tell whether the page is one of many that only combine values of parameters."""
        if self.outside or len(self.shape.names) < 2 or len(choices(self.shape)) < 2:
            return False
        return self.host.place(self.shape).crossed

    def _conclude_slot(self, slot: Slot) -> None:
        host = self.host
        # A page to come back from need not lead on: every page of the site makes another.
        breeds = self.bred > 0 or not RETURN_NAMES.isdisjoint(self.shape.names)
        if not self.echo:
            slot.fresh += not self.repeat
            slot.differs += self.repeat
            host.sound += 1
        elif not breeds or self.outside:
            host.sound += 1
        elif self.repeat:
            slot.repeats += 1
        else:
            slot.copies += 1
        judge_slot(host, slot)

    def _conclude_mirror(self, mirror: Slot) -> None:
        if self.echo and self.bred and not self.outside:
            mirror.copies += 1
        elif self.echo:
            mirror.repeats += 1
        else:
            mirror.fresh += 1
            mirror.differs += 1
            self.host.sound += 1
        judge_mirror(self.host, mirror)
