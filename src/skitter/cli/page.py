"""``skitter page URL``: everything known of one page, and why."""

from pathlib import Path
from typing import Annotated

import typer

from skitter.cli.examples import examples

EXAMPLES = examples(
    "skitter page https://example.com/about",
    "skitter page https://example.com/about --data .skitter/example.com-1a2b3c4d --json",
)


def page(
    url: Annotated[str, typer.Argument(metavar="URL", help="The page, as linked or as fetched.")],
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="State directory of the crawl; may be running."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one line of JSON.")] = False,
) -> None:
    """Print everything known of one page, and why it was fetched, refused or not seen.

    Also while the crawl runs.
    """
    from skitter.cli.explain import print_page  # noqa: PLC0415  heavy, not for --help

    print_page(url, data, as_json=json)
