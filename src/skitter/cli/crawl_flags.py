"""The flags of ``skitter crawl``, each with the words of its help.

None means that a flag was not given, so that file and environment can speak; the defaults named
in the help are the job's and the process's own.
"""

from pathlib import Path
from typing import Annotated, Literal

import typer

from skitter.cluster.relief import Picker

_STATE = "Results and state"
_REACH = "Where to go"
_MANNERS = "Manners and limits"
_MACHINE = "This machine"

Urls = Annotated[list[str] | None, typer.Argument(metavar="URL", help="Where to start.")]
Seeds = Annotated[
    str | None,
    typer.Option(
        metavar="FILE", help="Start from the URLs in a file, one a line; - reads standard input."
    ),
]
JobFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Do what a job file (TOML or JSON) says.")
]
Out = Annotated[
    list[Path] | None,
    typer.Option(
        metavar="FILE",
        help="Write one record a page here: .jsonl, .csv, .parquet or .sqlite; repeatable;"
        " default <job id>.jsonl.",
        rich_help_panel=_STATE,
    ),
]
Warc = Annotated[
    str | None,
    typer.Option(
        metavar="DIR",
        help="Archive every response here, in WARC files with an index.",
        rich_help_panel=_STATE,
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        help="Keep the state here; the same command goes on from it; default .skitter/<job id>.",
        rich_help_panel=_STATE,
    ),
]
Fresh = Annotated[
    bool,
    typer.Option("--fresh", help="Start over: forget state and results.", rich_help_panel=_STATE),
]
Scope = Annotated[
    Literal["host", "domain", "subsite", "any"] | None,
    typer.Option(
        help="Follow links to the same host, registered domain, sub-site, or any; default host.",
        rich_help_panel=_REACH,
    ),
]
Depth = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Links to follow from a start; 0 fetches the starts alone; default no limit.",
        rich_help_panel=_REACH,
    ),
]
Pages = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Stop after N pages, those set aside among them; default no limit.",
        rich_help_panel=_REACH,
    ),
]
Time = Annotated[
    float | None,
    typer.Option(
        metavar="S",
        help="Stop the run after S seconds; default no limit.",
        rich_help_panel=_REACH,
    ),
]
TotalBytes = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Stop after N bytes of pages in all; default no limit.",
        rich_help_panel=_REACH,
    ),
]
Order = Annotated[
    Literal["bfs", "dfs", "best"] | None,
    typer.Option(
        help="Breadth first, depth first, or most relevant to --keywords first; default bfs.",
        rich_help_panel=_REACH,
    ),
]
Keywords = Annotated[
    str | None,
    typer.Option(
        metavar="WORDS",
        help="What the crawl is about: words, or phrases between commas; @FILE has one a line.",
        rich_help_panel=_REACH,
    ),
]
Sitemaps = Annotated[
    Literal["auto", "only", "no"] | None,
    typer.Option(
        help="Also fetch what sitemaps list, only that, or read none; default auto.",
        rich_help_panel=_REACH,
    ),
]
Traps = Annotated[
    bool | None,
    typer.Option(
        "--traps/--no-traps",
        help="Cut links into endless calendars, loops and the like; default on.",
        rich_help_panel=_REACH,
    ),
]
Seen = Annotated[
    Literal["exact", "compact", "bloom"] | None,
    typer.Option(
        help="Remember known URLs exactly, in a Bloom filter of a few bits each, or (with --store)"
        " in half the bytes; default exact.",
        rich_help_panel=_STATE,
    ),
]
Expected = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="URLs the Bloom filter is made for; default 10,000,000.",
        rich_help_panel=_STATE,
    ),
]
Include = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RE",
        help="Follow only links this regular expression finds; repeatable.",
        rich_help_panel=_REACH,
    ),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(
        metavar="RE",
        help="Never follow links this regular expression finds; repeatable.",
        rich_help_panel=_REACH,
    ),
]
Delay = Annotated[
    float | None,
    typer.Option(
        metavar="S",
        help="Seconds between two requests to one host; default 1.",
        rich_help_panel=_MANNERS,
    ),
]
PerHost = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Requests to one host at the same time; default 1.",
        rich_help_panel=_MANNERS,
    ),
]
Robots = Annotated[
    bool | None,
    typer.Option(
        "--robots/--no-robots",
        help="Obey robots.txt and robots directives in pages; default robots.",
        rich_help_panel=_MANNERS,
    ),
]
Agent = Annotated[
    str | None, typer.Option(metavar="STR", help="User-Agent to send.", rich_help_panel=_MANNERS)
]
Contact = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Where you are to be reached, added to the User-Agent: https://… or mailto:….",
        rich_help_panel=_MANNERS,
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(metavar="S", help="Seconds for one page; default 60.", rich_help_panel=_MANNERS),
]
MaxBytes = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Bytes of one page at most; default 33554432.",
        rich_help_panel=_MANNERS,
    ),
]
Render = Annotated[
    bool | None,
    typer.Option(
        "--render/--no-render",
        help="Let the scripts of pages run in a browser (Chromium) and read what is there then.",
        rich_help_panel=_REACH,
    ),
]
Concurrency = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Requests at the same time, over all hosts; default 64.",
        rich_help_panel=_MACHINE,
    ),
]
AllowPrivate = Annotated[
    bool | None,
    typer.Option(
        "--allow-private/--no-allow-private",
        help="Let requests go to private and loopback addresses.",
        rich_help_panel=_MACHINE,
    ),
]
Hosts = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Look names up in this hosts file first; its names may lead to private addresses.",
        rich_help_panel=_MACHINE,
    ),
]
Fast = Annotated[
    bool | None,
    typer.Option(
        "--fast/--no-fast",
        help="No fsync: a power cut may repeat the last pages.",
        rich_help_panel=_MACHINE,
    ),
]
Cold = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="With --store: keep the tails of long queues in PostgreSQL"
        " (postgresql://user:password@host/database), so that Redis needs memory for their heads"
        " alone.",
        rich_help_panel=_MACHINE,
    ),
]
Index = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="With --store: keep the page index, the record of every visited page, in PostgreSQL"
        " (postgresql://user:password@host/database) instead of the memory of Redis.",
        rich_help_panel=_MACHINE,
    ),
]
PickerFlag = Annotated[
    Picker | None,
    typer.Option(
        help="With --store: large hosts that share a slot stay with its owner (hash), or go to"
        " members that have time for them (advanced).",
        rich_help_panel=_MACHINE,
    ),
]
Store = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="Keep the state in Redis or Valkey (redis://host:6379), where nodes on other machines"
        " help; this process writes the files.",
        rich_help_panel=_MACHINE,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Add N worker processes on this machine, for crawls of many hosts; default 0.",
        rich_help_panel=_MACHINE,
    ),
]
Quiet = Annotated[bool | None, typer.Option("--quiet/--no-quiet", help="No progress, no summary.")]
LogJson = Annotated[
    bool | None,
    typer.Option(
        "--log-json/--no-log-json",
        help="Log lines of JSON to standard error, of every process, in place of progress.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="End with one line of JSON on standard output.")]
