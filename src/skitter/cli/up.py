"""``skitter up``: a master that other machines work for."""

from pathlib import Path
from typing import Annotated

import typer

from skitter.cli import crawl_flags as flag
from skitter.cli.examples import examples
from skitter.cli.node import MaxWorkers

EXAMPLES = examples(
    "skitter up --data state",
    "SKITTER_TOKEN=... skitter up --data state --host 10.0.0.5 --workers 4",
    "skitter job add news.toml --data state",
    "SKITTER_TOKEN=... skitter node --control http://10.0.0.5:8440",
)

Host = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Address to listen on; default 127.0.0.1, which only this machine can reach. Another"
        " one needs a token that you choose.",
    ),
]
Port = Annotated[int | None, typer.Option(metavar="N", help="Port to listen on; default 8440.")]
Token = Annotated[
    str | None,
    typer.Option(
        metavar="T",
        help="What people and nodes have to know; better in SKITTER_TOKEN. Default: made, kept in"
        " --data.",
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="Keep the frontier and the records here; default .skitter/up."
    ),
]
Store = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Work on this Redis or Valkey instead; several may, each with its own API.",
    ),
]
Workers = Annotated[
    int | None, typer.Option(metavar="N", help="Worker processes here; default one per core.")
]

Warc = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Archive jobs from the API here: those with media, and those that say archive.",
    ),
]


def up(  # noqa: PLR0913, PLR0917  one parameter a flag; the values are read from the context
    ctx: typer.Context,
    host: Host = None,
    port: Port = None,
    data: Data = None,
    store: Store = None,
    cold: flag.Cold = None,
    index: flag.Index = None,
    picker: flag.PickerFlag = None,
    workers: Workers = None,
    max_workers: MaxWorkers = None,
    token: Token = None,
    concurrency: flag.Concurrency = None,
    allow_private: flag.AllowPrivate = None,
    hosts: flag.Hosts = None,
    warc: Warc = None,
    fast: flag.Fast = None,
    quiet: flag.Quiet = None,
    log_json: flag.LogJson = None,
) -> None:
    """Serve crawls from this machine: an API with a dashboard, workers, and nodes elsewhere.

    Runs until Ctrl-C. Jobs come over the API, from the dashboard, or with: skitter job add FILE
    --data DIR; their records go to DIR/out/ID.jsonl unless they name files. Whoever shows the token
    may do everything; DIR/token.operator and DIR/token.reader may do less, DIR/token.node is for
    nodes.
    """
    from skitter.wiring.service_child import ServiceChild  # noqa: PLC0415  not for --help

    child = ServiceChild()
    try:
        from skitter.cli.up_run import up_on  # noqa: PLC0415  heavy, and loaded beside the other

        code = up_on(ctx.params, child)
    finally:
        child.discard()
    raise typer.Exit(code)
