"""How the values of the seam are written in messages.

Many structs of one kind become a table: a tuple of columns, where a column whose rows are all
alike is written as that one value. The links of a page share nearly everything but their URL, so a
table costs a fraction of the bytes and of the time that one object for each link would.

A deadline is boot time of the process that reads it, and means nothing to another. Messages say
how many milliseconds are left instead.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import repeat
from types import GenericAlias
from typing import Any, Generic, Protocol, TypeVar, get_type_hints

import msgspec
from msgspec.structs import astuple, replace

from skitter.frontier.model import Ack, Claim, Freed, Grant, Hop, Lease, Link, Tally

S = TypeVar("S", bound=msgspec.Struct)

_DEADLINE = "expires_at"


def row_of(types: Iterable[Any]) -> Any:
    """Return the type of a tuple with these fields."""
    return GenericAlias(tuple, tuple(types))


def _list_of(each: Any) -> Any:
    return GenericAlias(list, (each,))


class Form(Protocol):
    """How values of one type are written."""

    wire: Any
    """The type a message is decoded to; whatever does not fit it is refused."""

    def pack(self, value: Any, boot: float) -> Any:
        """Return what is written; ``boot`` is the moment from which deadlines are counted."""

    def unpack(self, packed: Any, boot: float) -> Any:
        """Return the value that was written."""


class Plain:
    """Values that are written as they are."""

    def __init__(self, wire: Any) -> None:
        self.wire = wire

    def pack(self, value: Any, boot: float) -> Any:
        """Return the value."""
        del boot
        return value

    def unpack(self, packed: Any, boot: float) -> Any:
        """Return the value."""
        del boot
        return packed


class Numbers:
    """Any walk over numbers, as a list."""

    wire: Any = list[int]

    def pack(self, value: Iterable[int], boot: float) -> list[int]:
        """Return the numbers."""
        del boot
        return list(value)

    def unpack(self, packed: list[int], boot: float) -> list[int]:
        """Return the numbers."""
        del boot
        return packed


class Table(Generic[S]):
    """Structs of one kind by columns; the first column is never shortened and says how many."""

    def __init__(self, kind: type[S]) -> None:
        self._kind = kind
        hints = get_type_hints(kind)
        fields = [field.name for field in msgspec.structs.fields(kind)]
        types = [int if name == _DEADLINE else hints[name] for name in fields]
        columns = [_list_of(types[0]), *(each | _list_of(each) for each in types[1:])]
        self.wire: Any = row_of(columns) | None
        self._deadline = fields.index(_DEADLINE) if _DEADLINE in fields else None

    def pack(self, value: Iterable[S], boot: float) -> tuple[Any, ...] | None:
        """Return the columns; None stands for no row at all."""
        columns: list[Any] = list(zip(*map(astuple, value), strict=True))
        if not columns:
            return None
        at = self._deadline
        if at is not None:
            columns[at] = tuple(round((end - boot) * 1000) for end in columns[at])
        rows = len(columns[0])
        for place in range(1, len(columns)):
            column = columns[place]
            first = column[0]
            # Looking at both ends first spares most of the counting.
            if column[-1] == first and column.count(first) == rows:
                columns[place] = first
        return tuple(columns)

    def unpack(self, packed: tuple[Any, ...] | None, boot: float) -> list[S]:
        """Return the structs; raises when the columns do not have the same length."""
        if packed is None:
            return []
        rows = len(packed[0])
        columns: list[Any] = []
        for column in packed:
            if type(column) is not list:
                column = repeat(column, rows)
            elif len(column) != rows:
                raise msgspec.ValidationError(f"{self._kind.__name__} table with ragged columns")
            columns.append(column)
        at = self._deadline
        if at is not None:
            columns[at] = [boot + left / 1000 for left in columns[at]]
        return list(map(self._kind, *columns))


class HeldLeases(Table[Lease]):
    """Leases on their way back to the store, which has their data itself."""

    def pack(self, value: Iterable[Lease], boot: float) -> tuple[Any, ...] | None:
        """Return the columns, with no data in them."""
        return super().pack([replace(e, data=b"") if e.data else e for e in value], boot)


links_form = Table(Link)
leases_form = Table(Lease)
held_form = HeldLeases(Lease)
grants_form = Table(Grant)
freed_form = Table(Freed)
hops_form = Table(Hop)


class OneLease:
    """A lease alone, on its way back: a table of one row."""

    wire: Any = held_form.wire

    def pack(self, value: Lease, boot: float) -> tuple[Any, ...] | None:
        """Return the row."""
        return held_form.pack((value,), boot)

    def unpack(self, packed: tuple[Any, ...] | None, boot: float) -> Lease:
        """Return the lease; raises when there is not exactly one."""
        leases = held_form.unpack(packed, boot)
        if len(leases) != 1:
            raise msgspec.ValidationError(f"{len(leases)} leases where one was wanted")
        return leases[0]


class Claims:
    """The answer to a claim."""

    wire: Any = row_of((leases_form.wire, int | None, int))

    def pack(self, value: Claim, boot: float) -> tuple[Any, ...]:
        """Return leases, next time and version."""
        return leases_form.pack(value.leases, boot), value.next_ready_ms, value.version

    def unpack(self, packed: tuple[Any, int | None, int], boot: float) -> Claim:
        """Return the claim."""
        leases, next_ready_ms, version = packed
        return Claim(tuple(leases_form.unpack(leases, boot)), next_ready_ms, version)


_LISTS: Mapping[str, Table[Any]] = {"links": links_form, "hops": hops_form}
_ENDINGS = [field.name for field in msgspec.structs.fields(Ack)][1:]
_PLACES = [(_ENDINGS.index(name), table) for name, table in _LISTS.items()]


class Acks:
    """Acks: a table of their leases, then the rest of each."""

    def __init__(self) -> None:
        hints = get_type_hints(Ack)
        hints |= {name: table.wire for name, table in _LISTS.items()} | {"tally": Tally}
        ending = row_of(hints[name] for name in _ENDINGS)
        self.wire: Any = row_of((held_form.wire, _list_of(ending)))

    def pack(self, value: Sequence[Ack], boot: float) -> tuple[Any, Any]:
        """Return leases and endings."""
        endings = []
        for ack in value:
            rest = list(astuple(ack)[1:])
            for place, table in _PLACES:
                rest[place] = table.pack(rest[place], boot)
            endings.append(rest)
        return held_form.pack([ack.lease for ack in value], boot), endings

    def unpack(self, packed: tuple[Any, list[tuple[Any, ...]]], boot: float) -> list[Ack]:
        """Return the acks; raises when there is not one lease for each."""
        leases = held_form.unpack(packed[0], boot)
        if len(leases) != len(packed[1]):
            raise msgspec.ValidationError(f"{len(packed[1])} acks of {len(leases)} leases")
        acks = []
        for lease, ending in zip(leases, packed[1], strict=True):
            rest = list(ending)
            for place, table in _PLACES:
                rest[place] = table.unpack(rest[place], boot)
            acks.append(Ack(lease, *rest))
        return acks


FORMS: Mapping[Any, Form] = {
    Iterable[int]: Numbers(),
    Iterable[Grant]: grants_form,
    Sequence[Grant]: grants_form,
    list[Grant]: grants_form,
    Sequence[Freed]: freed_form,
    Sequence[Link]: links_form,
    Sequence[Lease]: held_form,
    Lease: OneLease(),
    Sequence[Ack]: Acks(),
    Claim: Claims(),
}
"""Types that are not written as they are."""


def form_of(hint: Any) -> Form:
    """Return how values of a type are written."""
    return FORMS.get(hint) or Plain(hint)
