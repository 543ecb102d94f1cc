"""What of the guard's knowledge outlives the process: small rows, one per thing that changed."""

from collections.abc import Iterator, Mapping
from typing import Self

import msgspec
from xxhash import xxh3_64_hexdigest, xxh3_64_intdigest

from skitter.crawl.traps.memory import Family, Host, Slot, Strain
from skitter.crawl.traps.parameters import Place
from skitter.parse.simhash import Sketch

MAX_ROWS = 5_000
"""Rows kept of one job; what comes beyond them is known to the running process only."""
MAX_TEMPLATES = 40
"""Templates of a strain that are kept."""
MAX_SEEN = 200
MAX_TEXTS = 3_000
"""Pages of one job whose texts are kept."""
_MAX_PARTS = 200


class Cut(msgspec.Struct, array_like=True):
    """What was cut of one template."""

    count: int
    why: str
    example: str
    """The first URL that was cut."""


class CutRow(msgspec.Struct, array_like=True, tag="cut-1"):
    """A line of the list of what was cut."""

    template: str
    cut: Cut


class StrainRow(msgspec.Struct, array_like=True, tag="strain-1"):
    """A strain under suspicion and templates that belong to it."""

    root: str
    depth: int
    idle: int
    fresh: int
    alike: int
    lists: int
    led: int
    families: int
    generation: int
    why: str
    templates: list[str]

    @classmethod
    def of(cls, strain: Strain, templates: list[str]) -> Self:
        """Return the row of ``strain``."""
        s = strain
        numbers = (s.depth, s.idle, s.fresh, s.alike, s.lists, s.led, s.families, s.generation)
        return cls(s.root, *numbers, s.why, templates)

    def strain(self) -> Strain:
        """Return the strain as it was."""
        return Strain(
            self.root,
            self.depth,
            idle=self.idle,
            fresh=self.fresh,
            alike=self.alike,
            lists=self.lists,
            led=self.led,
            families=self.families,
            generation=self.generation,
            why=self.why,
        )


class SlotRow(msgspec.Struct, array_like=True, tag="slot-1"):
    """A place that holds a random id."""

    origin: str
    key: str
    copies: int
    repeats: int
    fresh: int
    differs: int
    why: str
    seen: list[tuple[int, int]]


class PlaceRow(msgspec.Struct, array_like=True, tag="place-1"):
    """A path whose parameters come in every combination."""

    origin: str
    key: str
    why: str


class TextRow(msgspec.Struct, array_like=True, tag="text-1"):
    """What a page said, so that copies of it are known as such after a restart, too."""

    page: int
    """Number of the page's URL."""
    origin: str
    template: str
    depth: int
    sound: int
    """Pages of the host that were sound by then."""
    simhash: int
    parts: list[int]


Row = CutRow | StrainRow | SlotRow | PlaceRow | TextRow
_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Row).decode


class Changes:
    """The rows that changed since they were last taken."""

    def __init__(self) -> None:
        self._rows: dict[str, Row] = {}
        self._names: set[str] = set()
        self._texts: set[int] = set()

    def take(self) -> dict[str, bytes]:
        """Return the changed rows by name, and begin anew."""
        taken = {name: _encode(row) for name, row in self._rows.items()}
        self._rows.clear()
        return taken

    def put(self, row: Row) -> None:
        """Note a row that is to be kept."""
        name = _name(row)
        if name not in self._names:
            if len(self._names) >= MAX_ROWS:
                return
            self._names.add(name)
        self._rows[name] = row

    def put_slot(self, origin: str, slot: Slot) -> None:
        """Note the state of a slot."""
        seen = [*slot.seen.items()][-MAX_SEEN:]
        numbers = (slot.copies, slot.repeats, slot.fresh, slot.differs)
        self.put(SlotRow(origin, slot.key, *numbers, slot.why, seen))

    def put_place(self, origin: str, place: Place) -> None:
        """Note the state of a path."""
        self.put(PlaceRow(origin, place.key, place.why))

    def put_text(self, url: str, host: Host, family: Family, sketch: Sketch) -> None:
        """Note what a page said."""
        if len(self._texts) >= MAX_TEXTS:
            return
        page = xxh3_64_intdigest(url.encode())
        self._texts.add(page)
        about = (host.origin, family.template, family.depth, host.sound)
        row = TextRow(page, *about, sketch.simhash, [*sketch.parts][:_MAX_PARTS])
        self._rows[_name(row)] = row

    def has_text(self, url: str) -> bool:
        """Tell whether the page was read before, in this run or an earlier one."""
        return xxh3_64_intdigest(url.encode()) in self._texts

    def read(self, stored: Mapping[str, bytes]) -> Iterator[Row]:
        """Yield rows of an earlier run; one that cannot be read is left out."""
        for name, value in stored.items():
            try:
                row = _decode(value)
            except msgspec.DecodeError:
                continue
            if isinstance(row, TextRow):
                self._texts.add(row.page)
            else:
                self._names.add(name)
            yield row


def _name(row: Row) -> str:
    match row:
        case CutRow(template=key):
            kind = "c"
        case StrainRow(root=key):
            kind = "t"
        case SlotRow():
            kind, key = "s", f"{row.origin} {row.key}"
        case PlaceRow(key=key):
            kind = "p"
        case TextRow():
            return f"w{row.page:016x}"
    return kind + xxh3_64_hexdigest(key.encode())
