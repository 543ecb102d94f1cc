"""Which parameters a path is linked with, and when they are combined without end."""

from dataclasses import dataclass, field

from skitter.crawl.traps.shape import Shape, choices
from skitter.crawl.traps.token import PAGING_NAMES

_MAX_ORDERS = 64
_MAX_PARTNERS = 3
_MAX_NAMES = _MAX_ORDERS // 2 + 1
"""With more names there can be no orders enough to say anything of them."""


@dataclass(slots=True, eq=False)
class Place:
    """A path and the parameters that pages of it link to it with."""

    key: str
    orders: set[int] = field(default_factory=set)
    """The names of the parameters in the orders they came, as hashes: names may be long."""
    sorted_orders: set[int] = field(default_factory=set)
    """The same in alphabetical order."""
    alone: set[str] = field(default_factory=set)
    """Names that came without another."""
    pairs: set[frozenset[str]] = field(default_factory=set)
    """Names that came two by two."""
    names: set[str] = field(default_factory=set)
    permuted: bool = False
    """Whether the same names came in two orders."""
    partners: dict[tuple[int, int], set[int]] = field(default_factory=dict)
    """Parameters without and with their values, and some of those each was seen with: hashes."""
    crossed: bool = False
    """Whether the values of two parameters are combined freely."""
    why: str = ""
    """Why combinations are cut; "" while they are not."""

    def note(self, shape: Shape, *, permuted: bool) -> bool:
        """Take in a link of the path to itself; tell whether combinations are cut from here on."""
        if self.why or len(self.orders) >= _MAX_ORDERS:
            return False
        self._cross(shape)
        order = hash(shape.names)
        if order not in self.orders:
            mine = hash(tuple(sorted(shape.names)))
            permuted = permuted or mine in self.sorted_orders
            self.orders.add(order)
            self.sorted_orders.add(mine)
            self._take(shape.names)
        self.permuted = self.permuted or permuted
        if self._explodes():
            names = ", ".join(sorted(self.names)[:5])
            self.why = f"parameters in every combination and order ({names})"
        return bool(self.why)

    def _take(self, names: tuple[str, ...]) -> None:
        if len(self.names) < _MAX_NAMES:
            self.names.update(names)
        if len(names) == 1:
            self.alone.update(names)
        elif len(names) == 2:
            self.pairs.add(frozenset(names))

    def _cross(self, shape: Shape) -> None:
        if self.crossed or len(shape.names) < 2 or len(self.partners) >= _MAX_ORDERS:
            return
        pairs = dict.fromkeys(choices(shape))
        for pair in pairs:
            key = hash(pair.partition("=")[0]), hash(pair)
            met = self.partners.setdefault(key, set())
            for other in pairs:
                if len(met) >= _MAX_PARTNERS:
                    break
                if other != pair:
                    met.add(hash(other))
        free = {name for (name, _), met in self.partners.items() if len(met) >= _MAX_PARTNERS}
        self.crossed = len(free) >= 2
        if self.crossed:
            self.partners.clear()

    def _explodes(self) -> bool:
        """Tell whether there are so many combinations that all of them must be meant.

        That is so when parameters which stand alone also stand in pairs, two times or in both
        orders, or when there are far more combinations than parameters.
        """
        alone = self.alone - PAGING_NAMES
        crossed = sum(pair <= alone for pair in self.pairs)
        if crossed >= 2 or (crossed and self.permuted):
            return True
        needed = 2 * len(self.names) + (0 if self.permuted else 1)
        return len(self.names) >= 2 and len(self.orders) >= needed
