"""XPath, CSS and forms of dates as people write them in rules: checked before anything is fetched.

XPath is 1.0 without extension functions: those of EXSLT bring a regular expression engine that a
pattern can hang, and a rule has RE2 for that. CSS takes Scrapy's ``::text`` and ``::attr(name)``.
"""

import re
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from turbohtml import Document

_STRINGS = re.compile(r"\"[^\"]*\"|'[^']*'")
_BRACKETS = re.compile(r":has\(|\(|\)")
_EXTENSION = re.compile(r"([A-Za-z_][\w.-]*:[A-Za-z_][\w.-]*)\s*\(")
_VARIABLE = re.compile(r"\$[\w.:-]+")
_MOST_NESTED = 6
"""Conditions within conditions: the time they take grows with that power of what is on a page."""
_MOMENT = datetime(2001, 2, 3, 4, 5, 6, tzinfo=UTC)
_TAKEN = re.compile(r"::\s*(?:(text)|attr\(\s*([^\s()]+)\s*\))\s*$")


class CssTake(NamedTuple):
    """A CSS selector, and what is taken of the elements it finds."""

    selector: str
    text: bool = False
    """Their own text, piece by piece; else all of it, unless an attribute is named."""
    attribute: str = ""


@cache
def _trial() -> "Document":
    """Return a page to try expressions on."""
    from turbohtml import parse  # noqa: PLC0415  as below

    return parse("<html><body><p></p></body></html>", positions=False)


def check_xpath(expression: str) -> str:
    """Return an XPath expression as it is; raises ``ValueError`` in words where it is none."""
    bare = _STRINGS.sub("''", expression)
    if found := _EXTENSION.search(bare):
        raise ValueError(f"{found[1]}() is an extension function; wanted XPath 1.0, or a regex")
    if found := _VARIABLE.search(bare):
        raise ValueError(f"{found[0]} is a variable, and there are none")
    if not expression.strip():
        raise ValueError("wanted an XPath expression")
    if _nested(bare) > _MOST_NESTED:
        raise ValueError(f"more than {_MOST_NESTED} conditions within one another")
    from turbohtml import XPath  # noqa: PLC0415  heavy, for jobs with rules alone

    try:
        XPath(expression)(_trial())
    except (ValueError, TypeError) as error:
        raise ValueError(f"not an XPath expression: {error}") from error
    return expression


def _nested(bare: str) -> int:
    """Return how deep the conditions of an expression are nested."""
    depth = most = 0
    for char in bare:
        depth += (char == "[") - (char == "]")
        most = max(most, depth)
    return most


def check_css(selector: str) -> str:
    """Return a CSS selector as it is; raises ``ValueError`` in words where it is none."""
    taken = split_css(selector)
    if _has_within_has(taken.selector):
        raise ValueError("not a CSS selector: :has() within :has(), which there is not")
    try:
        _trial().select(taken.selector)
    except ValueError as error:
        raise ValueError(f"not a CSS selector: {error}") from error
    return selector


def _has_within_has(selector: str) -> bool:
    open_: list[bool] = []
    for found in _BRACKETS.finditer(_STRINGS.sub("''", selector.lower())):
        if found[0] == ")":
            open_ = open_[:-1]
            continue
        is_has = found[0] == ":has("
        if is_has and any(open_):
            return True
        open_.append(is_has)
    return False


def takes_text(selector: str) -> bool:
    """Tell whether a selector ends in ``::text`` or ``::attr(name)``, so that it finds texts."""
    return _TAKEN.search(selector) is not None


def check_form(form: str) -> str:
    """Return the form of a date as it is; raises ``ValueError`` in words where it is none."""
    wanted = 'wanted the form of a date such as "%d/%m/%Y"'
    if "%" not in form:
        raise ValueError(wanted)
    try:
        datetime.strptime(_MOMENT.strftime(form), form)  # noqa: DTZ007  its form alone is tried
    except (ValueError, re.error) as error:
        raise ValueError(f"{wanted}: {error}") from error
    return form


def split_css(selector: str) -> CssTake:
    """Return a selector without its ``::text`` or ``::attr(name)``, and what that said."""
    found = _TAKEN.search(selector)
    if found is None:
        return CssTake(selector)
    rest = selector[: found.start()].rstrip() or "*"
    if rest.endswith((">", "+", "~")):
        rest += " *"
    return CssTake(rest, text=found[1] is not None, attribute=found[2] or "")
