"""``skitter demo``: a small web on loopback, crawled before your eyes."""

from pathlib import Path
from typing import Annotated

import typer

from skitter.cli.examples import examples

EXAMPLES = examples("skitter demo", "skitter demo --dir /tmp/skitter-demo")
DEFAULT_DIR = Path("skitter-demo")


def demo(
    directory: Annotated[
        Path, typer.Option("--dir", metavar="DIR", help="Where results and state go.")
    ] = DEFAULT_DIR,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, no summary.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="End with one line of JSON on standard output.")
    ] = False,
) -> None:
    """Serve a demo web on this machine, crawl it and show around: outputs, archive, traps and more.

    It has a news site, a shop, a library; redirects, legacy encodings, sitemaps, endless calendars.

    Nothing leaves the machine. To try a service on the same web, serve that with
    `python -m skitter.demo --port 8480 --hosts-out demo.hosts`, and start
    `skitter up --hosts demo.hosts --allow-private`.
    """
    from skitter.cli.demo_run import run_demo  # noqa: PLC0415  heavy, not for --help

    raise typer.Exit(run_demo(directory, quiet=quiet, json=json))
