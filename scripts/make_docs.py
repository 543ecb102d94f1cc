"""Writes the reference pages from the code: docs/cli.md, docs/jobs.md and docs/outputs.md.

``make docs`` runs it. With ``--check`` it writes nothing and fails when a page is out of date.
"""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption
from typer.main import get_command

from skitter.cli.main import app
from skitter.cli.report import (
    BAD_INPUT,
    BROKEN_PIPE,
    ENVIRONMENT,
    INTERNAL_ERROR,
    INTERRUPTED,
    OK,
)
from skitter.config import LOCAL_FILE, Settings, default_of, env_name, flag_name
from skitter.job.spec import Job, Kind, default_scope
from skitter.pipeline.columns import output_docs

DOCS = Path(__file__).resolve().parent.parent / "docs"
MADE = "<!-- Made by `make docs` from the code; edit the code instead. -->"

EXIT_CODES = {
    OK: "Done: finished, at its page limit, or ended because the rest may not be fetched for a"
    " while.",
    INTERNAL_ERROR: "A fault of Skitter itself; `SKITTER_DEBUG=1` shows where.",
    BAD_INPUT: "Bad input or configuration: one line says what was wrong and what was wanted.",
    ENVIRONMENT: "The environment set a limit: a full disk, a store that cannot be written.",
    INTERRUPTED: "Interrupted by Ctrl-C or SIGTERM; everything so far is kept.",
    BROKEN_PIPE: "Whoever read the output has left.",
}

Row = Sequence[str]
Schema = Mapping[str, Any]
"""A JSON schema, or a part of one."""

_SHOWN_ITEMS = 6
_PLURALS = {
    "string": "strings",
    "integer": "whole numbers",
    "number": "numbers",
    "object": "tables",
}
_TYPES = {
    "string": "string",
    "integer": "whole number",
    "number": "number",
    "boolean": "`true` or `false`",
    "object": "table of strings",
}
_UNITS = {"delay": " of seconds", "timeout": " of seconds", "_bytes": " of bytes"}
"""By the end of a key."""


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or with ``--check`` name those that are out of date."""
    check = "--check" in arguments
    stale = 0
    for name, text in pages().items():
        path = DOCS / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        if check:
            sys.stderr.write(f"docs/{name}: out of date; run make docs\n")
        else:
            path.write_text(text, encoding="utf-8")
            sys.stdout.write(f"docs/{name}: written\n")
    return int(check and stale > 0)


def pages() -> dict[str, str]:
    """Return every generated page by its name under docs/."""
    return {"cli.md": cli_page(), "jobs.md": job_page(), "outputs.md": outputs_page()}


def outputs_page() -> str:
    """Return the reference of the record's fields, in every format."""
    return output_docs().replace("\n\n", f"\n\n{MADE}\n\n", 1)


def cli_page() -> str:
    """Return the reference of the command line."""
    root = get_command(app)
    assert isinstance(root, TyperGroup)
    lines = ["# The command line", "", MADE, "", root.help or ""]
    for words, command in _commands(root, ("skitter",)):
        lines += _command(words, command)
    lines += ["", "## Settings", "", *_settings()]
    rows = [(str(code), meaning) for code, meaning in EXIT_CODES.items()]
    lines += ["", "## Exit codes", "", *_table(("code", "meaning"), rows)]
    return _page(lines)


def _commands(
    group: TyperGroup, words: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], TyperCommand]]:
    for name, command in group.commands.items():
        if isinstance(command, TyperGroup):
            yield from _commands(command, (*words, name))
        elif isinstance(command, TyperCommand):
            yield (*words, name), command


def _command(words: tuple[str, ...], command: TyperCommand) -> list[str]:
    arguments = [p for p in command.params if isinstance(p, TyperArgument)]
    options = [p for p in command.params if isinstance(p, TyperOption)]
    usage = [*words, *(_placeholder(argument) for argument in arguments)]
    if options:
        usage.append("[OPTIONS]")
    lines = ["", f"## `{' '.join(words)}`", "", "```text", " ".join(usage), "```"]
    for paragraph in (command.help or "").split("\n\n"):
        lines += ["", " ".join(paragraph.split())]
    if arguments:
        named = [(f"`{argument.metavar}`", _argument_help(argument)) for argument in arguments]
        lines += ["", *_table(("argument", "meaning"), named)]
    for panel in dict.fromkeys(option.rich_help_panel for option in options):
        rows = [_option(option) for option in options if option.rich_help_panel == panel]
        lines += ["", f"**{panel or 'Options'}**", "", *_table(("flag", "meaning"), rows)]
    examples = re.findall(r"^\$ (.*)$", command.epilog or "", re.MULTILINE)
    return [*lines, "", "```text", *examples, "```"] if examples else lines


def _placeholder(argument: TyperArgument) -> str:
    name = argument.metavar or (argument.name or "").upper()
    many = f"{name}..." if argument.nargs == -1 else name
    return many if argument.required else f"[{many}]"


def _argument_help(argument: TyperArgument) -> str:
    return _said(argument.help, argument.type_descriptor.choices)


def _option(option: TyperOption) -> Row:
    names = [*option.opts, *option.secondary_opts]
    choices = option.type_descriptor.choices
    value = ""
    if not option.is_flag:
        value = f" {option.metavar or ('CHOICE' if choices else (option.name or '').upper())}"
    flag = ", ".join(f"`{name}{value}`" for name in names)
    return flag, _said(option.help, choices)


def _said(words: str | None, choices: Sequence[object] | None) -> str:
    # Outside code a "<" begins a tag.
    said = (words or "").replace("<", "&lt;")
    return f"{said} One of {_listed(choices)}." if choices else said


def _listed(choices: Sequence[object]) -> str:
    return ", ".join(f"`{choice}`" for choice in choices)


def _settings() -> list[str]:
    rows = [
        (f"`{name}`", f"`{flag_name(name)}`", f"`{env_name(name)}`", _default(default_of(name)))
        for name in Settings.model_fields
    ]
    return [
        "The same value can be said in four places; the later wins: the configuration file, the"
        " environment, the job file (what belongs to the job), the flag.",
        "",
        f"The configuration file is TOML: `{LOCAL_FILE}` in the working directory, else"
        " `~/.config/skitter/config.toml`, or the one that `SKITTER_CONFIG` names. A list in the"
        " environment has one item a line. `skitter config show` prints every value and who said"
        " it.",
        "",
        *_table(("in the file", "flag", "environment", "default"), rows),
    ]


def job_page() -> str:
    """Return the reference of the job file."""
    schema = Job.model_json_schema()
    lines = ["# The job file", "", MADE, "", *_about_jobs(), "", "## Top level", ""]
    tables = {}
    rows = []
    for key, field in schema["properties"].items():
        part = _resolved(schema, field)
        if "properties" in part:
            tables[f"[{key}]"] = part
        else:
            if "$ref" in part.get("items", {}):
                tables[f"[[{key}]]"] = _resolved(schema, part["items"])
            if "$ref" in _held(part):
                tables[f"[{key}.NAME]"] = _resolved(schema, _held(part))
            for choice in part.get("anyOf", ()):
                if "properties" in _resolved(schema, choice):
                    tables[f"[{key}]"] = _resolved(schema, choice)
            rows.append(_key(schema, key, field))
    tables["a field"] = schema["$defs"]["FieldRule"]
    tables["a place"] = schema["$defs"]["Place"]
    lines += _table(("key", "value", "default", "meaning"), rows)
    for name, part in tables.items():
        rows = [_key(schema, key, field) for key, field in part["properties"].items()]
        lines += ["", f"## `{name}`", "", _plain(part["description"]), ""]
        lines += _table(("key", "value", "default", "meaning"), rows)
        lines += _long_lists(part)
    return _page([*lines, "", "## Example", "", "```toml", *EXAMPLE.strip().splitlines(), "```"])


def _about_jobs() -> list[str]:
    identity = ", ".join(f"`{key}`" for key in Job().identity())
    return [
        "`skitter crawl --job FILE` reads a job from a `.toml` or `.json` file with the keys below."
        " Every key may be left out but the entries (or give them with `--seeds`). An unknown key"
        " or a bad value is refused with a line that names it, and nothing is begun. Flags win over"
        " the file.",
        "",
        "Regular expressions are RE2. They are searched for in the whole URL; `^` and `$` tie them"
        " to its ends.",
        "",
        f"A crawl that was begun goes on only as the same job: {identity} must be what they were."
        " Everything else may change between two runs, except the outputs (`sinks`),"
        " `archive.directory` and `seen`, which stay what they were.",
        "",
        "Whole jobs to begin from are in [examples](../examples), each with a page that says what"
        " it does.",
    ]


def _resolved(schema: Schema, field: Schema) -> Schema:
    """Follow a reference, keeping what the field itself says."""
    if "$ref" not in field:
        return field
    name = field["$ref"].rpartition("/")[2]
    return {**schema["$defs"][name], **field}


def _held(part: Schema) -> Schema:
    """Return what a table with names of one's own holds."""
    held = part.get("additionalProperties", part.get("patternProperties", {}))
    if not isinstance(held, dict):
        return {}
    return held if "$ref" in held else next(iter(held.values()), {}) if held else {}


def _key(schema: Schema, key: str, field: Schema) -> Row:
    part = _resolved(schema, field)
    default = _SPECIAL[key] if key in _SPECIAL else _default(field.get("default", {}))
    return f"`{key}`", _value(schema, key, part), default, _plain(field["description"])


def _value(schema: Schema, key: str, part: Schema) -> str:
    """Say in words what a field takes, with its unit."""
    if "anyOf" in part:
        choices = [_resolved(schema, choice) for choice in part["anyOf"]]
        words = [_value(schema, key, one) for one in choices if one.get("type") != "null"]
        return " or ".join(dict.fromkeys(words))
    if key == "fields":
        return "table of fields"
    if "enum" in part:
        return _listed(part["enum"])
    if part["type"] == "array":
        return f"list of {_PLURALS[part['items'].get('type', 'object')]}"
    unit = next((unit for end, unit in _UNITS.items() if key.endswith(end)), "")
    return f"{_kind(part)}{unit}{_range(part)}"


def _kind(part: Schema) -> str:
    if part.get("title") == "Place":
        return "`{xpath = …}` or `{css = …}`"
    if "properties" in part:
        return "table"
    return "table of tables" if "$ref" in _held(part) else _TYPES[part["type"]]


def _range(part: Schema) -> str:
    least, above, most = (part.get(k) for k in ("minimum", "exclusiveMinimum", "maximum"))
    low = f"more than {above}" if above is not None else None if least is None else str(least)
    if low is None:
        return ""
    if most is None:
        return f", {low} or more"
    return f", {low} to {most:,}" if above is None else f", {low}, at most {most:,}"


def _default(value: object) -> str:
    match value:
        case None | "" | () | [] | {}:
            return "–"
        case list() | tuple() if len(value) > _SHOWN_ITEMS:
            return "listed below"
        case bool() | list() | dict():
            return f"`{json.dumps(value)}`"
        case int() | float():
            return f"{value:,}" if value >= 10_000 else f"{value:g}"
        case _:
            return f"`{value}`"


def _long_lists(part: Schema) -> list[str]:
    lines = []
    for key, field in part["properties"].items():
        default = field.get("default")
        if isinstance(default, list) and len(default) > _SHOWN_ITEMS:
            lines += ["", f"Default of `{key}`: {_listed(default)}."]
    return lines


def _plain(text: str) -> str:
    return re.sub(r"``([^`]*)``", r"`\1`", " ".join(text.split()))


def _table(head: Row, rows: Sequence[Row]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines]


def _page(lines: Sequence[str]) -> str:
    return "\n".join(lines) + "\n"


_SPECIAL = {
    "id": "made from the entries",
    "order": "`best` with keywords, else `bfs`",
    "scope": ", ".join(f"`{default_scope(kind)}` for `{kind}`" for kind in Kind),
    "sitemaps": "`auto` for `site` and `web`, else `no`",
    "depth": "2 for `news`, 0 for `resolve`, else none",
    "refresh": "`never`",
}
"""Defaults that follow from other keys, by key."""

EXAMPLE = """
id = "harbour"
entries = ["https://example.com/"]
scope = "domain"
depth = 3
exclude = ['[?&]sort=']
labels = {desk = "ports"}

[limits]
pages = 10000

[polite]
delay = 0.5

[[links]]
allow = ['/notices/\\d+$']
class = "data"

[[links]]
allow = ['/notices/$']
class = "nav"

[detail.fields]
title = {css = "h1::text", required = true}
date = {css = "time::attr(datetime)", date = true}
files = {xpath = "//a[@class='file']/@href", absolute = true, all = true}

[http]
headers = {Cookie = "env:HARBOUR_COOKIE"}

[archive]
directory = "harbour-warc"

[[sinks]]
type = "jsonl"
path = "harbour.jsonl"

[[sinks]]
type = "parquet"
path = "harbour.parquet"
"""

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
