"""``skitter node``: this machine joins a cluster."""

from pathlib import Path
from typing import Annotated

import typer

from skitter.cli import crawl_flags as flag
from skitter.cli.examples import examples

EXAMPLES = examples(
    "skitter node --store redis://10.0.0.5:6379",
    "skitter node --store 'rediss://skitter:secret@redis.example.com?namespace=news' --workers 4",
    "SKITTER_TOKEN=... skitter node --control http://10.0.0.5:8440 --idle-exit 30",
)

Store = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Work for the crawls in this Redis or Valkey."),
]
Control = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="Work for this master (skitter up); no Redis is needed or seen."
    ),
]
Token = Annotated[
    str | None,
    typer.Option(
        metavar="T", help="The master's token; better in SKITTER_TOKEN, where ps does not show it."
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="Worker processes from the start; default one per core, 0 for none yet."
    ),
]
Name = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="What this machine is called; default made from its host name."
    ),
]
Egress = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Send requests from this address of the machine; rates by address are kept for it.",
    ),
]
IdleExit = Annotated[
    int | None,
    typer.Option(
        metavar="N", help="End after N looks in a row, about a second each, that found no work."
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Keep the list of workers, their logs and locks here; default .skitter/node.",
    ),
]
MaxWorkers = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Worker processes at a time, at most; more wait for room. Default two per core.",
    ),
]
Place = Annotated[int | None, typer.Option(hidden=True)]
Kind = Annotated[str | None, typer.Option(hidden=True)]
Log = Annotated[Path | None, typer.Option(hidden=True)]


def node(  # noqa: PLR0913, PLR0917  one parameter a flag; the values are read from the context
    ctx: typer.Context,
    store: Store = None,
    cold: flag.Cold = None,
    index: flag.Index = None,
    picker: flag.PickerFlag = None,
    control: Control = None,
    token: Token = None,
    workers: Workers = None,
    max_workers: MaxWorkers = None,
    name: Name = None,
    egress: Egress = None,
    idle_exit: IdleExit = None,
    data: Data = None,
    concurrency: flag.Concurrency = None,
    allow_private: flag.AllowPrivate = None,
    hosts: flag.Hosts = None,
    fast: flag.Fast = None,
    quiet: flag.Quiet = None,
    log_json: flag.LogJson = None,
    place: Place = None,
    kind: Kind = None,
    log: Log = None,
) -> None:
    """Let this machine help: it joins at once and leaves at Ctrl-C, and nothing is lost by either.

    It runs worker processes, starts one again that crashes, and takes orders: skitter nodes

    A crawl begins with: skitter crawl URL --store URL
    """
    from skitter.cli.node_run import node_on  # noqa: PLC0415  heavy, not for --help

    raise typer.Exit(node_on(ctx.params, place))
