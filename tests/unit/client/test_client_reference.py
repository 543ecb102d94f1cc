"""The reference of the clients, ``docs/api.md#from-python``, has every method as it is."""

import inspect
import re
from pathlib import Path
from typing import Any, get_args, get_type_hints

import skitter
from skitter import AsyncClient, Client
from skitter.client.verbs import Every, Heard, Verbs

DOCS = Path(__file__).parents[3] / "docs" / "api.md"
ROW = re.compile(r"^\| `(\w+)\((.*)\)` \| (.+) \|$", re.MULTILINE)


def rows() -> list[tuple[str, str, str]]:
    """Return name, arguments and answer of every method."""
    return [
        (name, _arguments(getattr(Verbs, name)), _answer(verb, getattr(Verbs, name)))
        for name, verb in vars(Verbs).items()
        if not name.startswith("_")
    ]


def _arguments(build: Any) -> str:
    told, named = [], False
    for parameter in inspect.signature(build).parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not named:
            told.append("*")
            named = True
        default = getattr(parameter.default, "value", parameter.default)
        told.append(
            parameter.name if default is parameter.empty else f"{parameter.name}={default!r}"
        )
        if parameter.kind in {parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL}:
            told[-1] = ("**" if parameter.kind is parameter.VAR_KEYWORD else "*") + parameter.name
    return ", ".join(told)


def _answer(verb: Any, build: Any) -> str:
    if isinstance(verb, Heard):
        return "each `Event`, for ever"
    if isinstance(verb, Every):
        [kind] = get_args(get_type_hints(verb._rows)["return"])
        return f"each `{kind.__name__}`"
    [kind] = get_args(get_type_hints(build)["return"])
    return "nothing" if kind is type(None) else f"`{kind.__name__}`"


def test_every_method_is_in_the_reference() -> None:
    expected = rows()
    _, _, section = DOCS.read_text().partition("\n## From Python\n")
    written = ROW.findall(section.partition("\n## ")[0])
    table = "\n".join(f"| `{name}({given})` | {answer} |" for name, given, answer in expected)
    assert written == expected, f"wanted in {DOCS.name}:\n{table}"
    assert len(expected) > 30


def test_the_clients_are_found_in_the_package() -> None:
    assert {"Client", "AsyncClient"} <= set(dir(skitter))
    for name in ("close", *(name for name, _, _ in rows())):
        assert callable(getattr(Client, name)), name
        assert callable(getattr(AsyncClient, name)), name
