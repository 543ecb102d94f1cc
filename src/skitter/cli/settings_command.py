"""``skitter settings``: how sites are treated, changed while crawls run."""

from pathlib import Path
from typing import Annotated

import typer

from skitter.cli.examples import examples
from skitter.cli.place_flags import Api, Token

app = typer.Typer(
    help="Change how sites are treated while crawls run: delays, rates, blacklists and more.",
    no_args_is_help=True,
)

KEYS = (
    "delay (seconds), per_host (requests at once), rate (20/60s), rate_ip (from one address of"
    " ours), blacklist (true, false), agent, depth, types (text/html,text/*), and for '*'"
    " concurrency"
)
Pattern = Annotated[
    str,
    typer.Argument(
        metavar="HOST_PATTERN",
        help="www.a.com (any port), www.a.com:8080, '*.a.com' (hosts under it), .a.com (those and"
        " a.com), or '*'.",
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR", help="State directory of the crawl or of a skitter up; may be running."
    ),
]
Store = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Redis or Valkey that holds the crawls, if no DIR does."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Lines of JSON instead of a table.")]


@app.command(
    "list",
    epilog=examples(
        "skitter settings list --data state",
        "skitter settings list --store redis://10.0.0.5:6379 --json",
        "skitter settings list --api http://127.0.0.1:8440",
    ),
)
def list_settings(
    data: Data = None,
    store: Store = None,
    api: Api = None,
    token: Token = None,
    json: AsJson = False,
) -> None:
    """List what is set, for which hosts, by whom and since when."""
    from skitter.cli.place import Flags, named_place  # noqa: PLC0415  heavy, not for --help
    from skitter.cli.settings_run import print_list  # noqa: PLC0415

    print_list(named_place(Flags(data, store, api, token)), as_json=json)


@app.command(
    "get",
    epilog=examples(
        "skitter settings get www.example.com --data state",
        "skitter settings get '*.gov.cn' --store redis://10.0.0.5:6379",
    ),
)
def get(
    pattern: Pattern,
    data: Data = None,
    store: Store = None,
    api: Api = None,
    token: Token = None,
    json: AsJson = False,
) -> None:
    """Show what counts for a host, or for all hosts of a pattern, and where it is set.

    Of several patterns the narrowest counts, for each setting on its own. What is not set is as
    the job says.
    """
    from skitter.cli.place import Flags, named_place  # noqa: PLC0415  heavy, not for --help
    from skitter.cli.settings_run import print_values  # noqa: PLC0415

    print_values(pattern, named_place(Flags(data, store, api, token)), as_json=json)


@app.command(
    "set",
    epilog=examples(
        "skitter settings set www.example.com delay=5 --data state",
        "skitter settings set '*.gov.cn' rate=20/60s per_host=2 --store redis://10.0.0.5:6379",
        "skitter settings set .example.org blacklist=true --data state",
        "skitter settings set '*' concurrency=16 --data state",
    ),
)
def set_(  # noqa: PLR0913, PLR0917  one parameter a flag
    pattern: Pattern,
    changes: Annotated[list[str], typer.Argument(metavar="KEY=VALUE...", help=KEYS)],
    data: Data = None,
    store: Store = None,
    api: Api = None,
    token: Token = None,
    json: AsJson = False,
) -> None:
    """Set something for hosts; every member goes by it within two seconds.

    Settings that are not named stay as they are. Queued URLs of a blacklisted site end as refused,
    and new links to it are not followed.
    """
    from skitter.cli.place import Flags, named_place  # noqa: PLC0415  heavy, not for --help
    from skitter.cli.settings_run import change  # noqa: PLC0415

    flags = Flags(data, store, api, token)
    change("set", pattern, changes, lambda: named_place(flags), as_json=json)


@app.command(
    "unset",
    epilog=examples(
        "skitter settings unset www.example.com --data state",
        "skitter settings unset '*.gov.cn' delay --store redis://10.0.0.5:6379",
    ),
)
def unset(  # noqa: PLR0913, PLR0917  one parameter a flag
    pattern: Pattern,
    keys: Annotated[
        list[str] | None, typer.Argument(metavar="KEY...", help="Which; left out = all of them.")
    ] = None,
    data: Data = None,
    store: Store = None,
    api: Api = None,
    token: Token = None,
    json: AsJson = False,
) -> None:
    """Take back what was set for a pattern: a wider pattern counts then, or what the job says."""
    from skitter.cli.place import Flags, named_place  # noqa: PLC0415  heavy, not for --help
    from skitter.cli.settings_run import change  # noqa: PLC0415

    flags = Flags(data, store, api, token)
    change("unset", pattern, keys or [], lambda: named_place(flags), as_json=json)
