"""Markup that lists records: which elements are records and which of their parts matter.

A urlset, an RSS feed and an Atom feed have one shape: elements that repeat, each with a few
fields as its children, among much that is of no interest. A ``Shape`` names them; the reader
follows the nesting only as far as it must, so that broken markup spoils one record at most.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from skitter.parse.sitemap.escapes import unescape
from skitter.parse.sitemap.scanner import EMPTY, END, LEAF, START, Scanner, Token

_MAX_FIELD_CHARS: Final = 16 * 1024
_MAX_TAGS: Final = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """The names, in lower case and without prefix, that matter in one format."""

    roots: frozenset[str]
    """Elements that hold the records; the end of one is the end of the document."""
    records: frozenset[str]
    fields: frozenset[str]
    """Children of a record whose text is kept, with the record's prefix or none."""
    foreign: frozenset[str] = frozenset()
    """Children of a record whose text is kept under any prefix."""
    tags: frozenset[str] = frozenset()
    """Fields whose attributes are kept."""
    nested: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """What is kept inside of children that are no fields."""
    key: str = ""
    """A field that can appear once in a record: a second one begins another record."""


@dataclass(slots=True)
class Record:
    """One element that repeats, with what matters in it."""

    name: str
    """In lower case, without prefix; empty when there are fields but no element around them."""
    attributes: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    tags: list[tuple[str, str]] = field(default_factory=list)
    """Names and attributes of the fields that have some, in order."""


class Taker:
    """Makes entries of records; one class for each format."""

    def take(self, record: Record) -> None:
        """Take a record that is whole."""
        raise NotImplementedError

    def sprint(self, scanner: Scanner) -> None:
        """Read ahead from a point between records, as far as that can be done fast."""


class RecordReader:
    """Follows the tokens of one document and gives its records to a taker."""

    __slots__ = (
        "_capture",
        "_closing",
        "_is_blank",
        "_nested",
        "_parts",
        "_prefix",
        "_record",
        "_room",
        "_root_prefix",
        "_shape",
        "_skip",
        "_skip_depth",
        "_taker",
        "has_ended",
    )

    def __init__(self, shape: Shape, taker: Taker, root_prefix: str) -> None:
        self._shape = shape
        self._taker = taker
        self._root_prefix = root_prefix
        self._record: Record | None = None
        self._prefix = ""
        self._capture = ""
        self._closing = ""
        self._parts: list[str] = []
        self._room = 0
        self._is_blank = True
        self._skip = ""
        self._skip_depth = 0
        self._nested: frozenset[str] = frozenset()
        self.has_ended = False
        """Whether the root element is closed."""

    def read(self, scanner: Scanner) -> None:
        """Read all tokens there are."""
        while True:
            if self._record is None and not self._capture:
                self._taker.sprint(scanner)
            token = scanner.next()
            if token is None:
                return
            self.follow(token)
            if token[0] == START and token[1] == self._skip and self._skip_depth == 1:
                self._leap(scanner)
            scanner.keeps_text = bool(self._capture)

    def follow(self, token: Token) -> None:
        """Follow one token."""
        kind, name, rest = token
        if kind == LEAF:
            self._leaf(name, rest)
        elif kind == START:
            self._start(name, rest)
        elif kind == EMPTY:
            self._empty(name, rest)
        elif kind == END:
            self._end(name)
        elif self._capture:
            self._add(rest)

    def _leap(self, scanner: Scanner) -> None:
        if self._record is not None and not self._nested:
            colon = ":" if self._prefix else ""
            if scanner.leap(self._skip, f"{self._prefix}{colon}{self._record.name}"):
                self._skip = ""

    def _leaf(self, name: str, text: str) -> None:
        prefix, _, local = name.rpartition(":")
        if self._is_record(prefix, local):
            self._finish()
        elif self._is_field(prefix, local):
            self._commit()
            self._set(local, text)
        elif self._is_root(prefix, local):
            self._turn(has_ended=True)
        elif self._capture and not self._commit_if_any():
            self._add(text)

    def _empty(self, name: str, attributes: str) -> None:
        prefix, _, local = name.rpartition(":")
        if self._is_record(prefix, local):
            self._start(name, attributes)
            self._finish()
        elif self._is_field(prefix, local):
            self._commit()
            self._keep_tag(local, attributes)
        elif self._is_root(prefix, local):
            self._turn(has_ended=True)
        elif self._capture:
            self._commit_if_any()

    def _start(self, name: str, attributes: str) -> None:
        prefix, _, local = name.rpartition(":")
        if self._is_record(prefix, local):
            self._finish()
            self._record = Record(local, attributes)
            self._prefix = prefix
        elif self._is_field(prefix, local):
            self._commit()
            self._closing = name
            self._begin(local, attributes)
        elif self._is_root(prefix, local):
            self._turn(has_ended=False)
        elif self._skip:
            self._skip_depth += name == self._skip
        elif (not self._capture or self._commit_if_any()) and self._record is not None:
            self._skip = name
            self._skip_depth = 1
            self._nested = self._shape.nested.get(local, frozenset())

    def _end(self, name: str) -> None:
        prefix, _, local = name.rpartition(":")
        if self._is_record(prefix, local):
            self._finish()
        elif self._capture and name == self._closing:
            self._commit()
        elif self._is_root(prefix, local):
            self._turn(has_ended=True)
        elif name == self._skip:
            self._skip_depth -= 1
            if not self._skip_depth:
                self._skip = ""

    def _is_root(self, prefix: str, local: str) -> bool:
        return local in self._shape.roots and prefix == self._root_prefix

    def _turn(self, *, has_ended: bool) -> None:
        """Pass a tag of the root: one document ends, or another begins."""
        self._finish()
        self.has_ended = has_ended

    def _is_record(self, prefix: str, local: str) -> bool:
        if local not in self._shape.records:
            return False
        return self._record is None or prefix == self._prefix

    def _is_field(self, prefix: str, local: str) -> bool:
        """Tell whether the text of an element that begins here is kept."""
        shape = self._shape
        if self._record is None:
            return local == shape.key and prefix in ("", self._root_prefix)
        if self._skip:
            return local in self._nested
        return local in shape.foreign or (local in shape.fields and prefix in ("", self._prefix))

    def _begin(self, local: str, attributes: str) -> None:
        self._capture = local
        self._parts = []
        self._room = _MAX_FIELD_CHARS
        self._is_blank = True
        self._keep_tag(local, attributes)

    def _keep_tag(self, local: str, attributes: str) -> None:
        if self._record is not None and attributes and local in self._shape.tags:
            self._record.tags += [(local, attributes)][: _MAX_TAGS - len(self._record.tags)]

    def _add(self, text: str) -> None:
        if self._room > 0:
            text = text[: self._room]
            self._parts.append(text)
            self._is_blank = self._is_blank and not text.strip()
            self._room -= len(text)

    def _commit(self) -> None:
        """End the field whose text is being gathered, if there is one."""
        if self._capture:
            local, self._capture = self._capture, ""
            self._set(local, "".join(self._parts))

    def _commit_if_any(self) -> bool:
        """Take the start of another element for the end of a field, but not of an empty one."""
        if self._is_blank:
            return False
        self._commit()
        return True

    def _set(self, local: str, text: str) -> None:
        text = unescape(text).strip()
        if not text:
            return
        if self._record is None:
            self._record = Record("")
            self._prefix = self._root_prefix
        elif local == self._shape.key and local in self._record.fields:
            self._taker.take(self._record)
            self._record = Record(self._record.name)
        self._record.fields[local] = text

    def _finish(self) -> None:
        self._commit()
        self._skip = ""
        if self._record is not None:
            self._taker.take(self._record)
            self._record = None
