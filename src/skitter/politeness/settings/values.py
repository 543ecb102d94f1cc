"""What may be set for a site: each value checked, and refused in words that say what was wanted."""

import math
import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import Final, TypeVar

from pydantic import TypeAdapter, ValidationError

from skitter.errors import ConfigError
from skitter.job.fields import Agent, MediaType
from skitter.job.rate import Rate

MAX_DELAY_S: Final = 86_400.0
MAX_PER_HOST: Final = 1_000
MAX_CONCURRENCY: Final = 10_000
MAX_DEPTH: Final = 10_000

_SWITCH: Final = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}
_agent = TypeAdapter(Agent)
_media_type = TypeAdapter(MediaType)

T = TypeVar("T")


Value = float | int | bool | str | Rate | tuple[str, ...]


class _Wanted(Exception):
    """A value is not what is wanted, which is this."""


def _delay(text: str) -> float:
    value = _number(text.removesuffix("s"))
    if not 0 <= value <= MAX_DELAY_S:
        raise _Wanted(f"seconds, from 0 to {MAX_DELAY_S:g}")
    return value


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _whole(least: int, most: int) -> Callable[[str], int]:
    def parse(text: str) -> int:
        value = int(text) if re.fullmatch(r"\d{1,9}", text, re.ASCII) else -1
        if not least <= value <= most:
            raise _Wanted(f"a whole number from {least} to {most}")
        return value

    return parse


def _rate(text: str) -> Rate:
    try:
        return Rate.parse(text)
    except ValueError as error:
        why = str(error).removeprefix("wanted ")
        raise _Wanted(f"{why}; blacklist=true asks for nothing at all") from None


def _switch(text: str) -> bool:
    if text.lower() not in _SWITCH:
        raise _Wanted("true or false")
    return _SWITCH[text.lower()]


def _agent_name(text: str) -> str:
    return _checked(_agent, text, "printable ASCII text")


def _types(text: str) -> tuple[str, ...]:
    wanted = 'media types with commas between, such as "text/html,text/*"; "*/*" takes any'
    return tuple(_checked(_media_type, one, wanted) for one in text.split(","))


def _checked(adapter: TypeAdapter[T], text: str, wanted: str) -> T:
    try:
        return adapter.validate_python(text)
    except ValidationError:
        raise _Wanted(wanted) from None


KEYS: Final[Mapping[str, Callable[[str], Value]]] = {
    "delay": _delay,
    "per_host": _whole(1, MAX_PER_HOST),
    "rate": _rate,
    "rate_ip": _rate,
    "blacklist": _switch,
    "agent": _agent_name,
    "concurrency": _whole(1, MAX_CONCURRENCY),
    "depth": _whole(0, MAX_DEPTH),
    "types": _types,
}
"""Everything that can be set, with how it is read."""

ONLY_FOR_ALL: Final = frozenset({"concurrency"})
"""What is no property of a site: it counts for a whole member."""


def check_key(key: str) -> str:
    """Return the name of a setting, or raise with the nearest one there is."""
    if key in KEYS:
        return key
    near = get_close_matches(key.replace("-", "_").lower(), KEYS, n=1)
    hint = f'did you mean "{near[0]}"?' if near else f"wanted one of {', '.join(KEYS)}"
    raise ConfigError(f"{key}: unknown setting; {hint}")


def parse_value(key: str, text: str) -> Value:
    """Read the value of a known setting."""
    try:
        return KEYS[key](text.strip())
    except _Wanted as wanted:
        raise ConfigError(f"{key}: {text!r}: wanted {wanted}") from None


def parse_changes(words: Iterable[str]) -> dict[str, Value]:
    """Read ``key=value`` words; all of them are good, or none is taken."""
    changes: dict[str, Value] = {}
    for word in words:
        key, sign, text = word.partition("=")
        if not sign:
            raise ConfigError(f"{word!r}: wanted key=value, such as delay=2")
        if check_key(key) in changes:
            raise ConfigError(f"{key}: given twice; wanted one value")
        changes[key] = parse_value(key, text)
    if not changes:
        raise ConfigError(f"nothing to set: wanted key=value; keys are {', '.join(KEYS)}")
    return changes


def write_value(value: Value) -> str:
    """Return a value as it is typed and stored; reading it gives the same value."""
    match value:
        case bool():
            return "true" if value else "false"
        case float():
            return repr(value).removesuffix(".0")
        case tuple():
            return ",".join(value)
        case _:
            return str(value)


def plain_value(value: Value) -> object:
    """Return a value as JSON has it."""
    if isinstance(value, Rate):
        return str(value)
    return list(value) if isinstance(value, tuple) else value
