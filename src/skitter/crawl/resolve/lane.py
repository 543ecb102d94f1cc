"""The job that resolved pages belong to: one for a store, made when it is first needed.

Its URLs go before those of every crawl, and wait for the same gates as theirs. Any member may
claim them. Its records are in the page index alone: whoever asked reads them there.
"""

from typing import Final

from skitter.frontier.model import DEFAULT_PRIORITY, Link
from skitter.job.parts import Aliases, Http, Traps
from skitter.job.spec import Job, Kind
from skitter.types import JobNumber, PageClass
from skitter.url.normalise import NormalUrl
from skitter.url.partition import Partition, slot_in

LANE: Final = "resolve-lane"
URGENT: Final = 9
assert URGENT > DEFAULT_PRIORITY


def lane_job() -> Job:
    """Return the job; somebody waits for its pages, so it gives up sooner than a crawl."""
    return Job(
        id=LANE,
        kind=Kind.RESOLVE,
        priority=URGENT,
        partition=Partition.URL,
        http=Http(timeout=20.0, connect_timeout=5.0, first_byte_timeout=15.0, tries=2),
        traps=Traps(enabled=False),
        aliases=Aliases(enabled=False),
    )


def lane_link(job: JobNumber, normal: NormalUrl, visit: int, media: str) -> Link:
    """Return a URL to be resolved as a link; ``media`` names the kinds of files wanted with it."""
    return Link(
        normal.url,
        normal.fp,
        normal.host,
        job,
        slot_in(normal.host, Partition.URL),
        PageClass.DATA,
        URGENT,
        visit=visit,
        data=media.encode(),
    )
