"""An XPath expression taken apart: its paths, their steps and the conditions of these.

Only what tells how many nodes would be visited is kept; which operators and texts stand between the
paths does not matter for that.
"""

import re
from typing import Final, NamedTuple

_TOKEN = re.compile(
    r"\s*(?:(?P<text>\"[^\"]*\"|'[^']*'|\d+(?:\.\d*)?|\.\d+)"
    r"|(?P<name>[^\W\d][\w.\-]*(?::(?!:)(?:[^\W\d][\w.\-]*|\*))?)"
    r"|(?P<sign>::|//|\.\.|!=|<=|>=|[][()@,|/.*+=<>$\-]))"
)
_KINDS: Final = ("node", "text", "comment", "processing-instruction")
_CLOSING: Final = ("", "]", ")", ",")
_LOCAL: Final = ("child", "attribute", "self", "namespace")
"""Axes that visit no node twice, whatever they begin at."""


class Path(NamedTuple):
    """Steps from the root, from a node or from what a group or a function has."""

    absolute: bool
    call: str | None
    """The function it begins with; "" for a group in brackets."""
    inner: tuple["Path", ...]
    """The paths in that group, or in what the function is given."""
    conditions: tuple["Path", ...]
    """Those of the group."""
    steps: tuple["Step", ...]


class Step(NamedTuple):
    """One step of a path."""

    axis: str
    test: str
    """What it looks for, with the first of its conditions as long as these are simple."""
    conditions: tuple[Path, ...]
    """The paths in the conditions."""
    first: bool
    """Whether a number says which of them is wanted: the engine stops there."""


class Unreadable(Exception):
    """An expression that is not taken apart here."""


def paths_of(expression: str) -> tuple[Path, ...]:
    """Return the paths of an expression; raises ``Unreadable``."""
    reader = _Reader(expression)
    try:
        found = reader.expression()
    except RecursionError as error:
        raise Unreadable(expression) from error
    if reader.peek() != "":
        raise Unreadable(expression)
    return found


def is_local(path: Path) -> bool:
    """Tell whether a path in a condition stays below the node it is asked of, level by level."""
    if path.absolute or path.call == "id":
        return False
    inside = (*path.inner, *path.conditions)
    return all(map(is_local, inside)) and all(
        one.axis in _LOCAL and all(map(is_local, one.conditions)) for one in path.steps
    )


class _Reader:
    """Reads an expression from left to right."""

    def __init__(self, expression: str) -> None:
        self._text = expression
        self._tokens: list[tuple[str, str, int]] = []
        self._at = 0
        at, end = 0, len(expression.rstrip())
        while at < end:
            found = _TOKEN.match(expression, at)
            if found is None:
                raise Unreadable(expression)
            kind = found.lastgroup or ""
            self._tokens.append((kind, found[kind], found.start(kind)))
            at = found.end()

    def peek(self, ahead: int = 0) -> str:
        return self._token(ahead)[1]

    def expression(self) -> tuple[Path, ...]:
        """Read operands up to what closes them."""
        found: list[Path] = []
        while True:
            while self.peek() == "-":
                self._next()
            found.extend(self._operand())
            if self.peek() in _CLOSING:
                return tuple(found)
            self._next()

    def _operand(self) -> tuple[Path, ...]:
        if self._token()[0] == "text":
            self._next()
            return ()
        if self.peek() == "$":
            self._next()
            self._next()
            return ()
        call: str | None = None
        inner: tuple[Path, ...] = ()
        conditions: tuple[Path, ...] = ()
        is_name = self._token()[0] == "name" and self.peek() not in _KINDS
        if self.peek() == "(" or (is_name and self.peek(1) == "("):
            call = self._next() if is_name else ""
            inner = self._arguments()
            conditions = self._conditions()[0]
            steps = self._steps() if self.peek() in ("/", "//") else ()
            return (Path(False, call, inner, conditions, steps),)
        absolute = self.peek() in ("/", "//")
        if self.peek() == "/" and not self._begins_step(1):
            self._next()
            return (Path(True, None, (), (), ()),)
        return (Path(absolute, None, (), (), self._steps()),)

    def _arguments(self) -> tuple[Path, ...]:
        self._want("(")
        found: list[Path] = []
        while self.peek() != ")":
            found.extend(self.expression())
            if self.peek() == ",":
                self._next()
        self._want(")")
        return tuple(found)

    def _steps(self) -> tuple[Step, ...]:
        found: list[Step] = []
        if self.peek() not in ("/", "//"):
            found.extend(self._step(deep=False))
        while self.peek() in ("/", "//"):
            found.extend(self._step(deep=self._next() == "//"))
        return tuple(found)

    def _step(self, *, deep: bool) -> list[Step]:
        axis = self._axis()
        begins = self._token()[2]
        test = self._test(axis)
        conditions, simple, first = self._conditions()
        more = self._text[begins:simple] if simple > begins and axis != "parent" else test
        if deep and axis == "child":
            return [Step("descendant", more, conditions, first)]
        step = Step(axis, more, conditions, first)
        return [Step("descendant", "node()", (), first=False), step] if deep else [step]

    def _axis(self) -> str:
        if self.peek() in (".", ".."):
            return "self" if self.peek() == "." else "parent"
        if self.peek() == "@":
            self._next()
            return "attribute"
        if self.peek(1) != "::":
            return "child"
        axis = self._next()
        self._want("::")
        return axis

    def _test(self, axis: str) -> str:
        if self._token()[0] != "name" and self.peek() not in ("*", ".", ".."):
            raise Unreadable(self._text)
        name = self._next()
        if self.peek() != "(":
            return "node()" if name in (".", "..") else f"@{name}" if axis == "attribute" else name
        self._arguments()
        return f"{name}()"

    def _conditions(self) -> tuple[tuple[Path, ...], int, bool]:
        """Return paths, where the simple ones end that come first, and if one is a number."""
        found: list[Path] = []
        simple, first, is_simple = 0, False, True
        while self.peek() == "[":
            self._next()
            number = self.peek(1) == "]" and self.peek().isdigit()
            paths = self.expression()
            end = self._token()[2] + 1
            self._want("]")
            first = first or number
            is_simple = is_simple and not first and bool(paths) and all(map(_is_plain, paths))
            simple = end if is_simple else simple
            found.extend(paths)
        return tuple(found), simple, first

    def _begins_step(self, ahead: int) -> bool:
        kind, text, _ = self._token(ahead)
        return kind == "name" or text in ("*", ".", "..", "@")

    def _token(self, ahead: int = 0) -> tuple[str, str, int]:
        at = self._at + ahead
        return self._tokens[at] if at < len(self._tokens) else ("", "", len(self._text))

    def _next(self) -> str:
        kind, text, _ = self._token()
        if not kind:
            raise Unreadable(self._text)
        self._at += 1
        return text

    def _want(self, sign: str) -> None:
        if self._next() != sign:
            raise Unreadable(self._text)


def _is_plain(path: Path) -> bool:
    """Tell whether a condition asks for attributes alone, hence holds wherever it is asked."""
    if path.absolute or path.conditions or path.call in ("position", "last", "id"):
        return False
    return all(map(_is_plain, path.inner)) and all(
        one.axis == "attribute" and not one.conditions for one in path.steps
    )
