"""What the guard remembers of a host, within bounds.

A *family* is the pages of one template. A *strain* is a family together with those its barren
pages bring forth: the thing that is cut. Pages of a host are read for their parts (see
``parse.simhash``), so that a later page can be asked what it has of its own.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from skitter.crawl.traps.parameters import Place
from skitter.crawl.traps.shape import Shape
from skitter.parse.simhash import Sketch, near

MAX_HOSTS = 5_000
MAX_FAMILIES = 50_000
"""Over all hosts."""
HOST_FAMILIES = 10_000
HOST_ROWS = 500
"""Slots, places and mirrors of one host, each."""
FAMILY_PARTS = 1_000
HOST_PARTS = 12_000
MAX_PARTS = 300_000
"""Parts of text over all hosts."""
RECENT = 8
CALM_PAGES = 64
"""So many sound pages for each page that is passed over between two looks."""
MOST_PASSED = 7
OWN_SHARE = 20
"""A page has something of its own when more than one word in this many is."""
NEAR_SHARE = 7
"""The same where the page as a whole is near one seen before."""


@dataclass(slots=True, eq=False)
class Strain:
    """Families that bring each other forth, and what came of their pages."""

    root: str
    """Template of the first of them."""
    depth: int
    idle: int = 0
    """Pages in a row that brought nothing and led on to more of the strain."""
    fresh: int = 0
    """Pages with something of their own."""
    alike: int = 0
    """Pages that brought nothing though others link to them: so the site is."""
    lists: int = 0
    """Pages that said nothing but led to known pages no other page of the strain led to."""
    led: int = 0
    """Pages that led elsewhere: to what was not known."""
    families: int = 1
    generation: int = 0
    """Links between the first page and the last that brought nothing."""
    why: str = ""
    """Why links within the strain are cut; "" while they are not."""


@dataclass(slots=True, eq=False)
class Slot:
    """A place in a site's URLs that holds a random id, and what pages show for it."""

    key: str
    seen: dict[int, int] = field(default_factory=dict)
    """Pages without their id, and the simhash each had."""
    copies: int = 0
    """Pages that showed, at their first visit, what the host showed elsewhere."""
    repeats: int = 0
    """Pages that showed the same under another id, or that said nothing for or against."""
    fresh: int = 0
    """Pages that had, at their first visit, something of their own."""
    differs: int = 0
    """Pages that showed something else under another id."""
    why: str = ""
    """Why all links with such an id are cut."""

    @property
    def is_noise(self) -> bool:
        """Whether the id changes nothing, so that a page is fetched under one id only."""
        return self.repeats >= 2 and self.repeats > self.differs

    @property
    def is_open(self) -> bool:
        """Whether it is still to be found out what the id means."""
        settled = self.differs >= 4 or (self.fresh >= 200 and not self.repeats)
        return not self.why and not settled


@dataclass(slots=True, eq=False)
class Family:
    """The pages of one template."""

    template: str
    strain: Strain
    parent: str
    """Template of the page that first linked to it."""
    depth: int
    pages: int = 0
    parts: set[int] = field(default_factory=set)
    """What its pages said, and where they led."""
    recent: deque[int] = field(default_factory=lambda: deque(maxlen=RECENT))


@dataclass(slots=True, eq=False)
class Host:
    """Everything remembered of one origin."""

    origin: str
    families: dict[str, Family] = field(default_factory=dict)
    slots: dict[str, Slot] = field(default_factory=dict)
    places: dict[str, Place] = field(default_factory=dict)
    parts: set[int] = field(default_factory=set)
    kept: int = 0
    """Parts of text that are held, those of the families included."""
    sound: int = 0
    """Pages that are not under suspicion."""
    firsts: int = 0
    """Pages fetched that were the first of their family."""
    mirrors: dict[str, Slot] = field(default_factory=dict)
    """Directories under which the paths of other pages come again."""
    thin: int = 0
    """Thin pages in a row in deep directories."""
    watched: bool = False
    """Whether anything is under suspicion, so that known links are judged again."""
    passed: int = 0
    """Pages passed over since the last that was looked at."""

    @property
    def is_calm(self) -> bool:
        """Whether nothing of it was ever suspicious."""
        return not (self.watched or self.slots or self.mirrors or self.places)

    def passes_over(self) -> bool:
        """Tell whether the next page needs no look: the larger a calm host, the fewer are needed.

        What a trap brings until it is met is small beside what such a host has given.
        """
        if not self.is_calm:
            return False
        if self.passed < min(self.sound // CALM_PAGES, MOST_PASSED):
            self.passed += 1
            return True
        self.passed = 0
        return False

    def slot(self, shape: Shape) -> Slot | None:
        """Return what is known of the place of the URL's id; None without an id."""
        return _kept(self.slots, shape.slot, Slot) if shape.slot else None

    def place(self, shape: Shape) -> Place:
        """Return what is known of the parameters of the URL's path."""
        return _kept(self.places, shape.place, Place)

    def mirror(self, shape: Shape) -> Slot:
        """Return what is known of the URL's first directory, where other paths come again."""
        return _kept(self.mirrors, shape.top, Slot)

    def adopt(self, family: Family) -> None:
        """Take in a family met for the first time."""
        if len(self.families) >= HOST_FAMILIES:
            for template in [*self.families][: HOST_FAMILIES // 4]:
                if not self.families[template].strain.idle:
                    self.kept -= len(self.families.pop(template).parts)
            if len(self.families) >= HOST_FAMILIES:
                self.families.clear()
                self.kept = len(self.parts)
        if replaced := self.families.get(family.template):
            self.kept -= len(replaced.parts)
        self.families[family.template] = family

    def learn(self, family: Family, sketch: Sketch, links: Iterable[int]) -> None:
        """Remember the parts of a page and its links."""
        before = len(self.parts) + len(family.parts)
        if len(family.parts) < FAMILY_PARTS:
            family.parts.update(sketch.parts)
            family.parts.update(links)
        if len(self.parts) < HOST_PARTS:
            self.parts.update(sketch.parts)
        family.recent.append(sketch.simhash)
        self.kept += len(self.parts) + len(family.parts) - before

    def forget_texts(self, count: int) -> None:
        """Forget ``count`` parts or more: of the oldest families first, then of the host."""
        left = self.kept - count
        for family in self.families.values():
            if self.kept <= left:
                return
            self.kept -= len(family.parts)
            family.parts.clear()
        if self.kept > left:
            self.parts.clear()
            self.kept = 0

    def has_own(self, family: Family, sketch: Sketch, *, anywhere: bool) -> tuple[int, bool]:
        """Return how many words of a page are its own, and whether that is something at all.

        It is compared with its family and the one it came from, or with all that the host ever
        said (``anywhere``).
        """
        parent = self.families.get(family.parent)
        told = self.parts if anywhere else family.parts
        if parent is not None and not anywhere:
            told = told | parent.parts
        words = sum(sketch.parts.values())
        own = words_beyond(sketch, told)
        if not told or own * NEAR_SHARE > words:
            return own, True
        alike = anywhere or any(near(simhash, sketch.simhash) for simhash in family.recent)
        return own, not alike and own * OWN_SHARE > words


def words_beyond(sketch: Sketch, told: set[int]) -> int:
    """Return how many words of a page are in parts that were not ``told`` before."""
    return sum(count for part, count in sketch.parts.items() if part not in told)


_Kept = TypeVar("_Kept", Slot, Place)


def _kept(rows: dict[str, _Kept], key: str, make: Callable[[str], _Kept]) -> _Kept:
    found = rows.get(key)
    if found is None:
        if len(rows) >= HOST_ROWS:
            rows.pop(next(iter(rows)))
        found = rows[key] = make(key)
    return found


class Known:
    """URLs met lately, as hashes: the newest ones, at least ``size``."""

    __slots__ = ("_old", "_size", "_young")

    def __init__(self, size: int = 100_000) -> None:
        self._young: set[int] = set()
        self._old: set[int] = set()
        self._size = size

    def __contains__(self, key: int) -> bool:
        return key in self._young or key in self._old

    def add(self, key: int) -> bool:
        """Remember ``key`` and tell whether it is new."""
        young = self._young
        if key in young:
            return False
        if len(young) >= self._size:
            self._old = young
            young = self._young = set()
        young.add(key)
        return key not in self._old
