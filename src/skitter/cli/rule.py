"""``skitter rule try``: what the rules of a job take of a page, before they are let loose."""

from pathlib import Path
from typing import Annotated

import typer

from skitter.cli.examples import examples
from skitter.cli.place_flags import Token

app = typer.Typer(help="Try the rules of a job file on a page.", no_args_is_help=True)

TRY_EXAMPLES = examples(
    "skitter rule try notices.toml https://example.com/notices/12",
    "skitter rule try notices.toml saved.html",
    "skitter rule try shop.toml saved.html --rule product --json",
    "skitter rule try shop.toml https://example.com/12 --api http://127.0.0.1:8440",
)


@app.command("try", epilog=TRY_EXAMPLES)
def try_rule(  # noqa: PLR0913, PLR0917  one parameter a flag
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A job file, TOML or JSON.")],
    target: Annotated[str, typer.Argument(metavar="URL|HTML_FILE", help="The page.")],
    rule: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="The rule set; left out = the one the crawl would use."),
    ] = None,
    allow_private: Annotated[
        bool, typer.Option("--allow-private", help="Fetch from private addresses, too.")
    ] = False,
    hosts: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A hosts(5) file, asked before the DNS.")
    ] = None,
    api: Annotated[
        str | None, typer.Option(metavar="URL", help="Let a service (skitter up) fetch the page.")
    ] = None,
    token: Token = None,
    json: Annotated[bool, typer.Option("--json", help="Print one line of JSON.")] = False,
) -> int:
    """Show what each rule picks, what is missing, the links and who decides them, the article.

    One page is fetched, robots.txt is asked first. Exits with 1 when a required field is empty.
    """
    from skitter.cli.rule_try import Fetching, print_trial  # noqa: PLC0415  heavy, not for --help

    fetching = Fetching(allow_private or None, hosts, api, token)
    return print_trial(file, target, rule, fetching, as_json=json)
