"""The flags that name a service, for every command that can speak to one."""

from typing import Annotated

import typer

Api = Annotated[
    str | None,
    typer.Option(
        metavar="URL", help="A service (skitter up) to ask instead, here or elsewhere; SKITTER_API."
    ),
]
PagesIndex = Annotated[
    str | None,
    typer.Option(
        "--index",
        metavar="URL",
        help="With --store: the PostgreSQL that has its page index, if one does; SKITTER_INDEX.",
    ),
]
Token = Annotated[
    str | None,
    typer.Option(
        metavar="T",
        help="With --api: its token, better in SKITTER_TOKEN. Default: what a service of this"
        " machine keeps in .skitter/up.",
    ),
]
