"""The tree drawn in errors.py is the tree of its classes."""

import inspect
import re

from skitter import errors
from skitter.errors import FetchError, SkitterError, UrlError

_DEEPER = re.compile(r"^((?:│   |    )*)[├└]─ (\w+)$")


def drawn() -> list[tuple[int, str]]:
    """Return depth and name of every line of the drawing, from the top down."""
    lines = inspect.cleandoc(errors.__doc__ or "").splitlines()
    found = [(0, "SkitterError")] if "SkitterError" in lines else []
    for line in lines:
        branch = _DEEPER.match(line)
        if branch is not None:
            found.append((len(branch[1]) // 4 + 1, branch[2]))
    return found


def declared(base: type[Exception] = SkitterError, depth: int = 0) -> list[tuple[int, str]]:
    """Return depth and name of every class, in the order they are defined."""
    found = [(depth, base.__name__)]
    for child in base.__subclasses__():
        if child.__module__ == errors.__name__:
            found += declared(child, depth + 1)
    return found


def test_the_drawing_equals_the_classes_in_name_depth_and_order() -> None:
    assert drawn() == declared()


def test_every_error_of_the_module_is_in_the_tree() -> None:
    own = {
        name
        for name, kind in inspect.getmembers(errors, inspect.isclass)
        if kind.__module__ == errors.__name__
    }
    assert own == {name for _, name in drawn()}


def test_an_error_about_a_url_carries_it() -> None:
    for error in (
        UrlError("http://a/", "why"),
        FetchError("http://a/", "why"),
    ):
        assert error.url == "http://a/"
        assert error.why == "why"
        assert "http://a/" in str(error)
        assert "why" in str(error)
