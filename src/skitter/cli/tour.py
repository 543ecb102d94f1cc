"""The tour of the demo: what its crawls have made, in facts and in commands that show them."""

import json
import shlex
import shutil
import sqlite3
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import msgspec
import uvloop
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from skitter.cli.wording import count, plural, program, size
from skitter.crawl.summary import Summary
from skitter.demo import library
from skitter.demo.topics import is_about
from skitter.demo.web import Web
from skitter.pipeline.record import PageRecord
from skitter.types import Outcome
from skitter.wiring.look import Where, complete_answer

OUTPUTS = ("pages.jsonl", "pages.csv", "pages.parquet", "pages.sqlite")
STATE = "state"
ARCHIVE = "archive"
BEST_STATE = "best-state"
BEST_OUT = "best.sqlite"
BLOOM_FILE = Path(BEST_STATE, "frontier", "seen.bloom")
SUBJECT = "solar energy"
INTRODUCTION = "A tour of what is there. The commands can be pasted as they are."
_EVERY_LINKED = 100_000
_REVISIT = b'"mime": "warc/revisit"'
_BY_OUTCOME = "SELECT outcome, count(*) FROM pages GROUP BY outcome ORDER BY 2 DESC"
_SAME_CONTENT = "SELECT url, duplicate_of FROM pages WHERE duplicate_of IS NOT NULL"
_FIRST_TITLES = "SELECT id, title FROM pages ORDER BY id LIMIT 12"

_decode = msgspec.json.Decoder(PageRecord).decode


@dataclass(frozen=True, slots=True)
class Stop:
    """One thing worth seeing: what it is, what is so, and how to see it."""

    title: str
    facts: tuple[str, ...]
    commands: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Results:
    """What the demo has made, read once."""

    directory: Path
    web: Web
    summary: Summary
    expected: int
    """URLs the Bloom filter of the second crawl was made for; 0 when that crawl did not end."""
    records: tuple[PageRecord, ...]
    linked: tuple[tuple[str, int], ...]
    """Pages and how many pages link to them, most linked first."""

    @property
    def data(self) -> str:
        """The flag that names the state of the first crawl."""
        return f"--data {shlex.quote(str(self.directory / STATE))}"

    def page(self, url: str, flags: str = "") -> str:
        """Return the command that tells of one page."""
        return " ".join(filter(None, (program(), "page", shlex.quote(url), flags, self.data)))


def read_results(directory: Path, web: Web, summary: Summary, expected: int) -> Results:
    """Return what the crawls in ``directory`` have made."""
    lines = (directory / OUTPUTS[0]).read_bytes().splitlines()
    where = Where(data=directory / STATE)
    found = uvloop.run(_all(complete_answer(where, {"linked": _EVERY_LINKED})))
    pages = (one for one in map(json.loads, found) if one["kind"] == "page")
    return Results(
        directory=directory,
        web=web,
        summary=summary,
        expected=expected,
        records=tuple(map(_decode, lines)),
        linked=tuple((one["url"], one["links"]) for one in pages),
    )


async def _all(lines: AsyncIterator[bytes]) -> list[bytes]:
    return [line async for line in lines]


def stops(results: Results) -> Iterator[Stop]:
    """Yield the stops of the tour; what did not occur is left out."""
    yield _outputs(results)
    yield _archive(results)
    for stop in (_sitemaps, _traps, _duplicates, _linked, _best_first, _bloom):
        found = stop(results)
        if found is not None:
            yield found
    yield _next(results)


def show_tour(found: Iterator[Stop], stream: TextIO | None = None) -> None:
    """Print the stops: for the eye on a terminal, plain elsewhere; commands are never broken."""
    console = Console(file=stream or sys.stdout, highlight=False)
    console.print(Text(f"\n{INTRODUCTION}"), soft_wrap=True)
    for stop in found:
        name, _, about = stop.title.partition(": ")
        title = Text.assemble((name, "bold green"), (f": {about}", "bold"))
        console.print(Text("\n"), title, sep="", soft_wrap=True)
        for fact in stop.facts:
            if console.is_terminal:
                console.print(Padding(Text(fact), (0, 0, 0, 2)))
            else:
                console.print(Text(f"  {fact}"), soft_wrap=True)
        for command in stop.commands:
            console.print(Text(f"    {command}", style="cyan"), soft_wrap=True)


def query_command(database: Path, sql: str) -> str:
    """Return a command that asks a SQLite file: by its own tool where that is there."""
    if shutil.which("sqlite3") is not None:
        return shlex.join(["sqlite3", str(database), sql])
    code = f"import sqlite3\nfor row in sqlite3.connect({str(database)!r}).execute({sql!r}):"
    return shlex.join([sys.executable, "-c", f'{code} print(*row, sep="|")'])


def _outputs(results: Results) -> Stop:
    database = results.directory / "pages.sqlite"
    with closing(sqlite3.connect(database)) as connection:
        answer = connection.execute(_BY_OUTCOME).fetchall()
    told = ", ".join(f"{outcome} {count(number)}" for outcome, number in answer)
    *most, last = OUTPUTS
    return Stop(
        "Outputs: one record a page, in the format the next tool wants",
        (
            f"{plural(len(results.records), 'record')}, the same in {', '.join(most)} and {last}.",
            f"What came of them: {told}.",
        ),
        (query_command(database, _BY_OUTCOME),),
    )


def _archive(results: Results) -> Stop:
    directory = results.directory / ARCHIVE
    lines = [line for path in directory.glob("*.cdxj") for line in path.read_bytes().splitlines()]
    revisits = sum(_REVISIT in line for line in lines)
    files = sorted(directory.glob("*.warc.gz"))
    amount = size(sum(path.stat().st_size for path in files))
    return Stop(
        "Archive: every response as it came",
        (
            f"{plural(len(lines) - revisits, 'response')} and {plural(revisits, 'revisit')} of"
            f" content that was there already, in {plural(len(files), 'WARC file')} of {amount}"
            " with an index: for any replay tool, and to be read back.",
        ),
        (results.page(results.web.entry, "--headers"),),
    )


def _sitemaps(results: Results) -> Stop | None:
    listed = only_listed(results.records, {url for url, _ in results.linked})
    if not listed:
        return None
    summary = results.summary
    return Stop(
        "Sitemaps: pages that no page links to",
        (
            f"{plural(summary.sitemaps, 'sitemap')} listed {plural(summary.sitemap_urls, 'URL')}."
            f" {plural(len(listed), 'page')} can be found in no other way; this one's referrer"
            " is a sitemap:",
        ),
        (results.page(listed[0]),),
    )


def only_listed(records: Sequence[PageRecord], linked: set[str]) -> list[str]:
    """Return the pages that came from a sitemap and that no fetched page links to."""
    pages = {record.url for record in records} | {record.final_url for record in records}
    return [
        record.url
        for record in records
        if record.outcome == Outcome.OK
        and record.referrer is not None
        and record.referrer not in pages
        and record.url not in linked
    ]


def _traps(results: Results) -> Stop | None:
    traps = results.summary.traps
    if not traps:
        return None
    template, most = max(traps.items(), key=lambda item: item[1].count)
    links = plural(sum(cut.count for cut in traps.values()), "link")
    return Stop(
        "Traps: endless parts of a site do not eat the crawl",
        (
            f"{links} cut in {plural(len(traps), 'URL template')}, most of them in"
            f" {template}: {most.why}.",
        ),
        (results.page(most.example),),
    )


def _duplicates(results: Results) -> Stop | None:
    again = [record for record in results.records if record.duplicate_of is not None]
    if not again:
        return None
    moved = sum(record.outcome == Outcome.DUPLICATE for record in again)
    return Stop(
        "Duplicates: one page under several addresses",
        (
            f"{plural(moved, 'redirect')} to a page that was known,"
            f" {plural(len(again) - moved, 'page')} with the content of another.",
        ),
        (query_command(results.directory / "pages.sqlite", _SAME_CONTENT),),
    )


def _linked(results: Results) -> Stop | None:
    if not results.linked:
        return None
    (first, links), *_ = results.linked
    return Stop(
        "Most linked pages: seeds for the next crawl",
        (f"{plural(links, 'page')} link to {first}.",),
        (f"{program()} job export --seeds 5 {results.data}",),
    )


def _best_first(results: Results) -> Stop | None:
    if not results.expected:
        return None
    shelves = results.web.entry_of(library.NAME)
    with closing(sqlite3.connect(results.directory / BEST_OUT)) as connection:
        rows = connection.execute("SELECT url FROM pages ORDER BY id").fetchall()
    best = _on_subject(results.web, [url for (url,) in rows])
    bfs = _on_subject(
        results.web,
        [record.url for record in results.records if record.url.startswith(shelves)],
    )
    return Stop(
        "Best first: the pages on your subject before the others",
        (
            f'A second crawl, of {shelves} alone, looked for "{SUBJECT}" and stopped after'
            f" {count(len(best))} of {plural(len(bfs), 'page')}. It had {count(sum(best))} of the"
            f" {plural(sum(bfs), 'page')} on the subject; breadth-first had"
            f" {count(sum(bfs[: len(best)]))} by then.",
        ),
        (query_command(results.directory / BEST_OUT, _FIRST_TITLES),),
    )


def _on_subject(web: Web, urls: Sequence[str]) -> list[bool]:
    """Tell of each URL in turn whether its page is on the subject."""
    targets = (web.target_of(url) for url in urls)
    return [target is not None and is_about(web.page(target), SUBJECT) for target in targets]


def _bloom(results: Results) -> Stop | None:
    if not results.expected:
        return None
    amount = (results.directory / BLOOM_FILE).stat().st_size
    each = amount / results.expected
    return Stop(
        "Bloom filter: a hundred million URLs on a laptop",
        (
            f"That crawl knew its URLs by a filter of {size(amount)}, made for"
            f" {count(results.expected)}: {each:.1f} bytes each, whatever their length.",
        ),
        (
            f"{program()} crawl https://example.com --scope domain --pages 100"
            " --seen bloom --expected 1000000 --data wide --out wide.jsonl",
        ),
    )


def _next(results: Results) -> Stop:
    where = shlex.quote(str(results.directory / OUTPUTS[0]))
    return Stop(
        "Try next: a record, a site of your own, all the flags",
        ("Recipes are in docs/cookbook.md.",),
        (
            f"head -n 1 {where} | python3 -m json.tool",
            f"{program()} crawl https://example.com --pages 100",
            f"{program()} crawl --help",
        ),
    )
