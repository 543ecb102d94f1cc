"""Which pages are read: all that are under suspicion, and of the rest ever fewer."""

from skitter.crawl.traps.atlas import Atlas
from skitter.crawl.traps.memory import Family, Host, Slot
from skitter.crawl.traps.shape import Shape
from skitter.crawl.traps.verdict import is_doubtful, is_own

_GENERATIONS = 4
_ALIKE = 8
_EVERY = 32
_FIRSTS = 64
_MIRRORED = 300
"""Pages of a host that are read to know its directories by their copies."""


def is_wanted(atlas: Atlas, shape: Shape, depth: int, found_on: str) -> bool:
    """Tell whether the text of a page is needed that ``found_on`` links to."""
    host = atlas.host(shape.origin)
    if shape.slot:
        slot = host.slot(shape)
        return slot is None or slot.is_open
    if host.mirrors and host.sound < _MIRRORED and any(map(_is_open, host.mirrors.values())):
        return True
    family = host.families.get(shape.template)
    if family is None or not family.pages:
        return _is_wanted_first(host)
    if _is_suspect(host, shape, family):
        return True
    pages = family.pages
    if found_on and _may_go_on(host, shape, family, depth):
        other = atlas.shape(found_on)
        if is_own(shape, family, other, host.families.get(other.template)):
            return pages % (1 + pages // _EVERY) == 0
    # The second, third, fifth, 17th, 65th …
    return pages <= 2 or (pages & (pages - 1) == 0 and pages.bit_length() % 2 == 1)


def _may_go_on(host: Host, shape: Shape, family: Family, depth: int) -> bool:
    """Tell whether a page would be a step of an endless way, if its own kind led to it."""
    deep = depth - family.depth >= _GENERATIONS
    return deep or is_doubtful(host, shape, family, own=True)


def _is_suspect(host: Host, shape: Shape, family: Family) -> bool:
    strain = family.strain
    if strain.idle or shape.folded or 0 < strain.alike < _ALIKE:
        return True
    place = host.places.get(shape.place) if shape.names else None
    return place is not None and len(place.orders) > 2 and family.pages < _EVERY


def _is_open(mirror: Slot) -> bool:
    return mirror.is_open and mirror.repeats < _ALIKE


def _is_wanted_first(host: Host) -> bool:
    host.firsts += 1
    return host.firsts % (1 + host.firsts // _FIRSTS) == 0
