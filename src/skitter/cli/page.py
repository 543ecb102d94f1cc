"""``skitter page URL``: everything known of one page, and why."""

from pathlib import Path
from typing import Annotated

import typer

from skitter.cli.examples import examples

EXAMPLES = examples(
    "skitter page https://example.com/about",
    "skitter page https://example.com/about --data .skitter/example.com-1a2b3c4d --json",
    "skitter page https://example.com/about --body > about.html",
    "skitter page https://example.com/about --store redis://10.0.0.5:6379",
)


def page(  # noqa: PLR0913, PLR0917  one parameter a flag
    url: Annotated[str, typer.Argument(metavar="URL", help="The page, as linked or as fetched.")],
    data: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="State directory of the crawl; may be running."),
    ] = None,
    store: Annotated[
        str | None,
        typer.Option(metavar="URL", help="Redis or Valkey that holds the crawl, if no DIR does."),
    ] = None,
    job: Annotated[
        str | None, typer.Option(metavar="ID", help="The job; left out = the only one there.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print one line of JSON.")] = False,
    headers: Annotated[
        bool, typer.Option("--headers", help="Print the response headers from the archive.")
    ] = False,
    body: Annotated[
        bool, typer.Option("--body", help="Print the page from the archive, decompressed.")
    ] = False,
) -> None:
    """Print everything known of one page, and why it was fetched, refused or not seen.

    Also while the crawl runs. Bodies and headers are kept by crawls with --warc.
    """
    from skitter.cli.explain import named_place, print_archived, print_page  # noqa: PLC0415  heavy
    from skitter.job.entry import entry_url  # noqa: PLC0415

    # What is wrong with the URL is told before a crawl is looked for.
    entry_url(url)
    where = named_place(data, store, job)
    if headers or body:
        print_archived(url, where, headers=headers, body=body)
    else:
        print_page(url, where, as_json=json)
