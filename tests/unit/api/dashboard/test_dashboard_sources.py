"""What the code of the pages must not do, whatever it shows."""

import ast
import re
from pathlib import Path

import pytest

from skitter.api import dashboard

FOLDER = Path(dashboard.__file__).parent
SOURCES = sorted(FOLDER.rglob("*.py"))
STATIC = sorted((FOLDER / "static").iterdir())
ELSEWHERE = re.compile(r"(?:https?:)?//(?!www\.w3\.org/)[a-z0-9-]+\.[a-z]", re.IGNORECASE)


def _calls(tree: ast.AST, name: str) -> list[ast.Call]:
    found = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [
        node for node in found if isinstance(node.func, ast.Attribute) and node.func.attr == name
    ]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_nothing_is_shown_as_html(path: Path) -> None:
    """Text of crawled pages is text; there is no HTML made of values at all."""
    tree = ast.parse(path.read_text())
    for name in ("html", "markdown", "code", "mermaid", "interactive_image"):
        assert not [call for call in _calls(tree, name) if _is_ui(call)], name
    for call in _calls(tree, "run_javascript"):
        assert all(isinstance(value, ast.Constant) for value in call.args)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_values_are_never_part_of_a_string_of_properties(path: Path) -> None:
    """A title could say ``:onclick=...`` there, and NiceGUI would run it."""
    for call in _calls(ast.parse(path.read_text()), "props"):
        for value in call.args:
            inside = [
                node.value for node in ast.walk(value) if isinstance(node, ast.FormattedValue)
            ]
            names = {node.id for node in inside if isinstance(node, ast.Name)}
            assert len(names) == len(inside)
            assert names <= {"_PROPS", "rows"}


@pytest.mark.parametrize("path", STATIC, ids=lambda path: path.name)
def test_nothing_of_ours_names_another_host(path: Path) -> None:
    assert not ELSEWHERE.findall(path.read_text())


def _is_ui(call: ast.Call) -> bool:
    assert isinstance(call.func, ast.Attribute)
    return isinstance(call.func.value, ast.Name) and call.func.value.id == "ui"
