"""The page index of a store: records by URL, requested or final, over all jobs or one.

A URL is known under the fingerprint that the rules of a job give it, so it is normalised once for
every distinct set of rules and looked up once for every job, all in one call. Look-ups at the same
time share a call.
"""

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from skitter.crawl.gather import Gather
from skitter.crawl.resolve.found import Found, Kept, Page, read_note, tell
from skitter.errors import NotFound, UrlError
from skitter.frontier.base import FrontierReader
from skitter.frontier.model import JobEntry, is_pointer, pointed_url
from skitter.job.spec import Job
from skitter.types import Fingerprint, HostKey, JobNumber
from skitter.url.canonical import DEFAULT_RULES, CanonicalRules
from skitter.url.fingerprint import Fingerprinter
from skitter.url.normalise import Normaliser, NormalUrl

JOBS_KEPT_S = 2.0
"""How long the list of jobs is taken for true."""

Place = tuple[JobNumber, HostKey, Fingerprint]


class Rules(NamedTuple):
    """Jobs that know a URL under one fingerprint."""

    normaliser: Normaliser
    jobs: tuple[JobNumber, ...]


class PageIndex:
    """Looks pages up. Jobs that came within two seconds may be missing, unless they are named."""

    def __init__(self, reader: FrontierReader, secret: bytes) -> None:
        self._reader = reader
        self._notes = Gather(reader.notes_of)
        self._fingerprint = Fingerprinter(secret)
        self._normalisers: dict[CanonicalRules, Normaliser] = {}
        self._rules_of: dict[str, CanonicalRules] = {}
        self._jobs: Mapping[JobNumber, JobEntry] = {}
        self._every: list[Rules] = []
        self._by_id: dict[str, JobNumber] = {}
        self._read_at = float("-inf")

    async def find(self, urls: Sequence[str], job: str | None = None) -> list[Found]:
        """Answer for each URL, in order; raises ``NotFound`` for a job that is not there."""
        rules = await self.rules(job)
        answers = [Found(url) for url in urls]
        pages = await self.pages(answers, rules)
        for answer, page in zip(answers, pages, strict=True):
            if page is not None:
                tell(answer, page)
        return answers

    async def rules(self, job: str | None = None) -> list[Rules]:
        """Return the jobs to look into, by the rules of their URLs."""
        if job is None:
            await self.jobs()
            return self._every
        if job not in self._by_id:
            await self.read_jobs()
        if job not in self._by_id:
            raise NotFound(f"job {job}: there is none of that id")
        number = self._by_id[job]
        return [Rules(self.normaliser(number), (number,))]

    async def jobs(self) -> Mapping[JobNumber, JobEntry]:
        """Return the jobs of the store, as they were within two seconds."""
        now = time.monotonic()
        if now - self._read_at > JOBS_KEPT_S:
            if self._every:
                # Others go by what is known while one of them reads.
                self._read_at = now
            await self.read_jobs()
        return self._jobs

    async def read_jobs(self) -> None:
        """Read the list of jobs."""
        at, jobs = time.monotonic(), await self._reader.jobs()
        if jobs != self._jobs or not self._every:
            self._take_up(jobs)
        self._read_at = at

    def _take_up(self, jobs: Mapping[JobNumber, JobEntry]) -> None:
        self._jobs = jobs
        specs = {entry.spec for entry in jobs.values()}
        self._rules_of = {spec: rules for spec, rules in self._rules_of.items() if spec in specs}
        self._by_id = {entry.id: number for number, entry in jobs.items()}
        groups: dict[CanonicalRules, list[JobNumber]] = {}
        for number in jobs:
            groups.setdefault(self._rules(number), []).append(number)
        self._every = [Rules(self._with(rules), tuple(found)) for rules, found in groups.items()]
        if not self._every:
            # Whether something is a URL can be told without a job.
            self._every = [Rules(self._with(DEFAULT_RULES), ())]

    def normaliser(self, job: JobNumber) -> Normaliser:
        """Return what normalises the URLs of a job."""
        return self._with(self._rules(job))

    def _rules(self, job: JobNumber) -> CanonicalRules:
        spec = self._jobs[job].spec
        found = self._rules_of.get(spec)
        if found is None:
            found = self._rules_of[spec] = Job.from_json(spec).urls.rules()
        return found

    def _with(self, rules: CanonicalRules) -> Normaliser:
        found = self._normalisers.get(rules)
        if found is None:
            found = self._normalisers[rules] = Normaliser(rules, self._fingerprint)
        return found

    async def pages(self, asked: Sequence[Found], rules: Sequence[Rules]) -> list[Page | None]:
        """Return the newest record of each URL; of one that cannot be read it says why."""
        wanted: list[Place] = []
        whose: list[int] = []
        for number, answer in enumerate(asked):
            for normal, jobs in _spellings(answer, rules):
                for job in jobs:
                    wanted.append((job, normal.host, normal.fp))
                    whose.append(number)
        records = await self.records(wanted)
        newest: list[tuple[Kept, JobNumber] | None] = [None] * len(asked)
        for number, (job, _, _), record in zip(whose, wanted, records, strict=True):
            if record is not None:
                best = newest[number]
                if best is None or record.fetched_at > best[0].fetched_at:
                    newest[number] = record, job
        return await self._whole(newest)

    async def _whole(self, found: Sequence[tuple[Kept, JobNumber] | None]) -> list[Page | None]:
        """Return pages, those of redirects together with what they lead to."""
        apart = [
            (number, self._place(job, kept.leads_on))
            for number, (kept, job) in ((n, f) for n, f in enumerate(found) if f is not None)
            if kept.leads_on is not None
        ]
        targets = await self.records([place for _, place in apart]) if apart else []
        target_of = {number: target for (number, _), target in zip(apart, targets, strict=True)}
        return [
            None if one is None else Page(one[0], target_of.get(number))
            for number, one in enumerate(found)
        ]

    async def records(self, wanted: Sequence[Place]) -> list[Kept | None]:
        """Return what is kept under each place; where a redirect led there, its record."""
        notes = list(await self._notes(wanted))
        led = [number for number, note in enumerate(notes) if is_pointer(note)]
        if led:
            places = [self._place(wanted[n][0], pointed_url(notes[n])) for n in led]
            for number, note in zip(led, await self._notes(places), strict=True):
                notes[number] = b"" if is_pointer(note) else note
        return [read_note(note) if note else None for note in notes]

    def _place(self, job: JobNumber, url: str) -> Place:
        normal = self.normaliser(job).absolute(url)
        return job, normal.host, normal.fp


def _spellings(
    answer: Found, rules: Sequence[Rules]
) -> list[tuple[NormalUrl, tuple[JobNumber, ...]]]:
    try:
        return [(one.normaliser.absolute(answer.url), one.jobs) for one in rules]
    except UrlError as error:
        answer.error = error.why
        return []
