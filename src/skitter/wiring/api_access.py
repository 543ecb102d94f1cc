"""Questions of the command line, put to a service: the same questions, the same answers."""

import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import msgspec

from skitter.client.nodes import AliasRow, NodeList, WorkerRow
from skitter.cluster.manager.roster import State
from skitter.errors import ApiAway, ApiError, ConfigError, NotFound
from skitter.pipeline.record import PageRecord, encode_line
from skitter.politeness.settings.values import parse_changes, plain_value
from skitter.wiring.answers import NAME_ONE

if TYPE_CHECKING:
    from pydantic import BaseModel

    from skitter.client.http import AsyncClient
    from skitter.client.pages import Archived, Explained

Facts = dict[str, Any]
Question = Mapping[str, Any]

MOST_ROWS = 1_000
"""Rows that a service gives at once."""
HISTORY = frozenset({"arguments", "added", "started", "ended", "exit_reason", "follows", "log"})
ORDERED = frozenset({"node", "worker", "kind", "priority", "state", "wanted", "pid"}) | HISTORY
"""What is told of a worker that was given an order."""
FIRST = (
    "url", "job", "state", "why", "canonical_form", "host", "link_rule", "depth", "priority",
    "referrer", "failed_tries", "next_visit",
)  # fmt: skip
"""The order in which a page is explained; the rest follows."""
UNKNOWN = "unknown"
ROW = frozenset(WorkerRow.model_fields) - HISTORY


@asynccontextmanager
async def open_api(url: str, token: str | None) -> AsyncIterator["AsyncClient"]:
    """Open the way to a service."""
    if find_spec("httpx") is None:
        raise ConfigError("--api: the client for it is missing; pip install 'skitter[api]'")
    from skitter.client.http import AsyncClient  # noqa: PLC0415  brings a client

    async with AsyncClient(url, token) as client:
        try:
            yield client
        except ApiError as error:
            raise _in_words(url, token, error) from error


def _in_words(url: str, token: str | None, error: ApiError) -> ApiError:
    """Return the error with what a person at a command line can do about it."""
    if isinstance(error, ApiAway):
        return error
    said = error.message
    if error.status == 401:
        how = "wanted --token T or SKITTER_TOKEN"
        said = f"--api {url}: {'it wants a token' if token is None else 'not its token'}; {how}"
    elif error.status == 403:
        said = f"--api {url}: {said}"
    return ApiError(error.status, error.code, said, error.field)


async def ask_api(url: str, token: str | None, question: Question) -> list[Facts]:
    """Return the answer of a service to a question."""
    async with open_api(url, token) as client:
        return await answer(client, question)


async def api_archived(url: str, token: str | None, page: str, job: str | None) -> "Archived":
    """Return a page as a service has it in an archive; of several jobs, of the first that has."""
    async with open_api(url, token) as client:
        jobs = (
            [job]
            if job is not None
            else [one.job for one in (await client.explain(page)).jobs if one.record is not None]
        )
        if not jobs:
            raise NotFound(f"{page}: no job has a response of it")
        for one in jobs[:-1]:
            with suppress(ApiError):
                return await client.archived(page, one)
        return await client.archived(page, jobs[-1])


async def api_lines(url: str, token: str | None, question: Question) -> AsyncGenerator[bytes, None]:
    """Yield the answer about the pages of a job as lines, the last of which says it is complete."""
    async with open_api(url, token) as client:
        if "records" in question:
            records = _records(client, question)
            async with aclosing(records):
                async for line in records:
                    yield line
        else:
            for facts in await answer(client, question):
                yield _line(facts)
    yield _line({"complete": True})


async def answer(client: "AsyncClient", question: Question) -> list[Facts]:
    """Return what a question asks for, or do what it wants."""
    match question:
        case {"jobs": _}:
            return await _of_jobs(client, question)
        case {"settings": _}:
            return await _of_settings(client, question)
        case {"nodes": _}:
            return await _of_nodes(client, question)
        case _:
            return await _of_pages(client, question)


# Jobs


async def _of_jobs(client: "AsyncClient", question: Question) -> list[Facts]:
    match question:
        case {"jobs": "list"}:
            return [_plain(row) async for row in client.jobs(limit=MOST_ROWS)]
        case {"jobs": "show", "id": job}:
            return [_shown(_plain(await client.job(job)))]
        case {"jobs": "add", "job": job}:
            told = _plain(await client.add_job(job))
            return [{**_shown(told), "added": told["added"] is not False}]
        case {"jobs": "pause" | "resume" | "cancel" as verb, "id": job}:
            govern = {"pause": client.pause, "resume": client.resume, "cancel": client.cancel}
            return [_plain(await govern[verb](job))]
        case {"jobs": "clear", "id": job, "class": name}:
            told = _plain(await client.clear(job, name, restart=question.get("restart") is True))
            return [_without(told, "restarted") if told["restarted"] is None else told]
        case _:
            raise ConfigError("not a question about jobs that this version knows")


def _shown(job: Facts) -> Facts:
    """Return what is shown of a job: not its whole description, nor that there is no alarm."""
    empty = [name for name in ("alarms", "warnings") if not job[name]]
    return _without(job, "spec", "added", "notes", *empty)


# Sites


async def _of_settings(client: "AsyncClient", question: Question) -> list[Facts]:
    match question:
        case {"settings": "list"}:
            rows = (await client.settings()).settings
            return [_without(_plain(row), "known_hosts") for row in rows]
        case {"settings": "get", "pattern": pattern}:
            return [_plain(await client.setting(pattern))]
        case {"settings": "set", "pattern": pattern, "words": words}:
            values = {key: plain_value(value) for key, value in parse_changes(words).items()}
            return [_plain(await client.set_setting(pattern, values))]
        case {"settings": "unset", "pattern": pattern, "words": keys}:
            return [_plain(await client.unset_setting(pattern, keys))]
        case _:
            raise ConfigError("not a question about settings that this version knows")


def _alias(row: AliasRow) -> Facts:
    told = _plain(row)
    return {"kept": told.pop("site"), **told}


# Machines


async def _of_nodes(client: "AsyncClient", question: Question) -> list[Facts]:
    match question:
        case {"nodes": "list"}:
            return _rows(await client.nodes())
        case {"nodes": "buried"}:
            return [dict((await client.nodes()).buried)]
        case {"nodes": "show", "node": name}:
            told = _plain(await client.node(name))
            return [{"node": told.pop("id"), **told}]
        case {"nodes": "start", "node": name}:
            asked = {key: question[key] for key in ("kind", "priority", "count")}
            return [
                _some(one, ORDERED) for one in (await client.start_workers(name, **asked)).workers
            ]
        case {"nodes": "stop", "node": name, "worker": number}:
            stopped = await client.stop_worker(name, number)
            return [_some(one, ORDERED) for one in stopped.workers]
        case {"nodes": "logs", "node": name}:
            return await _logs(client, name, question)
        case _:
            raise ConfigError(f"no question about nodes: {sorted(question)}")


def _rows(told: NodeList) -> list[Facts]:
    """Return the workers of all nodes, and a row for each node without one."""
    rows: list[Facts] = []
    for node in told.nodes:
        mine = [row for row in told.workers if row.node == node.id]
        if not mine:
            state = "idle" if node.health == "ok" else node.health
            mine = [WorkerRow(node=node.id, state=state, health=node.health)]
        rows += [_some(row, ROW) for row in mine]
    return rows


async def _logs(client: "AsyncClient", name: str, question: Question) -> list[Facts]:
    """Return pieces of logs; a cursor is of one log, so what several go on with is asked apart."""
    worker, lines, after = question["worker"], question["lines"], question["after"]
    numbers = [worker]
    if worker is None and after:
        rows = (await client.workers(name)).workers
        begun = {str(row.worker) for row in rows if row.state != State.FINISHED}
        numbers = sorted(map(int, begun | set(after)))
    pieces = []
    for number in numbers:
        cursor = after.get(str(number))
        pieces += (await client.logs(name, worker=number, lines=lines, after=cursor)).logs
    return [_plain(piece) for piece in pieces]


# Pages of a job


async def _of_pages(client: "AsyncClient", question: Question) -> list[Facts]:
    match question:
        case {"page": url}:
            return await _explained(client, url, question.get("job"))
        case {"outputs": _}:
            files = (await client.job(await _job(client, question))).records
            return [{"outputs": files if isinstance(files, list) else []}]
        case {"rejects": _}:
            rejects = client.job_rejects(await _job(client, question), limit=MOST_ROWS)
            return [_plain(row) async for row in rejects]
        case {"aliases": _}:
            found = await client.aliases(job=question.get("job"))
            return [_alias(row) for row in found.aliases]
        case {"undo_alias": host}:
            undone = _plain(await client.undo_alias(host, job=question.get("job")))
            return [{"alias": undone["alias"], "kept": undone.pop("site"), **undone}]
        case {"linked": most}:
            linked = await client.job_linked(await _job(client, question), limit=_rows_of(most))
            return [_plain(row) for row in linked.linked]
        case _:
            raise ConfigError("not a question that a service knows; wanted --data or --store")


async def _explained(client: "AsyncClient", url: str, job: str | None) -> list[Facts]:
    """Return what every job says that knows a page; the only job is asked, whatever it knows."""
    told = await client.explain(url, job=job)
    found = told.jobs
    if not found:
        raise NotFound(_which([]))
    known = found if len(found) == 1 else [one for one in found if one.state != UNKNOWN]
    if not known:
        names = ", ".join(sorted(one.job for one in found))
        names += f" and {told.left_out} more" if told.left_out else ""
        why = f"no job knows it; --job ID tells what one would do with it: {names}"
        return [{"url": url, "state": UNKNOWN, "why": why}]
    return [_of_one_job(one) for one in known]


def _of_one_job(one: "Explained") -> Facts:
    told = one.model_dump(mode="json", exclude_unset=True)
    if record := told.pop("record", None):
        told["record"] = msgspec.to_builtins(msgspec.convert(record, PageRecord))
    first = {name: told[name] for name in FIRST if name in told}
    return first | told


async def _records(client: "AsyncClient", question: Question) -> AsyncGenerator[bytes, None]:
    """Yield the latest record of every page of a job, written as in every output."""
    job = await _job(client, question)
    rows = client.job_pages(job, limit=MOST_ROWS)
    async with aclosing(rows):
        async for row in rows:
            yield encode_line(msgspec.convert(row.model_dump(mode="json"), PageRecord))


async def _job(client: "AsyncClient", question: Question) -> str:
    """Return the job that is asked about, or the only one."""
    if isinstance(job := question.get("job"), str):
        return job
    known = [row.id async for row in client.jobs()]
    if len(known) != 1:
        raise NotFound(_which(known))
    return known[0]


def _rows_of(most: int) -> int:
    if most > MOST_ROWS:
        raise ConfigError(f"--seeds {most}: a service tells {MOST_ROWS} at most")
    return most


def _which(known: list[str]) -> str:
    return f"jobs there: {', '.join(sorted(known))}; {NAME_ONE}" if known else "no jobs there"


# Values as facts


def _plain(value: "BaseModel") -> Facts:
    return value.model_dump(mode="json")


def _some(worker: WorkerRow, names: frozenset[str]) -> Facts:
    return {name: value for name, value in _plain(worker).items() if name in names}


def _without(facts: Facts, *names: str) -> Facts:
    return {name: value for name, value in facts.items() if name not in names}


def _line(facts: Facts) -> bytes:
    return json.dumps(facts, ensure_ascii=False).encode() + b"\n"
