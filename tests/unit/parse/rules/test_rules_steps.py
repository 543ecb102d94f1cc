"""An expression is taken apart into paths, steps and conditions."""

import pytest
from turbohtml import XPath

from skitter.parse.rules.steps import Unreadable, is_local, paths_of


def shown(expression: str) -> list[str]:
    """Return the steps of the first path."""
    return [f"{step.axis}::{step.test}" for step in paths_of(expression)[0].steps]


@pytest.mark.parametrize(
    ("expression", "steps"),
    [
        ("//p", ["descendant::p"]),
        ("/html/body", ["child::html", "child::body"]),
        (".//a/@href", ["self::node()", "descendant::a", "attribute::@href"]),
        ("../text()", ["parent::node()", "child::text()"]),
        ("//@*", ["descendant::node()", "attribute::@*"]),
        ("//following-sibling :: p", ["descendant::node()", "following-sibling::p"]),
        ("//a[@x='/b]'][2]", ["descendant::a[@x='/b]']"]),
        ("//a[b]", ["descendant::a"]),
        ("descendant::svg:a.b-c", ["descendant::svg:a.b-c"]),
        ("/", []),
    ],
)
def test_the_steps_of_a_path(expression: str, steps: list[str]) -> None:
    assert shown(expression) == steps


@pytest.mark.parametrize(
    ("expression", "paths"),
    [
        ("//a | //b", 2),
        ("//a * 3 - .5 + count(//b)", 2),
        ("- //a div //b mod 2", 2),
        ("* * *", 2),
        ("/ = 'x' or //a[. != 'y'] and not(//b)", 3),
        ("div div mod", 2),
        ("'//a'", 0),
    ],
)
def test_operators_stand_between_paths(expression: str, paths: int) -> None:
    XPath(expression)
    assert len(paths_of(expression)) == paths


def test_conditions_belong_to_their_steps() -> None:
    (path,) = paths_of("(//a | //b)[//c]/d[e[//f] = 'x']")
    assert path.call == ""
    assert len(path.inner) == 2
    assert path.conditions[0].absolute
    (condition,) = path.steps[0].conditions
    assert condition.steps[0].conditions[0].absolute


@pytest.mark.parametrize(
    ("condition", "local"),
    [
        ("b/c[@d]", True),
        ("count(li) > 2", True),
        ("contains(., 'x')", True),
        (".//b", False),
        ("../b", False),
        ("b[c[//d]]", False),
        ("not(count(/))", False),
        ("id('x')", False),
    ],
)
def test_which_conditions_stay_below_their_node(condition: str, *, local: bool) -> None:
    (path,) = paths_of(f"//a[{condition}]")
    assert all(map(is_local, path.steps[0].conditions)) is local


@pytest.mark.parametrize("expression", ["//a[", "a ! b", "a]", "(" * 50_000])
def test_what_is_no_expression_is_said_to_be_none(expression: str) -> None:
    with pytest.raises(Unreadable):
        paths_of(expression)
