"""The ``skitter`` command: its subcommands, and how every fault ends.

Commands import what they need when they run, so that ``skitter version`` and ``--help`` start at
once.
"""

import os
import re
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

from skitter.cli import (
    aliases,
    config,
    crawl,
    demo,
    job,
    node,
    nodes,
    page,
    probe,
    rule,
    settings_command,
    up,
    version,
)
from skitter.cli.examples import examples
from skitter.cli.report import BROKEN_PIPE, INTERRUPTED, OK, complain, report
from skitter.garbage import expect_loading


class _Group(TyperGroup):
    """A group that leaves quietly when whoever reads its output has left."""

    def invoke(self, ctx: Any) -> object:  # the library does not export the type it wants here
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise typer.Exit(BROKEN_PIPE) from None


app = typer.Typer(
    name="skitter",
    cls=_Group,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Skitter crawls the web: one command on a laptop, the same program on many machines.",
    epilog=examples(
        "skitter crawl https://example.com",
        "skitter crawl --seeds urls.txt --scope any --depth 2 --out pages.jsonl",
        "skitter page https://example.com/about",
        "skitter demo",
    ),
)
app.command("crawl", epilog=crawl.EXAMPLES)(crawl.crawl)
app.command("up", epilog=up.EXAMPLES)(up.up)
app.command("node", epilog=node.EXAMPLES)(node.node)
app.command("page", epilog=page.EXAMPLES)(page.page)
app.add_typer(job.app, name="job")
app.add_typer(rule.app, name="rule")
app.add_typer(nodes.app, name="nodes")
app.add_typer(aliases.app, name="aliases")
app.add_typer(settings_command.app, name="settings")
app.command("probe", epilog=probe.EXAMPLES)(probe.probe)
app.add_typer(config.app, name="config")
app.command("demo", epilog=demo.EXAMPLES)(demo.demo)
app.command("version", epilog=version.EXAMPLES)(version.version)


@app.callback(invoke_without_command=True)
def _root(
    ctx: typer.Context,
    show_version: Annotated[
        bool, typer.Option("--version", help="Print the version and leave.")
    ] = False,
) -> None:
    if show_version:
        version.version()
        raise typer.Exit(OK)
    if ctx.invoked_subcommand is None:
        print(ctx.get_help())


_NO_INTEGER = re.compile("Input should be a valid integer(, [^(]*[^( ])?")
_NO_NUMBER = re.compile("Input should be a valid number(, [^(]*[^( ])?")


def main() -> None:
    """Run the command line of this process and end it with the right exit code."""
    expect_loading()
    sys.exit(run(sys.argv[1:]))


def run(args: Sequence[str]) -> int:
    """Run one command line; return its exit code and print at most one line per fault."""
    try:
        result = get_command(app).main(args=list(args), prog_name="skitter", standalone_mode=False)
        sys.stdout.flush()
    except typer.TyperException as error:
        return _usage(error)
    except (KeyboardInterrupt, typer.Abort):
        return INTERRUPTED
    except BrokenPipeError:
        return _deaf(BROKEN_PIPE)
    except Exception as error:  # noqa: BLE001  the last place that can turn a fault into a line
        return report(error)
    code = result if isinstance(result, int) else OK
    return _deaf(code) if code == BROKEN_PIPE else code


def _usage(error: typer.TyperException) -> int:
    """Print a fault of the command line itself and where to read more."""
    context = getattr(error, "ctx", None)
    path = "skitter" if context is None else context.command_path
    message = " ".join(error.format_message().replace("Value error, ", "").split())
    message = _NO_INTEGER.sub("wanted a whole number", _NO_NUMBER.sub("wanted a number", message))
    # A group without a command has shown its help already, and has no words of its own.
    message = message or f"{path}: wanted one of its commands"
    complain(f"{message} (see {path} --help)")
    return error.exit_code


def _deaf(code: int) -> int:
    """Send what is still buffered nowhere, so that the interpreter does not complain at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code
