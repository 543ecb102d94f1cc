"""``skitter job``: what is kept of a job, in the format the next tool wants."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from skitter.cli.examples import examples
from skitter.cli.place_flags import Api, PagesIndex, Token
from skitter.errors import ConfigError


class PageClassName(StrEnum):
    """The two queues of a job."""

    NAV = "nav"
    DATA = "data"


app = typer.Typer(
    help="Jobs: add, list, pause and cancel them, get their records and seeds out.",
    no_args_is_help=True,
)

OnlyJob = Annotated[
    str | None, typer.Argument(metavar="ID", help="The job; left out = the only one here.")
]
OneJob = Annotated[str, typer.Argument(metavar="ID", help="The job.")]
JobsData = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Data directory of a master or a crawl, running or not; default .skitter/ID, else"
        " .skitter/up.",
    ),
]
JobsStore = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Redis or Valkey that holds the jobs, if no DIR does."),
]
JobsCold = Annotated[
    str | None,
    typer.Option(metavar="URL", help="PostgreSQL with the long queues of the store, if it has."),
]
CrawlData = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="State directory of the crawl; may be running."),
]
CrawlStore = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Redis or Valkey that holds the crawl, if no DIR does."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Lines of JSON instead of a table.")]


@app.command(
    "add",
    epilog=examples(
        "skitter job add news.toml --data state",
        "skitter job add news.toml --store redis://10.0.0.5:6379",
        "SKITTER_TOKEN=... skitter job add news.toml --api http://10.0.0.5:8440",
    ),
)
def add(  # noqa: PLR0913, PLR0917  one parameter a flag
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A job file, TOML or JSON.")],
    data: JobsData = None,
    store: JobsStore = None,
    api: Api = None,
    token: Token = None,
    cold: JobsCold = None,
    json: AsJson = False,
) -> None:
    """Give a job to a master (skitter up) or to the nodes of a store; they begin at once.

    Prints its id. The same job again is the same job, with new limits if they differ. A master
    writes its records to the files of its sinks, in DIR/out unless their path begins at the root;
    without sinks to DIR/out/ID.jsonl. In a store they stay until skitter job export gets them out.
    """
    from skitter.cli.jobs import add_job  # noqa: PLC0415  heavy, not for --help
    from skitter.cli.place import Flags, place_of_jobs  # noqa: PLC0415

    where = place_of_jobs(None, Flags(data, store, api, token, cold))
    add_job(file, where, as_json=json)


@app.command(
    "list",
    epilog=examples(
        "skitter job list --data state",
        "skitter job list --store redis://10.0.0.5:6379 --json",
        "skitter job list --api http://127.0.0.1:8440",
    ),
)
def list_jobs(
    data: JobsData = None,
    store: JobsStore = None,
    api: Api = None,
    token: Token = None,
    json: AsJson = False,
) -> None:
    """List the jobs and how they stand: running, waiting, paused, cancelled or finished.

    Waiting is a job whose next URL is due later, or for which no member is there.
    """
    from skitter.cli import jobs  # noqa: PLC0415  heavy, not for --help
    from skitter.cli.place import Flags, place_of_jobs  # noqa: PLC0415

    jobs.list_jobs(place_of_jobs(None, Flags(data, store, api, token)), as_json=json)


@app.command(
    "show",
    epilog=examples(
        "skitter job show sichuan-notices --data state",
        "skitter job show sichuan-notices --store redis://10.0.0.5:6379 --json",
    ),
)
def show(
    job: OneJob,
    data: JobsData = None,
    store: JobsStore = None,
    api: Api = None,
    token: Token = None,
    json: AsJson = False,
) -> None:
    """Show how one job stands, its limits, where its records go, and what was counted."""
    from skitter.cli.jobs import show_job  # noqa: PLC0415  heavy, not for --help
    from skitter.cli.place import Flags, place_of_jobs  # noqa: PLC0415

    show_job(job, place_of_jobs(job, Flags(data, store, api, token)), as_json=json)


@app.command(
    "pause",
    epilog=examples(
        "skitter job pause sichuan-notices --data state",
        "skitter job pause sichuan-notices --store redis://10.0.0.5:6379",
    ),
)
def pause(  # noqa: PLR0913, PLR0917  one parameter a flag
    job: OneJob,
    data: JobsData = None,
    store: JobsStore = None,
    api: Api = None,
    token: Token = None,
    cold: JobsCold = None,
    json: AsJson = False,
) -> None:
    """Fetch nothing more of a job until it is resumed.

    What is under way comes to its end and is recorded; everything else stays queued. A skitter
    crawl of the job waits.
    """
    _govern("pause", job, (data, store, api, token, cold), json=json)


@app.command(
    "resume",
    epilog=examples(
        "skitter job resume sichuan-notices --data state",
        "skitter job resume sichuan-notices --store redis://10.0.0.5:6379",
    ),
)
def resume(  # noqa: PLR0913, PLR0917  one parameter a flag
    job: OneJob,
    data: JobsData = None,
    store: JobsStore = None,
    api: Api = None,
    token: Token = None,
    cold: JobsCold = None,
    json: AsJson = False,
) -> None:
    """Let a paused job go on; one that was stopped by its time limit runs for that time again."""
    _govern("resume", job, (data, store, api, token, cold), json=json)


@app.command(
    "cancel",
    epilog=examples(
        "skitter job cancel sichuan-notices --data state",
        "skitter job cancel sichuan-notices --store redis://10.0.0.5:6379",
    ),
)
def cancel(  # noqa: PLR0913, PLR0917  one parameter a flag
    job: OneJob,
    data: JobsData = None,
    store: JobsStore = None,
    api: Api = None,
    token: Token = None,
    cold: JobsCold = None,
    json: AsJson = False,
) -> None:
    """End a job for good: its queue is dropped, its records stay.

    What is under way is not recorded. A skitter crawl of the job ends by itself.
    """
    _govern("cancel", job, (data, store, api, token, cold), json=json)


def _govern(
    verb: str,
    job: str,
    flags: tuple[Path | None, str | None, str | None, str | None, str | None],
    *,
    json: bool,
) -> None:
    from skitter.cli.jobs import govern  # noqa: PLC0415  heavy, not for --help
    from skitter.cli.place import Flags, place_of_jobs  # noqa: PLC0415

    govern(verb, job, place_of_jobs(job, Flags(*flags)), as_json=json)


@app.command(
    "clear",
    epilog=examples(
        "skitter job clear sichuan-notices --class nav --data state",
        "skitter job clear sichuan-notices --class nav --restart --data state",
        "skitter job clear sichuan-notices --class data --store redis://10.0.0.5:6379",
    ),
)
def clear(  # noqa: PLR0913, PLR0917  one parameter a flag
    job: OneJob,
    page_class: Annotated[
        PageClassName,
        typer.Option("--class", help="Which queue: nav pages lead to others, data pages are it."),
    ],
    restart: Annotated[
        bool,
        typer.Option("--restart", help="With nav: visit the job's entries again, at once."),
    ] = False,
    data: JobsData = None,
    store: JobsStore = None,
    api: Api = None,
    token: Token = None,
    cold: JobsCold = None,
    json: AsJson = False,
) -> None:
    """Empty one queue of a job: what waits or is scheduled there is forgotten.

    Such URLs can be found again; what is under way ends as it is. With --restart the entries are
    offered anew whatever came of them before, so that the job finds its way from the start.
    """
    from skitter.cli.jobs import clear_job  # noqa: PLC0415  heavy, not for --help
    from skitter.cli.place import Flags, place_of_jobs  # noqa: PLC0415

    if restart and page_class is not PageClassName.NAV:
        raise ConfigError("--restart: entries lead to other pages; wanted --class nav with it")
    where = place_of_jobs(job, Flags(data, store, api, token, cold))
    clear_job(job, page_class.value, where, restart=restart, as_json=json)


SCHEMA_EXAMPLES = examples("skitter job schema > job.schema.json")


@app.command("schema", epilog=SCHEMA_EXAMPLES)
def schema() -> None:
    """Print the JSON Schema of job files, for editors and other programs."""
    from skitter.cli.rejects import print_schema  # noqa: PLC0415  heavy, not for --help

    print_schema()


REJECTS_EXAMPLES = examples(
    "skitter job rejects notices",
    "skitter job rejects --data state --json",
    "skitter job rejects notices --again",
)


@app.command("rejects", epilog=REJECTS_EXAMPLES)
def rejects(  # noqa: PLR0913, PLR0917  one parameter a flag
    job: OnlyJob = None,
    data: CrawlData = None,
    store: CrawlStore = None,
    api: Api = None,
    token: Token = None,
    index: PagesIndex = None,
    cold: JobsCold = None,
    again: Annotated[
        bool,
        typer.Option("--again", help="Queue those pages once more: the rules are mended."),
    ] = False,
    json: AsJson = False,
) -> None:
    """List the records that were set aside: page, rule, field and reason.

    Also while the crawl runs. With --again the pages are queued once more, and the crawl that
    goes on visits them by the rules it has then; not with --api. A page that then has the field
    leaves the list.
    Records that a database did not take are of the rule sinks, the latest hundred of each.
    """
    from skitter.cli.place import Flags, place_of_job  # noqa: PLC0415  heavy, not for --help
    from skitter.cli.rejects import print_rejects, retry_rejects  # noqa: PLC0415

    where = place_of_job(job, Flags(data, store, api, token, cold, index))
    if again:
        retry_rejects(where, as_json=json)
    else:
        print_rejects(where, as_json=json)


EXPORT_EXAMPLES = examples(
    "skitter job export example.com-1a2b3c4d --out pages.parquet",
    "skitter job export --data state --out pages.sqlite",
    "skitter job export --data state --seeds 100 --out seeds.txt",
    "skitter job export --warc archive --out pages.csv",
    "skitter job export news --api http://127.0.0.1:8440 --out pages.csv",
)


@app.command("export", epilog=EXPORT_EXAMPLES)
def export(  # noqa: PLR0913, PLR0917  one parameter a flag
    job: OnlyJob = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Where to: .jsonl, .csv, .parquet or .sqlite; seeds are text. Default: standard"
            " output, as JSON lines.",
        ),
    ] = None,
    data: CrawlData = None,
    store: CrawlStore = None,
    api: Api = None,
    token: Token = None,
    index: PagesIndex = None,
    warc: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Take the records from an archive, not from a state."),
    ] = None,
    seeds: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Give the N most linked pages and hosts, for --seeds."
        ),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Seeds as JSON lines, with their number of links.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it exists.")] = False,
) -> None:
    """Write the latest record of every page, or the best seeds for another crawl.

    Also while the crawl runs.
    """
    from skitter.cli.export import Export, run_export  # noqa: PLC0415  heavy, not for --help
    from skitter.cli.place import Flags  # noqa: PLC0415

    run_export(
        Export(job, out, Flags(data, store, api, token, index=index), warc, seeds, json, force)
    )
