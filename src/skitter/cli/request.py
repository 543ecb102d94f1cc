"""What a ``crawl`` command line asks for: checked, and then done."""

import logging
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from skitter.cli.paths import check_paths
from skitter.cli.report import complain
from skitter.cli.run import finish, run_crawl
from skitter.cli.summary import resume_command, shared_page_command
from skitter.cli.wording import plural
from skitter.config import Resolved, Settings, resolve, run_options
from skitter.errors import ConfigError
from skitter.job.load import job_from_flags, load_job
from skitter.job.seeds import BadSeed, open_seeds, stream_seeds
from skitter.job.spec import Job
from skitter.observability.logs import want_json
from skitter.wiring.crawl import open_crawl

logger = logging.getLogger(__name__)

STDIN = "-"
_SHOWN_BAD_LINES = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A command line, parsed but not yet judged."""

    urls: tuple[str, ...] = ()
    seeds: str | None = None
    job_file: Path | None = None
    fresh: bool = False
    json: bool = False
    params: Mapping[str, object]
    """Every flag by name; None where it was not given."""
    argv: tuple[str, ...] = ()

    def settings(self) -> dict[str, object]:
        """Return the flags that are settings and were given."""
        named = {name: self.params.get(name) for name in Settings.model_fields}
        return {name: value for name, value in named.items() if value not in (None, [], ())}


def crawl_on(request: Request) -> int:
    """Crawl what was asked for; return the exit code.

    Nothing is opened, made or deleted before everything that was said is known to make sense.
    """
    resolved = resolve(request.settings(), os.environ, Path.cwd())
    want_json(wanted=resolved.settings.log_json)
    job = wanted_job(request, resolved)
    options = run_options(resolved, job, fresh=request.fresh, json=request.json)
    check_paths(options)
    for line in () if options.quiet else job.unused:
        complain(f"warning: {line}")
    bad_lines = BadLines()
    seeds = seed_urls(request.seeds, bad_lines)
    summary, code = run_crawl(open_crawl, job, options, seeds)
    if bad_lines.count and not options.quiet:
        complain(f"skipped {plural(bad_lines.count, 'line')} of the seeds that are not URLs")
    look = "" if options.store is None else shared_page_command(job.id, request.settings())
    finish(summary, options, resume_command(request.argv), look)
    return code


def wanted_job(request: Request, resolved: Resolved) -> Job:
    """Return the job of a command line, or say what is missing or contradicts itself."""
    if request.urls and request.job_file is not None:
        raise ConfigError("URLs and --job: wanted one of them; list the URLs in the job's entries")
    for url in request.urls:
        if "//" not in url and Path(url).is_file():
            raise ConfigError(f"{url}: is a file; wanted a URL, or the file as --seeds or --job")
    base = None if request.job_file is None else load_job(request.job_file)
    job = job_from_flags(
        request.urls,
        flags=resolved.job_flags(),
        defaults=resolved.job_defaults(),
        base=base,
        seeds=request.seeds,
    )
    if not job.entries and request.seeds is None:
        missing = "URL, --seeds FILE or --job FILE" if base is None else "entries in the job file"
        raise ConfigError(f"nothing to crawl: wanted {missing}")
    return job


class BadLines:
    """Counts the lines of a seed list that are no URLs, and shows the first of them."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, bad: BadSeed) -> None:
        """Take note of one."""
        self.count += 1
        if self.count <= _SHOWN_BAD_LINES:
            logger.warning("%s; line skipped", bad)


def seed_urls(seeds: str | None, bad_lines: BadLines) -> Iterator[str] | None:
    """Return the URLs of ``--seeds``; a file with a bad line is refused at once."""
    if seeds is None:
        return None
    if seeds == STDIN:
        return _standard_input(bad_lines)
    return open_seeds(Path(seeds).expanduser(), bad_lines)


def _standard_input(on_bad: Callable[[BadSeed], None]) -> Iterator[str]:
    # A reader of its own: a thread blocked in sys.stdin would abort the interpreter's exit.
    with os.fdopen(os.dup(sys.stdin.fileno()), "rb") as stream:
        yield from stream_seeds(stream, "standard input", on_bad)
