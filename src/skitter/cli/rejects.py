"""What was set aside of a job, and what its file may say."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence

import uvloop

from skitter.cli import wording
from skitter.errors import ConfigError, DataDirError
from skitter.job.spec import Job
from skitter.wiring.job_access import ask_jobs
from skitter.wiring.look import Where, complete_answer

_COLUMNS = ("rule", "field", "reason", "url")

Facts = Mapping[str, object]


def print_schema() -> None:
    """Print the JSON Schema of a job."""
    print(json.dumps(Job.model_json_schema(by_alias=True), indent=2, ensure_ascii=False))


def print_rejects(where: Where, *, as_json: bool) -> None:
    """Print the records of a job that were set aside."""
    found = uvloop.run(_read(where))
    if as_json:
        for one in found:
            print(json.dumps(one, ensure_ascii=False))
    elif found:
        print("\n".join(table(found)))
    else:
        print("nothing was set aside")


def retry_rejects(where: Where, *, as_json: bool) -> None:
    """Queue the pages that were set aside once more; print how many."""
    if where.api is not None:
        raise ConfigError(f"{where}: --again needs the store itself; wanted --data or --store")
    facts = uvloop.run(_retry(where))
    if as_json:
        print(json.dumps(facts, ensure_ascii=False))
        return
    queued = int(str(facts["retried"]))
    print(f"job {facts['id']}: {wording.plural(queued, 'page')} queued once more")
    if queued and facts["room"] == 0:
        print("its limit of pages is used up: they wait until that is raised")
    elif queued and facts["state"] != "running":
        print("the crawl's own command, run again, visits them")


async def _retry(where: Where) -> Facts:
    job = where.job
    if job is None:
        jobs = [str(row["id"]) for row in await ask_jobs(where, {"jobs": "list"})]
        if len(jobs) != 1:
            raise ConfigError(f"{where}: jobs there: {', '.join(jobs) or 'none'}; name one")
        [job] = jobs
    found = await ask_jobs(where, {"jobs": "retry", "id": job})
    if len(found) != 1:
        raise DataDirError(f"{where}: what runs there does not know the question; restart it")
    return found[0]


async def _read(where: Where) -> list[Facts]:
    return [json.loads(line) async for line in complete_answer(where, {"rejects": True})]


def table(found: Sequence[Facts]) -> list[str]:
    """Return rejects as aligned lines, and how many there are of each kind."""
    rows = [_COLUMNS, *(tuple(str(one[name]) for name in _COLUMNS) for one in found)]
    wide = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    lines = [
        "  ".join(text.ljust(width) for text, width in zip(row, wide, strict=True)).rstrip()
        for row in rows
    ]
    kinds = Counter((str(one["rule"]), str(one["field"])) for one in found)
    ranked = [f"{rule}.{field} {wording.count(n)}" for (rule, field), n in kinds.most_common()]
    return [*lines, "", "by field: " + ", ".join(ranked)]
