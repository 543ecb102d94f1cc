"""``skitter config show``: every setting, its value and who said it."""

from typing import Annotated

import typer

from skitter.cli.examples import examples

app = typer.Typer(no_args_is_help=True, help="Look at the settings of this machine.")


@app.command(
    "show",
    epilog=examples("skitter config show", "SKITTER_DELAY=0.5 skitter config show --json"),
)
def show(
    json: Annotated[bool, typer.Option("--json", help="Print one line of JSON.")] = False,
) -> None:
    """Print every setting with its value and where the value comes from.

    Defaults < configuration file < SKITTER_* in the environment < flags of a command.

    The file: skitter.toml here, else ~/.config/skitter/config.toml, or what SKITTER_CONFIG names.
    """
    from skitter.cli.settings import print_settings  # noqa: PLC0415  heavy, not for --help

    print_settings(as_json=json)
