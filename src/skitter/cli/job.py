"""``skitter job``: what is kept of a job, in the format the next tool wants."""

from pathlib import Path
from typing import Annotated

import typer

from skitter.cli.examples import examples

app = typer.Typer(
    help="Jobs: give them to a master, look at them, get their records and seeds out.",
    no_args_is_help=True,
)

ADD_EXAMPLES = examples("skitter job add news.toml --data state")
LIST_EXAMPLES = examples("skitter job list --data state", "skitter job list --data state --json")
SHOW_EXAMPLES = examples("skitter job show sichuan-notices --data state")

MasterData = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Data directory of the master; default .skitter/up."),
]
OnlyJob = Annotated[
    str | None, typer.Argument(metavar="ID", help="The job; left out = the only one here.")
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


@app.command("add", epilog=ADD_EXAMPLES)
def add(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A job file, TOML or JSON.")],
    data: MasterData = None,
    json: AsJson = False,
) -> None:
    """Give a job to a running master (skitter up); its workers begin at once."""
    from skitter.cli.jobs import add_job  # noqa: PLC0415  heavy, not for --help

    add_job(file, data, as_json=json)


@app.command("list", epilog=LIST_EXAMPLES)
def list_jobs(data: MasterData = None, json: AsJson = False) -> None:
    """List the jobs of a running master and how they stand."""
    from skitter.cli.jobs import show_jobs  # noqa: PLC0415  heavy, not for --help

    show_jobs({"jobs": True}, data, as_json=json)


@app.command("show", epilog=SHOW_EXAMPLES)
def show(
    job: Annotated[str, typer.Argument(metavar="ID", help="The job.")],
    data: MasterData = None,
    json: AsJson = False,
) -> None:
    """Show how one job of a running master stands."""
    from skitter.cli.jobs import show_jobs  # noqa: PLC0415  heavy, not for --help

    show_jobs({"show_job": job}, data, as_json=json)


SCHEMA_EXAMPLES = examples("skitter job schema > job.schema.json")


@app.command("schema", epilog=SCHEMA_EXAMPLES)
def schema() -> None:
    """Print the JSON Schema of job files, for editors and other programs."""
    from skitter.cli.rejects import print_schema  # noqa: PLC0415  heavy, not for --help

    print_schema()


REJECTS_EXAMPLES = examples(
    "skitter job rejects notices",
    "skitter job rejects --data state --json",
)


@app.command("rejects", epilog=REJECTS_EXAMPLES)
def rejects(
    job: OnlyJob = None,
    data: CrawlData = None,
    store: CrawlStore = None,
    json: AsJson = False,
) -> None:
    """List the records that were set aside: page, rule, field and reason.

    Also while the crawl runs. A page that is visited again and then has the field leaves the list.
    Records that a database did not take are of the rule sinks, the latest hundred of each.
    """
    from skitter.cli.rejects import print_rejects  # noqa: PLC0415  heavy, not for --help

    print_rejects(job, data, store, as_json=json)


EXPORT_EXAMPLES = examples(
    "skitter job export example.com-1a2b3c4d --out pages.parquet",
    "skitter job export --data state --out pages.sqlite",
    "skitter job export --data state --seeds 100 --out seeds.txt",
    "skitter job export --warc archive --out pages.csv",
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

    run_export(Export(job, out, data, store, warc, seeds, json, force))
