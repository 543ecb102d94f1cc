"""How a job stands, in words and numbers, and how one job differs from another of its id."""

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from skitter.crawl.standing import CANCELLED, FINISHED
from skitter.crawl.totals import Totals
from skitter.errors import NotFound
from skitter.frontier.model import Counts, JobEntry, JobState
from skitter.job.spec import Job
from skitter.types import JobNumber

Facts = dict[str, object]

RUNNING, WAITING, PAUSED = "running", "waiting", "paused"
MAY_CHANGE = frozenset({"limits", "owner", "sinks", "version"})
"""What may be said anew of a job that is there; where its records go is compared as files."""
_LONGEST = 60


def state_of(entry: JobEntry, counts: Counts, stopped_by: str, *, at_work: bool) -> str:
    """Return in one word how a job stands; ``at_work`` tells whether there is any member."""
    if entry.state is JobState.CANCEL:
        return CANCELLED
    if stopped_by and entry.state is JobState.RUN:
        # Nothing is left of it, or it has as many pages as it wants.
        return FINISHED
    if stopped_by == FINISHED:
        return FINISHED
    if entry.state is JobState.PAUSE:
        return PAUSED
    return RUNNING if at_work and (counts.queued or counts.leased) else WAITING


def job_facts(
    entry: JobEntry, job: Job, counts: Counts, totals: Totals, stopped_by: str, *, at_work: bool
) -> Facts:
    """Return what a list shows of a job, and more numbers for programs."""
    return {
        "id": entry.id,
        "kind": job.kind.value,
        "owner": job.owner,
        "state": state_of(entry, counts, stopped_by, at_work=at_work),
        "stopped_by": stopped_by,
        "priority": job.priority,
        "pages": totals.pages,
        "ok": totals.ok,
        "failed": totals.failed,
        "refused": totals.refused,
        "duplicates": totals.duplicates,
        "rejected": totals.rejected,
        "queued": counts.queued,
        "leased": counts.leased,
        "scheduled": counts.scheduled,
        "done": counts.done,
        "dead": counts.dead,
        "dropped": counts.dropped,
    }


def more_facts(job: Job, totals: Totals, files: list[str]) -> Facts:
    """Return what is shown of one job beside that; no header of it, and no other secret."""
    limits = job.limits.model_dump(mode="json", exclude_none=True)
    return {
        "entries": list(job.entries),
        "scope": job.scope.value,
        "depth": job.depth,
        "order": job.order.value,
        "labels": dict(job.labels),
        "limits": limits,
        "records": files or "in the store; skitter job export gets them out",
        "bytes": totals.body_bytes,
        "error_pages": totals.error_pages,
        "garbled": totals.garbled,
        "sitemaps": totals.sitemaps,
        "status_codes": {str(code): n for code, n in sorted(totals.status_codes.items())},
        "errors": dict(totals.errors),
    }


def find_job(jobs: Mapping[JobNumber, JobEntry], job_id: str) -> tuple[JobNumber, JobEntry]:
    """Return the job of an id; one that is not there is told with the nearest that is."""
    for number, entry in jobs.items():
        if entry.id == job_id:
            return number, entry
    known = sorted(entry.id for entry in jobs.values())
    near = get_close_matches(job_id, known, 1, 0.5)
    hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(known) or 'none'}"
    raise NotFound(f"job {job_id}: there is none of that id; {hint}")


def difference(stored: Job, wanted: Job) -> str:
    """Say in words how two jobs differ in what must not change while they are there."""
    # As they are stored, for what looks secret is not.
    before, now = (dict(_flat(json.loads(job.to_json()))) for job in (stored, wanted))
    names = [
        name
        for name in dict.fromkeys([*before, *now])
        if name.partition(".")[0] not in MAY_CHANGE and before.get(name) != now.get(name)
    ]
    return "; ".join(
        f"{name} is {_short(before.get(name))} there and {_short(now.get(name))} here"
        for name in names
    )


def _flat(value: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, inner in value.items():
        if isinstance(inner, Mapping) and inner:
            yield from _flat(inner, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", inner


def _short(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
