"""Which pages of a job are visited again, and when."""

from typing import Final

from xxhash import xxh3_64_digest

from skitter.clock import Clock
from skitter.crawl.judge import Judge
from skitter.crawl.sitemaps import ENTRY
from skitter.crawl.trip import Visit
from skitter.frontier.model import Result
from skitter.job.spec import Job
from skitter.pipeline.record import TRAP_CLASS
from skitter.types import Outcome, PageClass, Role

GONE: Final = frozenset({404, 410})
_STAYS: Final = frozenset(
    {Outcome.OK, Outcome.NOINDEX, Outcome.REJECTED, Outcome.HTTP_ERROR, Outcome.FAILED}
)
"""What may be otherwise the next time."""


class Refresh:
    """The visits to come of one job's pages."""

    def __init__(self, job: Job, judge: Judge, clock: Clock) -> None:
        seconds = job.refresh.seconds
        assert seconds is not None
        self._every_ms = round(seconds * 1000)
        self._every = job.visits_all_again
        self._judge = judge
        self._clock = clock
        said = job.model_dump_json(include={"list_", "detail", "rules", "media", "jump"})
        self._rules = xxh3_64_digest(said.encode())
        self.cleared = b""
        """Another one whenever a queue of the job was cleared: its links are to be found again."""

    @property
    def goes_by(self) -> bytes:
        """What pages are read by: where it is another, what was found before says nothing."""
        return self._rules + self.cleared

    @classmethod
    def of(cls, job: Job, judge: Judge, clock: Clock) -> "Refresh | None":
        """Return when the pages of a job come again; None for a job that visits each once."""
        return None if job.refresh.seconds is None else cls(job, judge, clock)

    def keeps(self, page_class: PageClass) -> bool:
        """Tell whether a page of a class may come again, so that its visits are remembered."""
        return page_class is PageClass.NAV

    def plan(self, visit: Visit) -> None:
        """Let the page of a visit that has ended come again, if it is one that does."""
        if visit.record is not None and self._comes_again(visit):
            visit.result = Result.DONE
            visit.at_ms = self._clock.now_ms() + self._every_ms

    def _comes_again(self, visit: Visit) -> bool:
        record, lease = visit.record, visit.lease
        assert record is not None
        if lease.page_class is not PageClass.NAV:
            return False
        is_named = self._judge.is_start(lease) and lease.role is Role.PAGE
        if is_named or (lease.depth == 0 and lease.referrer == ENTRY):
            # What a person has named is looked at again, whatever it was this time.
            return True
        # A link that only leads on did so, or it does not.
        is_over = record.page_class == TRAP_CLASS or self._judge.is_jump(lease.url)
        if is_over or record.status in GONE or record.outcome not in _STAYS:
            return False
        if self._every or lease.role is Role.SITEMAP:
            return True
        # Where nothing can be found any more there is nothing to look for.
        return record.page_class == "nav" and self._judge.follows_from(lease.depth)
