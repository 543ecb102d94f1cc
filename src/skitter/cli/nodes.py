"""``skitter nodes``: the machines of a cluster and their workers, from afar."""

from pathlib import Path
from typing import Annotated

import typer

from skitter.cli.examples import examples
from skitter.cli.place_flags import Api, Token

app = typer.Typer(
    help="Machines and their workers: how they stand, started and stopped from afar, their logs.",
    no_args_is_help=True,
)

Node = Annotated[str, typer.Argument(metavar="ID", help="The node, as nodes list calls it.")]
Data = Annotated[
    Path | None,
    typer.Option(metavar="DIR", help="Data directory of a skitter up; default .skitter/up."),
]
Store = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Redis or Valkey that the nodes work for, if no DIR does."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Lines of JSON instead of a table.")]


@app.command(
    "list",
    epilog=examples(
        "skitter nodes list --store redis://10.0.0.5:6379",
        "skitter nodes list --store redis://10.0.0.5:6379 --watch",
        "skitter nodes list --data state --json",
        "skitter nodes list --api http://127.0.0.1:8440",
    ),
)
def list_nodes(
    data: Data = None,
    store: Store = None,
    api: Api = None,
    token: Token = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Show it again and again, until Ctrl-C.")
    ] = False,
    json: AsJson = False,
) -> None:
    """List the workers of all nodes: speed, share of the slots, backlog, health.

    BACKLOG is the number of hosts with work in a worker's slots. A master (skitter up) hands out to
    whoever asks first; its workers have no slots.
    """
    from skitter.cli.nodes_run import print_nodes, watch_nodes  # noqa: PLC0415  not for --help
    from skitter.cli.place import Flags, place_of_nodes  # noqa: PLC0415

    where = place_of_nodes(Flags(data, store, api, token))
    (watch_nodes if watch else print_nodes)(where, as_json=json)


@app.command(
    "show",
    epilog=examples(
        "skitter nodes show box-1 --store redis://10.0.0.5:6379",
        "skitter nodes show up --data state --json",
    ),
)
def show(
    node: Node,
    data: Data = None,
    store: Store = None,
    api: Api = None,
    token: Token = None,
    json: AsJson = False,
) -> None:
    """Show one node and its list of workers, those that have ended included."""
    from skitter.cli.nodes_run import print_node  # noqa: PLC0415  heavy, not for --help
    from skitter.cli.place import Flags, place_of_nodes  # noqa: PLC0415

    print_node(node, place_of_nodes(Flags(data, store, api, token)), as_json=json)


@app.command(
    "start",
    epilog=examples(
        "skitter nodes start box-1 --store redis://10.0.0.5:6379",
        "skitter nodes start box-1 --count 3 --priority 7 --store redis://10.0.0.5:6379",
    ),
)
def start(  # noqa: PLR0913, PLR0917  one parameter a flag
    node: Node,
    kind: Annotated[
        str,
        typer.Option(
            metavar="KIND",
            help="A label: all, list, site, news, web or resolve. Every worker serves all jobs.",
        ),
    ] = "all",
    priority: Annotated[
        int,
        typer.Option(
            metavar="N", help="Who is started first when there is room: 0 (last) to 9 (first)."
        ),
    ] = 5,
    count: Annotated[int, typer.Option(metavar="N", help="How many workers.")] = 1,
    data: Data = None,
    store: Store = None,
    api: Api = None,
    token: Token = None,
    json: AsJson = False,
) -> None:
    """Start workers on a node; those beyond its limit of processes wait for room.

    They are started again after a crash, and after a restart of the node, until they are stopped.
    """
    from skitter.cli.nodes_run import give_order  # noqa: PLC0415  heavy, not for --help
    from skitter.cli.place import Flags, place_of_nodes  # noqa: PLC0415

    question = {"nodes": "start", "kind": kind, "priority": priority, "count": count}
    give_order(question, node, place_of_nodes(Flags(data, store, api, token)), as_json=json)


@app.command("stop", epilog=examples("skitter nodes stop box-1 3 --store redis://10.0.0.5:6379"))
def stop(  # noqa: PLR0913, PLR0917  one parameter a flag
    node: Node,
    worker: Annotated[int, typer.Argument(metavar="WORKER", help="The number of the worker.")],
    data: Data = None,
    store: Store = None,
    api: Api = None,
    token: Token = None,
    json: AsJson = False,
) -> None:
    """Let a worker finish its requests and end for good; others take over its hosts."""
    from skitter.cli.nodes_run import give_order  # noqa: PLC0415  heavy, not for --help
    from skitter.cli.place import Flags, place_of_nodes  # noqa: PLC0415

    give_order(
        {"nodes": "stop", "worker": worker},
        node,
        place_of_nodes(Flags(data, store, api, token)),
        as_json=json,
    )


@app.command(
    "logs",
    epilog=examples(
        "skitter nodes logs box-1 --store redis://10.0.0.5:6379",
        "skitter nodes logs box-1 3 --follow --store redis://10.0.0.5:6379",
    ),
)
def logs(  # noqa: PLR0913, PLR0917  one parameter a flag
    node: Node,
    worker: Annotated[
        int | None,
        typer.Argument(
            metavar="WORKER",
            help="The number of a worker, 0 for the manager; left out = all at work.",
        ),
    ] = None,
    lines: Annotated[
        int, typer.Option(metavar="N", min=1, help="The last N lines of each log.")
    ] = 20,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what comes, until Ctrl-C.")
    ] = False,
    data: Data = None,
    store: Store = None,
    api: Api = None,
    token: Token = None,
    json: AsJson = False,
) -> None:
    """Read what workers and their manager have to say, from any machine."""
    from skitter.cli.nodes_run import Reading, print_logs  # noqa: PLC0415  heavy, not for --help
    from skitter.cli.place import Flags, place_of_nodes  # noqa: PLC0415

    print_logs(
        Reading(node, worker, lines, follow),
        place_of_nodes(Flags(data, store, api, token)),
        as_json=json,
    )
