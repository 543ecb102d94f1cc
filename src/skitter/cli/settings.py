"""The settings of this machine as a table or a document."""

import json
import os
from pathlib import Path

from skitter.config import SECRETS, Resolved, Settings, default_of, resolve
from skitter.database.address import without_secrets
from skitter.frontier.redis.address import without_password

Row = tuple[str, object, str]
"""Name, value and source of one setting."""


def print_settings(*, as_json: bool) -> None:
    """Print every setting with its value and who said it."""
    rows = setting_rows(resolve({}, os.environ, Path.cwd()))
    if as_json:
        document = {name: {"value": value, "source": source} for name, value, source in rows}
        print(json.dumps(document, default=str, ensure_ascii=False))
    else:
        _print_table(rows)


def setting_rows(resolved: Resolved) -> list[Row]:
    """Return every setting in the order of the reference."""
    rows: list[Row] = []
    for name in Settings.model_fields:
        said = resolved.said.get(name)
        if said is None:
            rows.append((name, default_of(name), "default"))
        else:
            rows.append((name, _harmless(name, said.value), said.place))
    return rows


def _harmless(name: str, value: object) -> object:
    """Return a value as it may be shown: no token, no password."""
    if name in SECRETS:
        return "(set)"
    if name in {"cold", "index"}:
        return without_secrets(str(value))
    return without_password(str(value)) if name == "store" else value


def _print_table(rows: list[Row]) -> None:
    table = [("setting", "value", "source"), *((n, _shown(v), s) for n, v, s in rows)]
    wide = [max(len(row[column]) for row in table) for column in (0, 1)]
    for name, value, source in table:
        print(f"{name:<{wide[0]}}  {value:<{wide[1]}}  {source}")


def _shown(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, tuple):
        return " ".join(str(one) for one in value) or "-"
    return str(value)
