"""What is stored of aliases: small marks of one job, in JSON.

- ``host:ALIAS``: a host that is crawled under another name, and why.
- ``undone:ALIAS``: the same, undone by an operator. Members do not write it, so that who decides
  late cannot take it back.
- ``pair:ONE OTHER MEMBER``: two hosts with equal pages, as far as a member has noticed.
- ``links:ALIAS MEMBER``: links to an alias that led to the kept host instead.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeVar

import msgspec

from skitter.frontier.base import FrontierReader
from skitter.types import HostKey, JobNumber

HOST: Final = "host:"
UNDONE: Final = "undone:"
PAIR: Final = "pair:"
LINKS: Final = "links:"


class Sample(msgspec.Struct, frozen=True):
    """A page that is the same on both hosts."""

    path: str
    digest: str
    """xxh3-128 of its content, in hex."""


class AliasRow(msgspec.Struct, frozen=True, kw_only=True):
    """One host that is crawled under another name."""

    alias: HostKey
    kept: HostKey
    origin: str
    """Scheme, host and port under which it is crawled."""
    since_ms: int
    equal: int
    """Pages of different content that were equal."""
    common: int
    """Pages that were compared."""
    different: int
    samples: tuple[Sample, ...] = ()
    undone_ms: int = 0
    """When an operator said that they are two sites; 0 for never. It holds for good."""


class PairRow(msgspec.Struct, frozen=True, kw_only=True):
    """Two hosts with equal pages, and further pages of each."""

    one: HostKey
    other: HostKey
    origins: tuple[str, str]
    equal: list[str]
    paths: tuple[list[str], list[str]]


class LinksRow(msgspec.Struct, frozen=True, kw_only=True):
    """Links to an alias that one member has turned to the kept host."""

    alias: HostKey
    count: int
    urls: list[tuple[str, int]]
    """The first of them, as they were before, each with its depth."""


_Row = TypeVar("_Row", AliasRow, PairRow, LinksRow)
_encode = msgspec.json.Encoder().encode
_alias = msgspec.json.Decoder(AliasRow).decode
_pair = msgspec.json.Decoder(PairRow).decode
_links = msgspec.json.Decoder(LinksRow).decode


def aliases_mark(job: JobNumber) -> str:
    """Return how the names of all these marks begin."""
    return f"aliases:{job}:"


def host_mark(job: JobNumber, alias: HostKey) -> str:
    """Return the name of the mark that says what a host is an alias of."""
    return f"{aliases_mark(job)}{HOST}{alias}"


def undone_mark(job: JobNumber, alias: HostKey) -> str:
    """Return the name of the mark that says that a host is no alias, whatever else is stored."""
    return f"{aliases_mark(job)}{UNDONE}{alias}"


def pair_mark(job: JobNumber, one: HostKey, other: HostKey, member: str = "") -> str:
    """Return the name of the mark of two hosts with equal pages; of any member, its beginning."""
    return f"{aliases_mark(job)}{PAIR}{one} {other} {member}"


def links_mark(job: JobNumber, alias: HostKey, member: str) -> str:
    """Return the name of the mark of links to an alias that a member has met."""
    return f"{aliases_mark(job)}{LINKS}{alias} {member}"


def encode(row: AliasRow | PairRow | LinksRow) -> bytes:
    """Return a row as it is stored."""
    return _encode(row)


def decode_alias(value: bytes) -> AliasRow | None:
    """Read a row; None for one that cannot be read."""
    return next(iter(_read((value,), _alias)), None)


def alias_rows(marks: Mapping[str, bytes]) -> list[AliasRow]:
    """Read rows, those that cannot be read left out."""
    return _read(marks.values(), _alias)


async def read_aliases(reader: FrontierReader, job: JobNumber) -> list[AliasRow]:
    """Read what is decided of each alias of a job; an operator's word comes before others."""
    prefix = aliases_mark(job)
    decided = alias_rows(await reader.marks(prefix + HOST))
    undone = alias_rows(await reader.marks(prefix + UNDONE))
    return list({row.alias: row for row in (*decided, *undone)}.values())


def pair_rows(marks: Mapping[str, bytes]) -> list[PairRow]:
    """Read rows, those that cannot be read left out."""
    return _read(marks.values(), _pair)


def links_rows(marks: Mapping[str, bytes]) -> list[LinksRow]:
    """Read rows, those that cannot be read left out."""
    return _read(marks.values(), _links)


def _read(values: Iterable[bytes], decode: Callable[[bytes], _Row]) -> list[_Row]:
    rows = []
    for value in values:
        try:
            rows.append(decode(value))
        except msgspec.DecodeError:
            continue
    return rows


def in_force(rows: Iterable[AliasRow]) -> dict[HostKey, AliasRow]:
    """Return what each alias is crawled as, chains followed to their end.

    Members may have decided at the same time, even against each other: then the first counts.
    """
    chosen: dict[HostKey, AliasRow] = {}
    for row in sorted(rows, key=lambda row: (row.since_ms, row.alias)):
        if not row.undone_ms and _end(chosen, row) != row.alias:
            chosen[row.alias] = row
    return {alias: _resolved(chosen, row) for alias, row in chosen.items()}


def _end(chosen: Mapping[HostKey, AliasRow], row: AliasRow) -> HostKey:
    host = row.kept
    while host in chosen:
        host = chosen[host].kept
    return host


def _resolved(chosen: Mapping[HostKey, AliasRow], row: AliasRow) -> AliasRow:
    last = row
    while last.kept in chosen:
        last = chosen[last.kept]
    return msgspec.structs.replace(row, kept=last.kept, origin=last.origin)
