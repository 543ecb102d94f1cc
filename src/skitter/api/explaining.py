"""Everything known of a URL, by every job."""

import asyncio
from collections.abc import Mapping
from typing import Any

from skitter.client.pages import Explained, Explanation
from skitter.errors import NotFound, UrlError
from skitter.types import JobNumber, Role
from skitter.url.normalise import Normaliser
from skitter.wiring.job_facts import find_job
from skitter.wiring.resolve import index_of, times_submitted
from skitter.wiring.service import Service

AT_ONCE = 8
"""Jobs that are asked about a URL at the same time."""
SIFTED_AT_ONCE = 32
"""Jobs that are asked at the same time whether they have met a URL."""
MOST_JOBS = 200
"""Jobs that are told of in one answer."""


async def explain(service: Service, url: str, job_id: str | None) -> Explanation:
    """Return what every job knows of a URL; those that know it come first."""
    jobs = await service.store.reader.jobs()
    if job_id is not None:
        wanted, left_out = [find_job(jobs, job_id)[1].id], 0
    else:
        wanted = sorted(entry.id for entry in jobs.values())
        left_out = max(0, len(wanted) - MOST_JOBS)
    if left_out:
        # To ask a job why takes long; whether it has met the URL is soon said.
        met = {jobs[number].id for number in await _jobs_that_met(service, url) if number in jobs}
        wanted = sorted(wanted, key=lambda one: (one not in met, one))[:MOST_JOBS]
    few = asyncio.Semaphore(AT_ONCE)

    async def ask(one: str) -> Explained | None:
        async with few:
            try:
                [facts] = await service.ask({"page": url, "job": one})
            except NotFound:
                if job_id is not None:
                    raise
                # It was forgotten while the others were asked.
                return None
        return _explained(one, facts)

    submitted = await times_submitted(service, url)
    answers = await asyncio.gather(*(ask(one) for one in wanted))
    found = sorted(
        (one for one in answers if one is not None), key=lambda one: one.state == "unknown"
    )
    known = any(one.state != "unknown" for one in found)
    return Explanation(url=url, known=known, submitted=submitted, jobs=found, left_out=left_out)


def _explained(job: str, facts: Mapping[str, Any]) -> Explained:
    facts = {**facts, "job": job}
    # Where an archive lies on its machine is nobody's business over the network.
    facts.pop("archive", None)
    return Explained.model_validate(facts)


async def _jobs_that_met(service: Service, url: str) -> set[JobNumber]:
    """Return the jobs that have queued or visited a URL, in whatever role."""
    index, reader = index_of(service), service.store.reader
    await index.read_jobs()
    few = asyncio.Semaphore(SIFTED_AT_ONCE)

    async def has_met(job: JobNumber, normaliser: Normaliser) -> bool:
        try:
            normal = normaliser.absolute(url)
        except UrlError:
            return False
        roles = [normaliser.in_role(normal, role) for role in Role]
        places = [(one.host, one.fp) for one in roles]
        async with few:
            # The page index may still have what a queue was told to forget.
            seen = await reader.seen(job, places)
            return any(seen) or any(await reader.notes_of([(job, *one) for one in places]))

    asked = [(job, one.normaliser) for one in await index.rules() for job in one.jobs]
    answers = await asyncio.gather(*(has_met(*one) for one in asked))
    return {job for (job, _), met in zip(asked, answers, strict=True) if met}
