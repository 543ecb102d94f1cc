"""A trial of rules on one page, in colour or as JSON."""

import dataclasses
import json
import os
from pathlib import Path
from typing import NamedTuple

import uvloop
from rich.console import Console
from rich.text import Text

from skitter.cli import wording
from skitter.cli.place import Flags, named_place
from skitter.config import STATE_DIR, RunOptions, resolve
from skitter.job.load import document_of, load_job
from skitter.parse.rules.ruleset import Picked
from skitter.wiring.trial import Trial, try_rules
from skitter.wiring.trial_elsewhere import try_elsewhere

OK, EMPTY = 0, 1
_MOST_ITEMS = 5
_MOST_LINKS = 40
_TEXT_CHARS = 400
_URL_CHARS = 60


class Fetching(NamedTuple):
    """Who fetches the page, and how; None was not said."""

    allow_private: bool | None = None
    hosts: Path | None = None
    api: str | None = None
    token: str | None = None


def print_trial(
    file: Path, target: str, rule: str | None, fetching: Fetching, *, as_json: bool
) -> int:
    """Try a job's rules on a page and print what came of it; answers the exit code."""
    if fetching.api is not None:
        where = named_place(Flags(api=fetching.api, token=fetching.token))
        trial = uvloop.run(try_elsewhere(where, document_of(file), target, rule))
    else:
        flags = {"allow_private": fetching.allow_private, "hosts": fetching.hosts}
        settings = resolve(flags, os.environ, Path.cwd()).settings
        options = RunOptions(
            data=STATE_DIR, allow_private=bool(settings.allow_private), hosts=settings.hosts
        )
        trial = uvloop.run(try_rules(load_job(file), target, options, rule))
    if as_json:
        print(json.dumps(as_facts(trial), ensure_ascii=False))
    else:
        _print(trial)
    return EMPTY if trial.missing else OK


def as_facts(trial: Trial) -> dict[str, object]:
    """Return a trial as JSON has it."""
    listed = trial.listed
    return {
        "url": trial.url,
        "rule": trial.rule,
        "class": trial.page_class,
        "looks_like": trial.looks_like,
        "fields": trial.picked.fields,
        "items": None
        if listed is None
        else [{"url": one.url, "fields": one.picked.fields} for one in listed.items],
        "next": [] if listed is None else listed.next_urls,
        "missing": trial.missing,
        "problems": trial.picked.problems if listed is None else listed.problems,
        "links": [dataclasses.asdict(link) for link in trial.links],
        "article": dataclasses.asdict(trial.article),
    }


def _print(trial: Trial) -> None:
    console = Console(highlight=False, soft_wrap=True)
    console.print(Text(trial.url, style="bold"))
    console.print(f"class {trial.page_class}, rule set {trial.rule}; looks like {trial.looks_like}")
    if trial.listed is not None:
        _print_list(console, trial)
    else:
        _print_fields(console, "fields", trial.picked)
    for problem in trial.picked.problems if trial.listed is None else trial.listed.problems:
        console.print(Text(f"  problem: {problem}", style="yellow"))
    _print_links(console, trial)
    _print_article(console, trial)
    if trial.missing:
        console.print(Text(f"\nrequired and empty: {', '.join(trial.missing)}", style="bold red"))


def _print_fields(console: Console, head: str, picked: Picked) -> None:
    console.print(Text(f"\n{head}", style="bold"))
    if not picked.fields:
        console.print("  the rule set has no fields")
    width = max(map(len, picked.fields), default=0)
    for name, value in picked.fields.items():
        console.print(_field(name.ljust(width), value, required=name in picked.missing))


def _field(name: str, value: object, *, required: bool) -> Text:
    if value in (None, [], ""):
        return Text(f"  {name}  nothing found", style="bold red" if required else "yellow")
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if len(shown) > _TEXT_CHARS:
        shown = f"{shown[:_TEXT_CHARS]} … ({wording.count(len(shown))} characters)"
    return Text(f"  {name}  ").append(shown, style="green")


def _print_list(console: Console, trial: Trial) -> None:
    assert trial.listed is not None
    items = trial.listed.items
    style = "bold" if items else "bold red"
    console.print(Text(f"\n{len(items)} items", style=style))
    for number, item in enumerate(items[:_MOST_ITEMS], start=1):
        _print_fields(
            console, f"item {number}  {item.url or 'no link to its own page'}", item.picked
        )
    if len(items) > _MOST_ITEMS:
        console.print(f"\n… and {len(items) - _MOST_ITEMS} more")
    for url in trial.listed.next_urls:
        console.print(f"next page  {url}")


def _print_links(console: Console, trial: Trial) -> None:
    followed = sum(link.follow for link in trial.links)
    console.print(Text(f"\nlinks: {followed} of {len(trial.links)} are followed", style="bold"))
    shown = trial.links[:_MOST_LINKS]
    width = min(max((len(link.url) for link in shown), default=0), _URL_CHARS)
    for link in shown:
        sign, style = ("follow", "green") if link.follow else ("leave ", "dim")
        line = Text("  ").append(sign, style=style)
        line.append(f"  {link.page_class or '-':4}  {link.url:{width}}")
        console.print(line.append(f"  {link.why}".rstrip(), style="dim"))
    if len(trial.links) > _MOST_LINKS:
        console.print(f"  … and {len(trial.links) - _MOST_LINKS} more")


def _print_article(console: Console, trial: Trial) -> None:
    article = trial.article
    if not article.text:
        return
    console.print(Text("\narticle", style="bold"))
    for name in ("title", "author", "published", "language", "image"):
        console.print(_field(name.ljust(9), getattr(article, name), required=False))
    console.print(_field("text".ljust(9), article.text, required=False))
