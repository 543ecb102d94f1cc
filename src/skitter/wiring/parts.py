"""The replaceable parts of a crawl, made from a job and the options of its process."""

from pathlib import Path

from skitter.clock import Clock
from skitter.config import RunOptions
from skitter.crawl.traps.guard import TrapGuard, TrapLimits
from skitter.errors import ConfigError
from skitter.fetch.base import FetchLimits
from skitter.fetch.dns import Resolver
from skitter.fetch.guard import AddressGuard
from skitter.fetch.hosts import HostsTable
from skitter.fetch.http import HttpFetcher, default_headers
from skitter.fetch.pool import PoolOptions
from skitter.frontier.model import JobEntry, JobState, Overflow, SeenOptions
from skitter.job.spec import Job
from skitter.pipeline.base import Archive
from skitter.pipeline.file_sink import FileSink
from skitter.pipeline.sinks import make_sink
from skitter.types import HostKey
from skitter.wiring.reach import JobReach

ARCHIVED_CODINGS = "gzip, deflate"
"""Bodies are archived as they come, and the tools that read archives know these codings best."""


def make_fetcher(job: Job, options: RunOptions, reach: JobReach | None = None) -> HttpFetcher:
    """Return the fetcher of a job."""
    http = job.http
    limits = FetchLimits(
        connect_s=min(http.connect_timeout, http.timeout),
        first_byte_s=min(http.first_byte_timeout, http.timeout),
        total_s=http.timeout,
        header_bytes=http.max_header_bytes,
        body_bytes=http.max_bytes,
    )
    hosts = hosts_table(options.hosts)
    guard = AddressGuard(allow_private=options.allow_private)
    resolver = Resolver(guard, hosts=hosts, lookup=None if reach is None else reach.names)
    headers = default_headers(http.agent_for(HostKey("")))
    if options.warc is not None:
        headers["Accept-Encoding"] = ARCHIVED_CODINGS
    pool = PoolOptions() if reach is None else reach.pool
    return HttpFetcher(limits, resolver=resolver, headers=headers, pool=pool)


def make_sinks(options: RunOptions) -> list[FileSink]:
    """Return a sink for each output file."""
    return [
        make_sink(path, durable=not options.fast, overwrite=options.fresh) for path in options.out
    ]


def make_archive(job: Job, options: RunOptions, member: str = "") -> Archive | None:
    """Return the archive, if one is wanted; each member of a cluster has files of its own."""
    if options.warc is None:
        return None
    from skitter.pipeline.archive.writer import Archive as Warc  # noqa: PLC0415  for archives alone

    return Warc(
        options.warc,
        job=f"{job.id}-{member}" if member else job.id,
        compression=job.archive.compression.value,
        max_file_bytes=job.archive.max_file_bytes,
        durable=not options.fast,
        overwrite=options.fresh,
    )


def make_guard(job: Job, clock: Clock) -> TrapGuard | None:
    """Return the trap guard, unless it is switched off."""
    traps = job.traps
    if not traps.enabled:
        return None
    limits = TrapLimits(
        budget=traps.budget,
        max_segments=traps.max_segments,
        max_query_chars=traps.max_query_chars,
        max_params=traps.max_params,
    )
    return TrapGuard(limits, now_ms=clock.now_ms)


def job_entry(job: Job, *, outbox: bool = True, state: JobState = JobState.RUN) -> JobEntry:
    """Return what the frontier keeps of a job; ``outbox`` when a process writes files of it."""
    return JobEntry(
        id=job.id,
        spec=job.to_json(),
        state=state,
        outbox=outbox,
        delay_ms=round(job.polite.delay * 1000),
        per_host=job.polite.per_host,
        queue_bound=job.limits.queue,
        overflow=Overflow(job.limits.overflow.value),
        pages=job.limits.pages,
        partition=job.partition,
    )


def refuse_unstored_secrets(job: Job) -> None:
    """Raise when other processes could not send what the job says: secrets are not stored."""
    stored, http = Job.from_json(job.to_json()).http, job.http
    missing = [f"headers.{name}" for name in http.headers if name not in stored.headers]
    if not isinstance(http.cookies, str):
        missing += [f"cookies.{name}" for name in http.cookies if name not in stored.cookies]
    if missing:
        raise ConfigError(
            f"http.{missing[0]}: other processes work on this job, and a secret is not kept in the"
            " store; write env:NAME and set NAME wherever they run, or file:PATH"
        )


def refuse_unstored_passwords(job: Job) -> None:
    """Raise when a database of the job could not be opened from what is stored of it."""
    for number, output in enumerate(job.sinks):
        if output.keeps_secret:
            raise ConfigError(
                f"sinks[{number}].url: the job is opened from the store, and a password is not kept"
                " there; write env:NAME and set NAME wherever it is worked on, or file:PATH"
            )


def refuse_unkept_media(job: Job) -> None:
    """Raise when a job wants pictures and the like, and has nowhere to keep them."""
    if job.media and job.archive.directory is None:
        raise ConfigError(
            "media: wanted an archive to keep them in: --warc DIR or archive.directory"
        )


def seen_options(job: Job) -> SeenOptions:
    """Return how the frontier remembers known URLs."""
    seen = job.seen
    return SeenOptions(
        kind=seen.kind.value, expected=seen.expected, rate=seen.rate, groups=seen.groups
    )


def hosts_table(path: Path | None) -> HostsTable | None:
    """Return the table of names that the operator maps by hand, if there is one."""
    if path is None:
        return None
    try:
        text = path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(
            f"--hosts {path}: cannot be read ({error}); wanted a hosts file"
        ) from error
    return HostsTable.parse(text, source=f"--hosts {path}")
