"""What is held against a link, and when what was seen of a strain is enough to cut it."""

from skitter.crawl.traps.limits import TrapLimits
from skitter.crawl.traps.memory import Family, Host, Slot, Strain
from skitter.crawl.traps.shape import Shape

MANY_ALIKE = 3
"""So many pages alike that others link to, and being alike says nothing."""
FEW_SOUND = 20
"""With fewer sound pages a host shows no difference between them and the rest."""
DEEP = 16
DEEP_SEGMENTS = 8
DESCENT = 3
"""Directories below each other that may say nothing: fewer, and there may be an end to them."""
_DEEP_PAGES = 20
_COPIES = 3
_ENDLESS = 5_000
_SLACK = 40
_SOUND_PER_IDLE = 150


def is_kin(shape: Shape, other: Shape) -> bool:
    """Tell whether two URLs are of one kind by their looks."""
    if shape.place == other.place or shape.template == other.template:
        return True
    return shape.folded and shape.path.startswith(_folder(other.path))


def is_own(shape: Shape, family: Family, other: Shape, other_family: Family | None) -> bool:
    """Tell whether a link to ``shape`` found on a page of ``other`` stays within one strain."""
    if other_family is not None and family.strain is other_family.strain:
        return True
    return is_kin(shape, other)


def is_inside(shape: Shape, other: Shape) -> bool:
    """Tell whether ``shape`` lies beside or below ``other``, in other than the root directory."""
    if shape.origin != other.origin:
        return False
    folder = _folder(other.path)
    if len(folder) > 1 and shape.path.startswith(folder):
        return True
    parent = other.path.rstrip("/").rpartition("/")[0]
    return bool(parent) and shape.path.startswith(f"{parent}/")


def _folder(path: str) -> str:
    return path if path.endswith("/") else path[: path.rfind("/") + 1]


def objection(
    host: Host, shape: Shape, family: Family, other: Shape, *, own: bool, known: int
) -> str | None:
    """Return what is held against a URL linked from ``other`` by what was seen of the host.

    ``own`` says that a page of the same strain links to it; ``known`` is the number of its
    skeleton.
    """
    why = _objection_to_id(host.slots.get(shape.slot), known) if shape.slot else None
    mirror = host.mirrors.get(shape.top)
    if why is None and mirror is not None and shape.top == other.top:
        why = mirror.why or None
    deep = host.thin >= _DEEP_PAGES and shape.segments > DEEP_SEGMENTS
    if deep and is_inside(shape, other):
        why = "directories without end that hold nothing but directories"
    if why is not None or not own:
        return why
    if family.strain.why:
        return family.strain.why
    place = host.places.get(shape.place) if shape.names else None
    if place is None or not place.why or shape.pages_on:
        return None
    proven = len(shape.names) == 1 and family.strain.led
    return None if proven else place.why


def _objection_to_id(slot: Slot | None, known: int) -> str | None:
    if slot is None:
        return None
    if not slot.why and slot.is_noise and known in slot.seen:
        return f"the id in {slot.key} changes nothing of the page"
    return slot.why or None


def is_doubtful(host: Host, shape: Shape, family: Family, *, own: bool) -> bool:
    """Tell whether a link should wait until everything else of the host is fetched.

    What looks like a trap shows what it is best when all real pages are known.
    """
    slot = host.slot(shape)
    mirror = host.mirrors.get(shape.top)
    if (slot is not None and slot.is_open) or (mirror is not None and mirror.is_open):
        return True
    if not own:
        return False
    if family.strain.idle or shape.folded:
        return True
    if shape.names and not shape.pages_on and not family.strain.fresh:
        return True
    return shape.date is not None


def judge_strain(host: Host, strain: Strain, shape: Shape, limits: TrapLimits) -> bool:
    """Cut a strain when enough of its pages in a row brought nothing; tell whether it is cut."""
    if strain.why or strain.idle < _budget(host, strain, shape, limits):
        return bool(strain.why)
    kind = "a calendar without end" if shape.date else "pages without end"
    if shape.folded:
        kind = "a path that goes in circles"
    count = f"{strain.idle} pages in a row" if strain.idle > 1 else "a page"
    strain.why = f"{kind}: {count} brought nothing and led to more of the kind"
    host.watched = True
    return True


def _budget(host: Host, strain: Strain, shape: Shape, limits: TrapLimits) -> int:
    if shape.folded:
        return 1
    date = shape.date
    if date is not None:
        # Archives have days without an article, seldom months.
        return (limits.budget + 1 if date[2] else limits.budget - 1) + min(
            strain.fresh // 8, _SLACK
        )
    if shape.names and not shape.pages_on and strain.alike < MANY_ALIKE:
        return limits.budget - 1 + bool(strain.fresh) + min(strain.fresh // 8, _SLACK)
    alike = strain.alike >= MANY_ALIKE and strain.families == 1
    if alike or host.sound < FEW_SOUND:
        deep = strain.generation >= DEEP or strain.families > 1
        return limits.doubled_budget if deep else _ENDLESS
    base = max(limits.budget, min(_SLACK, host.sound // _SOUND_PER_IDLE))
    return base + bool(strain.fresh) + min(strain.fresh // 20, _SLACK)


def judge_slot(host: Host, slot: Slot) -> None:
    """Cut the links of a slot when its pages only show what the host shows without it."""
    if slot.copies and slot.copies + slot.repeats >= 2 + 3 * slot.fresh and not slot.why:
        slot.why = f"an id in {slot.key} that only leads to copies of other pages"
    if slot.why or slot.is_noise:
        host.watched = True


def judge_mirror(host: Host, mirror: Slot) -> None:
    """Cut the links within a directory that only repeats the rest of the host."""
    if mirror.copies >= _COPIES + 3 * mirror.fresh and not mirror.why:
        mirror.why = f"everything below /{mirror.key}/ is a copy of other pages"
        host.watched = True
