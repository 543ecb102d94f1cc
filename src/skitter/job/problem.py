"""What a model refuses, in lines a person can act on: where, what was wanted, what it was."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from skitter.errors import ConfigError
from skitter.job.entry import without_credentials

Path = tuple[str | int, ...]

_VALUE_CHARS = 80
_CHOICE = re.compile(r"'([^']*)'")
_NUMBER = re.compile(r"\[\d+\]")
_LISTS_OF_TABLES = frozenset({"links", "sinks"})
_SECRET_FIELDS = ("headers", "cookies", "sinks", "secret")

_WANTED: Mapping[str, str] = {
    "greater_than_equal": "{ge} or more",
    "greater_than": "more than {gt}",
    "less_than_equal": "{le} or less",
    "finite_number": "a finite number",
    "model_type": "a table of keys",
    "model_attributes_type": "a table of keys",
    "dict_type": "a table of keys",
    "tuple_type": "a list",
    "string_type": "a string",
    "int_type": "a whole number",
    "int_parsing": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "float_parsing": "a number",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "list_type": "a list",
    "too_long": "{max_length} at most, not {actual_length}",
    "too_short": "{min_length} at least, not {actual_length}",
    "string_too_long": "{max_length} characters at most",
    "string_too_short": "{min_length} characters at least",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Vocabulary:
    """The names a reader of one kind of file may meet."""

    model: type[BaseModel]
    later_keys: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By table ("" for the top, "links[]" for each of a list): keys that are to come."""
    later_values: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """By dotted field: values that have a meaning, but not in this version."""


def refuse(
    error: ValidationError, vocabulary: Vocabulary, name: Callable[[str], str]
) -> ConfigError:
    """Return one ``ConfigError`` with a line for each fault; ``name`` says where a field is."""
    # A default that depends on a faulty field is no fault of its own.
    faults = [fault for fault in error.errors() if fault["type"] != "default_factory_not_called"]
    later = {fault["loc"][:-1] for fault in faults if _is_later_value(fault, vocabulary)}
    # What goes with a value that is to come is not to be taken for a slip of the pen.
    faults = [
        fault
        for fault in faults
        if fault["type"] != "extra_forbidden" or fault["loc"][:-1] not in later
    ]
    lines = dict.fromkeys(_line(fault, vocabulary, name) for fault in faults)
    return ConfigError("\n".join(lines))


def dotted(path: Path) -> str:
    """Return ``("polite", "delay")`` as ``polite.delay`` and list positions as ``entries[0]``."""
    text = ""
    for part in path:
        if part == "[key]":
            continue
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def show(value: object) -> str:
    """Return a value as it would be typed, shortened and without passwords."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    text = without_credentials(text)
    return text if len(text) <= _VALUE_CHARS else text[: _VALUE_CHARS - 1] + "…"


def _line(fault: ErrorDetails, vocabulary: Vocabulary, name: Callable[[str], str]) -> str:
    path = fault["loc"]
    if not path:
        # Two fields contradict each other; the words name both.
        return name(_wanted(fault))
    where = name(dotted(path))
    if fault["type"] == "missing":
        return f"{where}: missing"
    if fault["type"] == "extra_forbidden":
        return f"{where}: {_unknown_key(path, vocabulary)}"
    if _is_later_value(fault, vocabulary):
        return f"{where}: {show(fault['input'])} is not available yet"
    return f"{where}: {_wrong_value(fault)}"


def _wrong_value(fault: ErrorDetails) -> str:
    """Return a value and what was wanted instead; a value that may hold a secret is not told."""
    path, given = fault["loc"], fault["input"]
    if path[-1] in _LISTS_OF_TABLES and isinstance(given, dict):
        return f"wanted a list of tables: write [[{path[-1]}]] above each of them"
    tells = given if isinstance(given, dict) else ()
    if any(part in _SECRET_FIELDS for part in (*path, *tells)):
        return _wanted(fault)
    return f"{show(given)}: {_wanted(fault)}"


def _wanted(fault: ErrorDetails) -> str:
    if fault["type"] == "value_error":
        return fault["msg"].removeprefix("Value error, ")
    template = _WANTED.get(fault["type"])
    if template is None:
        return "wanted " + fault["msg"].removeprefix("Input should be ") + _nearest(fault)
    return "wanted " + template.format_map(fault.get("ctx", {}))


def _nearest(fault: ErrorDetails) -> str:
    """Return which of some choices was probably meant, as the end of a line; "" where none is."""
    given, choices = fault["input"], str(fault.get("ctx", {}).get("expected", ""))
    if not isinstance(given, str):
        return ""
    near = get_close_matches(given.lower(), _CHOICE.findall(choices), n=1)
    return f'; did you mean "{near[0]}"?' if near else ""


def _is_later_value(fault: ErrorDetails, vocabulary: Vocabulary) -> bool:
    known = vocabulary.later_values.get(dotted(fault["loc"]), frozenset())
    return isinstance(fault["input"], str) and fault["input"] in known


def _unknown_key(path: Path, vocabulary: Vocabulary) -> str:
    table, key = dotted(path[:-1]), str(path[-1])
    if key in vocabulary.later_keys.get(_NUMBER.sub("[]", table), ()):
        return "not available yet"
    names = _names(vocabulary.model)
    here = _keys_at(vocabulary.model, path[:-1])
    near = get_close_matches(key.replace("-", "_").lower(), here, n=1)
    elsewhere = [name for name in names if name.rpartition(".")[2] == key]
    if near or elsewhere:
        return f'unknown key; did you mean "{(near or elsewhere)[0]}"?'
    if here == ["fields"]:
        return f"unknown key; fields stand in [{table}.fields]"
    return f"unknown key; wanted one of {', '.join(here)}"


def _keys_at(kind: object, path: Path) -> list[str]:
    """Return the keys that may stand in the table at ``path``, as they are written."""
    for part in path:
        kind = _down(kind, part)
    return [
        info.alias or key for model in _models(kind) for key, info in model.model_fields.items()
    ]


def _down(kind: object, part: str | int) -> object:
    """Return the type of what is under a key of a table, or at a place of a list."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        fields = kind.model_fields.items()
        return next((one.annotation for key, one in fields if part in (key, one.alias)), None)
    inner = get_args(kind)
    if get_origin(kind) is dict:
        return inner[1]
    if get_origin(kind) in (tuple, list):
        return inner[0]
    found = (_down(one, part) for one in inner)
    return next((one for one in found if one is not None), None)


def _models(kind: object) -> list[type[BaseModel]]:
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return [kind]
    return [model for one in get_args(kind) for model in _models(one)]


def _names(model: type[BaseModel], table: str = "") -> list[str]:
    """Every dotted name below ``model``, tables included."""
    names = []
    for key, info in model.model_fields.items():
        full = f"{table}.{key}" if table else key
        names.append(full)
        for kind in (info.annotation, *get_args(info.annotation)):
            if isinstance(kind, type) and issubclass(kind, BaseModel):
                names += _names(kind, full)
    return names
