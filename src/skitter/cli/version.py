"""``skitter version``."""

import platform
from json import dumps
from typing import Annotated

import typer

from skitter import __version__
from skitter.cli.examples import examples

EXAMPLES = examples("skitter version", "skitter version --json")


def version(
    json: Annotated[bool, typer.Option("--json", help="Print one line of JSON.")] = False,
) -> None:
    """Print the version of Skitter and of the Python it runs on."""
    if json:
        print(dumps({"skitter": __version__, "python": platform.python_version()}))
    else:
        print(f"skitter {__version__} (Python {platform.python_version()})")
