"""The layer table in docs/architecture.md, executed, and the shape every module keeps."""

import ast
import re
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "skitter"
MODULES = sorted(PACKAGE.rglob("*.py"))
MOST_LINES = 400
ENDS = {"__init__", "__main__"}
"""Modules of the package itself: below everything, and above everything."""


def layers() -> list[list[str]]:
    """Return the rows of the layer table, the top one first."""
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    section = text.partition("\n## Layers\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (`.+?) \|", section, re.MULTILINE)
    return [re.findall(r"`(\w+)`", row) for row in rows]


RANK = {name: rank for rank, row in enumerate(layers()) for name in row}


def named(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def module_name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


BY_NAME = {module_name(path): path for path in MODULES}


def component(module: str) -> str:
    return module.split(".")[1] if "." in module else ""


def imports(path: Path) -> Iterator[str]:
    """Yield the modules of the package that ``path`` imports, anywhere in it, for any reason."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        match node:
            case ast.ImportFrom(module=str(module), names=names, level=0):
                for alias in names:
                    inner = f"{module}.{alias.name}"
                    yield inner if inner in BY_NAME else module
            case ast.Import(names=names):
                yield from (alias.name for alias in names)


def own_imports(path: Path) -> set[str]:
    return {module for module in imports(path) if module.partition(".")[0] == "skitter"}


def test_the_table_names_every_component_once_and_nothing_else() -> None:
    found = {
        path.stem
        for path in PACKAGE.iterdir()
        if (path.suffix == ".py" and path.stem not in ENDS) or (path / "__init__.py").is_file()
    }
    listed = [name for row in layers() for name in row]
    assert len(listed) == len(set(listed))
    assert set(listed) == found


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_imports_point_down_the_table(path: Path) -> None:
    own = component(module_name(path))
    if not own or own in ENDS:
        return
    others = {component(module) for module in own_imports(path)} - {own, ""}
    upward = {other for other in others if RANK[other] <= RANK[own]}
    assert not upward, f"{own} imports {sorted(upward)}, which stand beside or above it"


def test_no_two_modules_need_each_other() -> None:
    graph = {name: own_imports(path) - {name} for name, path in BY_NAME.items()}
    assert cycle(graph) == []


def cycle(graph: Mapping[str, set[str]]) -> list[str]:
    """Return one cycle as ``a -> b`` steps; empty when there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return [f"{later} -> {earlier}" for earlier, later in pairwise(error.args[1])]
    return []


@pytest.mark.parametrize("path", MODULES, ids=named)
def test_a_module_is_short_enough_to_read_at_once(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= MOST_LINES


@pytest.mark.parametrize(
    "path", [path for path in MODULES if path.name == "__init__.py"], ids=named
)
def test_an_init_file_holds_words_and_names_but_no_code(path: Path) -> None:
    docstring, *rest = ast.parse(path.read_text(encoding="utf-8")).body
    assert isinstance(docstring, ast.Expr)
    if path.parent == PACKAGE:
        rest = [node for node in rest if not loads_names_late(node)]
    assert {target for node in rest for target in assigned(node)} <= {"__all__", "__version__"}


def loads_names_late(node: ast.stmt) -> bool:
    """Tell of what gives the package's own names only to who asks for them, types included."""
    match node:
        case ast.ImportFrom(module="typing"):
            return True
        case ast.If(
            test=ast.Name(id="TYPE_CHECKING"),
            body=names,
            orelse=[ast.FunctionDef("__getattr__"), ast.FunctionDef("__dir__")],
        ):
            return all(isinstance(one, ast.ImportFrom) for one in names)
        case _:
            return False


def assigned(node: ast.stmt) -> list[str]:
    """Return what a statement assigns; a statement that does anything else names itself."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case _:
            return [ast.unparse(node)]


def test_siblings_and_everything_above_count_as_upward() -> None:
    rows = layers()
    assert rows[0] == ["cli", "testing", "api"]
    assert RANK["frontier"] == RANK["fetch"]
    assert RANK["crawl"] < RANK["cluster"] < RANK["frontier"] < RANK["url"] < RANK["errors"]


def test_the_search_for_cycles_finds_one() -> None:
    assert cycle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert len(cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}})) == 3
