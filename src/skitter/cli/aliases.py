"""``skitter aliases``: which hosts are crawled under another name, and how to undo that."""

from pathlib import Path
from typing import Annotated

import typer

from skitter.cli.examples import examples
from skitter.cli.place_flags import Api, Token

app = typer.Typer(
    help="Hosts that turned out to be other names of one site: see why, undo it.",
    no_args_is_help=True,
)

LIST_EXAMPLES = examples(
    "skitter aliases list",
    "skitter aliases list --data .skitter/example.com-1a2b3c4d --json",
    "skitter aliases list --store redis://10.0.0.5:6379 --job news",
    "skitter aliases list --api http://127.0.0.1:8440 --job news",
)
UNDO_EXAMPLES = examples(
    "skitter aliases undo mirror.example.org",
    "skitter aliases undo mirror.example.org:8080 --store redis://10.0.0.5:6379",
)

Data = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="State directory of the crawl; may be running."),
]
StoreUrl = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Redis or Valkey that holds the crawl, if no DIR does."),
]
Cold = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="With --store: where its long queues go on, if somewhere else."
    ),
]
JobId = Annotated[
    str | None, typer.Option(metavar="ID", help="The job; left out = the only one there.")
]


@app.command("list", epilog=LIST_EXAMPLES)
def list_aliases(
    data: Data = None,
    store: StoreUrl = None,
    api: Api = None,
    token: Token = None,
    job: JobId = None,
    json: Annotated[bool, typer.Option("--json", help="Lines of JSON instead of a table.")] = False,
) -> None:
    """List the hosts that are crawled under another name, since when and why.

    Also while the crawl runs. What was undone is listed, too.
    """
    from skitter.cli.alias_table import print_aliases  # noqa: PLC0415  heavy, not for --help
    from skitter.cli.place import Flags, named_place  # noqa: PLC0415

    print_aliases(named_place(Flags(data, store, api, token), job), as_json=json)


@app.command("undo", epilog=UNDO_EXAMPLES)
def undo(  # noqa: PLR0913, PLR0917  one parameter a flag
    host: Annotated[
        str, typer.Argument(metavar="HOST", help="The alias, with its port if it has one.")
    ],
    data: Data = None,
    store: StoreUrl = None,
    api: Api = None,
    token: Token = None,
    cold: Cold = None,
    job: JobId = None,
    json: Annotated[bool, typer.Option("--json", help="Print one line of JSON.")] = False,
) -> None:
    """Crawl a host under its own name again; it is not taken for an alias any more.

    Its URLs that were left out are queued again: a crawl that runs goes on with them, another
    one when it is started again. Each then has a second record, of visit 2.
    """
    from skitter.cli.alias_table import print_undone  # noqa: PLC0415  heavy, not for --help
    from skitter.cli.place import Flags, named_place  # noqa: PLC0415

    print_undone(host, named_place(Flags(data, store, api, token), job), cold, as_json=json)
