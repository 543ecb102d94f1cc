"""The jobs of a master, a cluster or a directory: added, listed, shown, governed."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import uvloop

from skitter.cli.explain import readable
from skitter.cli.report import complain
from skitter.cli.wording import plural
from skitter.errors import DataDirError
from skitter.job.load import document_of, load_job
from skitter.wiring.job_access import ask_jobs
from skitter.wiring.look import Where

_COLUMNS = ("id", "kind", "owner", "state", "priority", "pages", "queued", "rejected")

Facts = Mapping[str, object]


def add_job(file: Path, where: Where, *, as_json: bool) -> None:
    """Send a job file, checked here first so that its faults are named; print the job's id."""
    question = {"jobs": "add", "job": _wanted_job(file, where), "source": str(file)}
    facts = _ask_one(where, question)
    if as_json:
        print(json.dumps(facts, ensure_ascii=False))
        return
    print(facts["id"])
    said = "added" if facts["added"] else "is there already, nothing was added"
    print(f"job {facts['id']}: {said}; {_standing(facts)}", file=sys.stderr)
    warnings = facts.get("warnings")
    for line in warnings if isinstance(warnings, list) else ():
        complain(f"warning: {line}")


def _wanted_job(file: Path, where: Where) -> object:
    if where.api is None:
        return load_job(file).model_dump(mode="json", by_alias=True)
    # As it is written: a service knows names of sinks that mean nothing here.
    return document_of(file)


def list_jobs(where: Where, *, as_json: bool) -> None:
    """Print a line for each job."""
    found = uvloop.run(ask_jobs(where, {"jobs": "list"}))
    if as_json:
        for facts in found:
            print(json.dumps(facts, ensure_ascii=False))
    elif found:
        _print_table(found)
    else:
        print("no jobs")


def show_job(job: str, where: Where, *, as_json: bool) -> None:
    """Print everything about one job."""
    facts = _ask_one(where, {"jobs": "show", "id": job})
    if as_json:
        print(json.dumps(facts, ensure_ascii=False))
    else:
        print("\n".join(readable(facts)))


def govern(verb: str, job: str, where: Where, *, as_json: bool) -> None:
    """Pause, resume or cancel a job; print how it stands then."""
    facts = _ask_one(where, {"jobs": verb, "id": job})
    _print_standing(facts, as_json=as_json)


def clear_job(job: str, page_class: str, where: Where, *, restart: bool, as_json: bool) -> None:
    """Empty one queue of a job; print how many URLs were forgotten."""
    question = {"jobs": "clear", "id": job, "class": page_class, "restart": restart}
    facts = _ask_one(where, question)
    if as_json:
        print(json.dumps(facts, ensure_ascii=False))
        return
    said = f"job {job}: {plural(_number(facts, 'cleared'), f'{page_class} URL')} forgotten"
    if restart:
        said += f", {_number(facts, 'restarted')} of its entries offered anew"
    print(said)


def _ask_one(where: Where, question: Mapping[str, object]) -> Facts:
    found = uvloop.run(ask_jobs(where, question))
    if len(found) != 1:
        raise DataDirError(f"{where}: what runs there does not know the question; restart it")
    return found[0]


def _print_standing(facts: Facts, *, as_json: bool) -> None:
    print(
        json.dumps(facts, ensure_ascii=False)
        if as_json
        else f"job {facts['id']}: {_standing(facts)}"
    )


def _standing(facts: Facts) -> str:
    pages, queued = _number(facts, "pages"), _number(facts, "queued")
    return f"{_state(facts)}, {plural(pages, 'page')}, {queued:,} queued"


def _number(facts: Facts, name: str) -> int:
    return int(str(facts[name]))


def _state(facts: Facts) -> str:
    """Return the state in words, and the limit that made it so."""
    state, why = str(facts["state"]), str(facts["stopped_by"])
    return f"{state} ({why})" if why and why != state else state


def _print_table(found: Sequence[Facts]) -> None:
    rows: list[tuple[str, ...]] = [_COLUMNS]
    for facts in found:
        shown = {**facts, "owner": facts["owner"] or "-", "state": _state(facts)}
        rows.append(tuple(str(shown[name]) for name in _COLUMNS))
    wide = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    for row in rows:
        print("  ".join(text.ljust(width) for text, width in zip(row, wide, strict=True)).rstrip())


def _cell(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
