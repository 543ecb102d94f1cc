"""Runs a crawl under the eyes of a person, and tells its end in words."""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractAsyncContextManager

from skitter.cli.progress import make_display
from skitter.cli.report import INTERRUPTED, OK
from skitter.cli.summary import summary_json, summary_lines
from skitter.cli.watched import Running, run_watched
from skitter.config import RunOptions
from skitter.crawl.summary import Summary
from skitter.job.spec import Job

OpenCrawl = Callable[
    [Job, RunOptions, Iterator[str] | None], AbstractAsyncContextManager[Running[Summary]]
]


def run_crawl(
    open_crawl: OpenCrawl, job: Job, options: RunOptions, seeds: Iterator[str] | None = None
) -> tuple[Summary | None, int]:
    """Crawl with progress; return the summary and the exit code.

    There is no summary when the crawl was interrupted before it began.
    """
    display = make_display(quiet=options.quiet, page_limit=job.limits.pages)
    summary = run_watched(lambda: open_crawl(job, options, seeds), display)
    if summary is None:
        return None, INTERRUPTED
    return summary, INTERRUPTED if summary.stopped_by == "interrupted" else OK


def finish(summary: Summary | None, options: RunOptions, resume: str, look: str = "") -> None:
    """Print how the crawl ended: JSON where it was asked for, else words for people."""
    if options.quiet and not options.json:
        return
    interrupted = summary is None or summary.stopped_by == "interrupted"
    if interrupted and not options.quiet and (summary is None or options.json):
        print(f"interrupted; to go on: {resume}", file=sys.stderr)
    if summary is None:
        return
    if options.json:
        print(json.dumps(summary_json(summary)), flush=True)
    else:
        print("\n".join(summary_lines(summary, resume, look)), flush=True)
