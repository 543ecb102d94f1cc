"""The settings of sites: listed, looked up and changed."""

import getpass
import json
import socket
from collections.abc import Callable, Mapping, Sequence

import uvloop

from skitter.cli.report import complain
from skitter.politeness.settings.patterns import EVERY, parse_pattern
from skitter.politeness.settings.values import KEYS, check_key, parse_changes
from skitter.wiring.look import Where
from skitter.wiring.settings_access import ask_settings

Facts = Mapping[str, object]
BY_JOB = "the job"


def print_list(where: Where, *, as_json: bool) -> None:
    """Print every row of the table."""
    rows = uvloop.run(ask_settings(where, {"settings": "list"}))
    if as_json:
        _print_json(rows)
    elif rows:
        _print_rows(rows)
    else:
        print("nothing is set")


def print_values(pattern: str, where: Where, *, as_json: bool) -> None:
    """Print what counts for a host or a pattern, and where it is set."""
    question = {"settings": "get", "pattern": parse_pattern(pattern)}
    [facts] = uvloop.run(ask_settings(where, question))
    if as_json:
        _print_json([facts])
        return
    found = facts["settings"]
    assert isinstance(found, Mapping)
    rows = [("setting", "value", "from")]
    for key in KEYS:
        said = found.get(key)
        rows.append(
            (key, "-", BY_JOB) if said is None else (key, _text(said["value"]), said["from"])
        )
    _print_table(rows)


def change(
    verb: str,
    pattern: str,
    words: Sequence[str],
    place: Callable[[], Where],
    *,
    as_json: bool,
) -> None:
    """Change a row; what is wrong with it is told before a store is looked for."""
    pattern = parse_pattern(pattern)
    if verb == "set":
        parse_changes(words)
    else:
        for key in words:
            check_key(key)
    question = {"settings": verb, "pattern": pattern, "words": list(words), "by": _operator()}
    rows = uvloop.run(ask_settings(place(), question))
    if as_json:
        _print_json(rows)
    else:
        _print_rows(rows)
    if verb == "set" and pattern != EVERY and not rows[0].get("known_hosts"):
        complain(f"warning: no known host is covered by {pattern}; it counts for those to come")


def _operator() -> str:
    return f"{getpass.getuser()}@{socket.gethostname()}"


def _print_json(found: Sequence[Facts]) -> None:
    for facts in found:
        print(json.dumps(facts, ensure_ascii=False))


def _print_rows(found: Sequence[Facts]) -> None:
    rows = [("pattern", "settings", "changed", "by")]
    for facts in found:
        settings = facts["settings"]
        assert isinstance(settings, Mapping)
        said = " ".join(f"{key}={_text(value)}" for key, value in settings.items()) or "-"
        rows.append(
            (str(facts["pattern"]), said, str(facts["changed_at"]), str(facts["changed_by"]))
        )
    _print_table(rows)
    print(f"version {found[-1]['version']}")


def _text(value: object) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case list():
            return ",".join(map(str, value))
        case float():
            return f"{value:g}"
        case _:
            return str(value)


def _print_table(rows: Sequence[Sequence[str]]) -> None:
    wide = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, wide, strict=True)).rstrip())
