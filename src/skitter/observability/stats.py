"""Counters of one running crawl, read by the progress display and the final summary."""

from collections import Counter
from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class CrawlStats:
    """Everything a person wants to see while a crawl runs.

    The first block counts the whole job, also what earlier runs and other processes did; the
    second only this run of this process.
    """

    pages: int = 0
    """Visits that ended, whatever came of them."""
    ok: int = 0
    failed: int = 0
    """Network faults, HTTP errors and pages that broke."""
    refused: int = 0
    """Not fetched or not kept because of robots, the address guard, the scope or the media type."""
    duplicates: int = 0
    """Redirects to a known URL and bodies that equal an earlier page's."""
    rejected: int = 0
    """Set aside for want of a field; not among the pages."""
    aside: int = 0
    """Of those, the ones that a limit of pages counts."""
    queued: int = 0
    """Waiting, in flight or scheduled for a later try."""
    left: int | None = None
    """How many of them may be fetched under the page limits of all jobs; None where only one job
    is watched, whose limit is known.
    """
    dropped: int = 0
    """Cut by a bounded queue, by the job's choice."""
    bytes: int = 0
    """Of page bodies, decompressed."""
    status_codes: Counter[int] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)
    """By kind of error, such as "ReadTimeout"."""

    run_pages: int = 0
    run_bytes: int = 0
    in_flight: int = 0
    limit: int = 0
    """Requests that may be in flight, where the machine's load allows fewer than asked for."""
    hosts: int = 0
    """Hosts with work left."""
    is_shared: bool = False
    """Whether other processes work on the job as well; what is in flight is of this one alone."""
    waiting_until_ms: int | None = None
    """Set while nothing can be fetched before that time."""
    note: str = ""
    """A sentence for the person watching, such as why the crawl waits."""
    place: str = ""
    """A line for the person watching, told at the start: where the page index is."""
    member: str = ""
    """What this process is called where members meet, if it is one."""
