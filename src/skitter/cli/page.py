"""``skitter page URL``: everything known of one page, and why."""

from pathlib import Path
from typing import Annotated

import typer

from skitter.cli.examples import examples
from skitter.cli.place_flags import Api, PagesIndex, Token

EXAMPLES = examples(
    "skitter page https://example.com/about",
    "skitter page https://example.com/about --data .skitter/example.com-1a2b3c4d --json",
    "skitter page https://example.com/about --body > about.html",
    "skitter page https://example.com/about --store redis://10.0.0.5:6379",
    "skitter page https://example.com/about --api http://127.0.0.1:8440 --job news",
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
    api: Api = None,
    token: Token = None,
    index: PagesIndex = None,
    job: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="The job; left out = the only one there, with --api every one that knows it.",
        ),
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
    from skitter.cli.explain import print_archived, print_page  # noqa: PLC0415  heavy
    from skitter.cli.place import Flags, named_place  # noqa: PLC0415
    from skitter.job.entry import entry_url  # noqa: PLC0415

    # What is wrong with the URL is told before a crawl is looked for.
    entry_url(url)
    where = named_place(Flags(data, store, api, token, index=index), job)
    if headers or body:
        print_archived(url, where, headers=headers, body=body)
    else:
        print_page(url, where, as_json=json)
