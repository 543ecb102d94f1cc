"""Which parameters a path is linked with, and when they are combined without end."""

from dataclasses import dataclass, field

from skitter.crawl.traps.shape import Shape, choices
from skitter.crawl.traps.token import PAGING_NAMES

_MAX_ORDERS = 64
_MAX_PARTNERS = 3


@dataclass(slots=True, eq=False)
class Place:
    """A path and the parameters that pages of it link to it with."""

    key: str
    orders: set[tuple[str, ...]] = field(default_factory=set)
    """The names of the parameters, in the orders they came."""
    names: set[str] = field(default_factory=set)
    permuted: bool = False
    """Whether the same names came in two orders."""
    partners: dict[str, set[str]] = field(default_factory=dict)
    """Parameters with their values, and some of those each was seen with."""
    crossed: bool = False
    """Whether the values of two parameters are combined freely."""
    why: str = ""
    """Why combinations are cut; "" while they are not."""

    def note(self, shape: Shape, *, permuted: bool) -> bool:
        """Take in a link of the path to itself; tell whether combinations are cut from here on."""
        if self.why or len(self.orders) >= _MAX_ORDERS:
            return False
        self._cross(shape)
        if shape.names not in self.orders:
            mine = sorted(shape.names)
            permuted = permuted or any(sorted(order) == mine for order in self.orders)
            self.orders.add(shape.names)
            self.names.update(shape.names)
        self.permuted = self.permuted or permuted
        if self._explodes():
            names = ", ".join(sorted(self.names)[:5])
            self.why = f"parameters in every combination and order ({names})"
        return bool(self.why)

    def _cross(self, shape: Shape) -> None:
        if self.crossed or len(shape.names) < 2 or len(self.partners) >= _MAX_ORDERS:
            return
        pairs = choices(shape)
        for pair in pairs:
            met = self.partners.setdefault(pair, set())
            for other in pairs:
                if len(met) >= _MAX_PARTNERS:
                    break
                if other != pair:
                    met.add(other)
        partners = self.partners.items()
        free = {pair.partition("=")[0] for pair, met in partners if len(met) >= _MAX_PARTNERS}
        self.crossed = len(free) >= 2
        if self.crossed:
            self.partners.clear()

    def _explodes(self) -> bool:
        """Tell whether there are so many combinations that all of them must be meant.

        That is so when parameters which stand alone also stand in pairs, two times or in both
        orders, or when there are far more combinations than parameters.
        """
        alone = {order[0] for order in self.orders if len(order) == 1} - PAGING_NAMES
        pairs = {frozenset(order) for order in self.orders if len(order) == 2}
        crossed = sum(pair <= alone for pair in pairs)
        if crossed >= 2 or (crossed and self.permuted):
            return True
        needed = 2 * len(self.names) + (0 if self.permuted else 1)
        return len(self.names) >= 2 and len(self.orders) >= needed
