"""The columns of a result, one for each field of a page record, in its order.

CSV header, Parquet schema, tables of databases and the reference page are all made from this list.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from typing import Any, TypeAlias

from skitter.pipeline.record import PageRecord

Value: TypeAlias = "str | int | list[Any] | dict[str, Any] | None"
"""What a field of a record holds; truth values count as whole numbers."""


class ColumnKind(StrEnum):
    """What the values of a column are."""

    TEXT = "text"
    TIME = "time"
    INTEGER = "whole number"
    BOOLEAN = "true or false"
    LIST = "list of texts"
    MAP = "map of texts"
    TABLE = "table"
    """Names to texts, numbers, lists and tables."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column."""

    name: str
    kind: ColumnKind
    meaning: str
    """One sentence without a pipe, which would end its cell in a table."""
    always: bool = False
    """Every record has a value."""
    repeats: bool = False
    """Many records share few values, so a dictionary of them saves room."""


_TEXT, _TIME, _INTEGER = ColumnKind.TEXT, ColumnKind.TIME, ColumnKind.INTEGER
_BOOLEAN, _LIST, _MAP = ColumnKind.BOOLEAN, ColumnKind.LIST, ColumnKind.MAP
_TABLE = ColumnKind.TABLE

COLUMNS = (
    Column("job", _TEXT, "Id of the job that asked for the page.", always=True, repeats=True),
    Column("url", _TEXT, "The URL that was queued, as it was requested.", always=True),
    Column("final_url", _TEXT, "Where the redirects led; equals `url` without any."),
    Column("redirects", _LIST, "Every URL asked before the final one, in order.", always=True),
    Column("status", _INTEGER, "Status code of the last response."),
    Column(
        "outcome",
        _TEXT,
        "What came of the visit: `ok`, `noindex`, `duplicate`, `refused`, `http_error`, `failed`"
        " or `skipped`; `rejected` (a required field is missing, or rules found next to nothing on"
        " a page that says there is nothing) is in no output, see `skitter job rejects`.",
        always=True,
        repeats=True,
    ),
    Column(
        "error",
        _TEXT,
        "Why it failed or was refused, in words; of a page that came, what may be wrong with it.",
        repeats=True,
    ),
    Column("depth", _INTEGER, "Links between an entry and this page.", always=True),
    Column(
        "page_class",
        _TEXT,
        "`nav` pages may be visited again on schedule, `data` pages are fetched once.",
        always=True,
        repeats=True,
    ),
    Column("referrer", _TEXT, "The page on which the URL was found first.", repeats=True),
    Column("fetched_at", _TIME, "When the visit ended.", always=True),
    Column("elapsed_ms", _INTEGER, "Milliseconds from the request to the end of the response."),
    Column("content_type", _TEXT, "Media type the server named.", repeats=True),
    Column("encoding", _TEXT, "Character encoding the page was read with.", repeats=True),
    Column("bytes", _INTEGER, "Size of the body after decompression."),
    Column("digest", _TEXT, "xxh3-128 of the body, in hexadecimal digits."),
    Column("title", _TEXT, "Title of the page."),
    Column("description", _TEXT, "Description the page gives of itself."),
    Column("image", _TEXT, "URL of the image the page names for itself."),
    Column("author", _TEXT, "Author of an article, in news jobs.", repeats=True),
    Column("published", _TEXT, "When an article was published, as far as it says; in news jobs."),
    Column("language", _TEXT, "Language the page names.", repeats=True),
    Column("canonical", _TEXT, "URL the page names as its own."),
    Column(
        "text",
        _TEXT,
        "Text of an article, in news jobs; in others a field with `article = true` has it.",
    ),
    Column("n_links", _INTEGER, "Links found on the page."),
    Column("fields", _TABLE, "What the rules of the job took from the page.", always=True),
    Column("etag", _TEXT, "`ETag` header of the response."),
    Column("last_modified", _TEXT, "`Last-Modified` header of the response."),
    Column(
        "changed",
        _BOOLEAN,
        "Whether the content differs from the visit before; empty on the first visit.",
    ),
    Column("visit", _INTEGER, "Number of the visit to this URL, from 1.", always=True),
    Column(
        "duplicate_of",
        _TEXT,
        "URL with the same page: a redirect's known target, or the first of equal content.",
    ),
    Column(
        "media",
        _TABLE,
        "Pictures, films and sounds fetched with the page: a list with the `url` and `kind` of"
        " each.",
        always=True,
    ),
    Column("truncated", _BOOLEAN, "Whether the body was cut at a limit.", always=True),
    Column(
        "warc_file",
        _TEXT,
        "Name of the archive file that holds the response; empty without an archive.",
        repeats=True,
    ),
    Column(
        "warc_offset",
        _INTEGER,
        "Where in it the response begins, or the revisit that stands for it.",
    ),
    Column(
        "warc_revisit",
        _BOOLEAN,
        "Whether a revisit stands there: an earlier response had the same payload.",
        always=True,
    ),
    Column("payload_digest", _TEXT, "`sha1:` and the digest of the payload as archived."),
    Column("labels", _MAP, "Labels of the job.", always=True),
)

NAMES = tuple(column.name for column in COLUMNS)

values_of: Callable[[PageRecord], tuple[Value, ...]] = attrgetter(*NAMES)
"""Returns the fields of a record in the order of the columns."""

_STORED = {
    ColumnKind.TEXT: ("text", "string", "`TEXT`", "`text`", "string"),
    ColumnKind.TIME: (
        "RFC 3339, UTC",
        "timestamp in milliseconds, UTC",
        "`TEXT`, RFC 3339, UTC",
        "`timestamptz`",
        "date",
    ),
    ColumnKind.INTEGER: ("number", "int64", "`INTEGER`", "`bigint`", "number"),
    ColumnKind.BOOLEAN: (
        "`true` or `false`",
        "boolean",
        "`INTEGER`, 0 or 1",
        "`boolean`",
        "boolean",
    ),
    ColumnKind.LIST: ("JSON", "list of strings", "`TEXT`, JSON", "`jsonb`", "array"),
    ColumnKind.MAP: ("JSON", "map of strings to strings", "`TEXT`, JSON", "`jsonb`", "document"),
    ColumnKind.TABLE: ("JSON", "string, JSON", "`TEXT`, JSON", "`jsonb`", "document"),
}
"""How each kind is kept in CSV, Parquet, SQLite, PostgreSQL and MongoDB."""

_PAGE = """\
# Outputs

The ending of a file's name says its format; a job file may also name databases. All hold the same
records, one for each visit; files in the order in which they were made safe.

| ending | format |
|---|---|
| `.jsonl`, `.ndjson` | JSON lines: one object a line, UTF-8. |
| `.csv` | CSV by RFC 4180, UTF-8, with a header. |
| `.parquet` | Apache Parquet, typed, compressed with Zstandard. |
| `.sqlite` | SQLite 3, in the table `pages`. |

| `type` in a job file | database |
|---|---|
| `postgresql` | A table of PostgreSQL 12 or newer. |
| `mongodb` | A collection of MongoDB. |

A record is safe in every output before its URL counts as done. Whatever stops a crawl, the same
command goes on with it: what was written but not yet counted is cut off, or written once more in
its place, so no record is torn and none is there twice.

## Columns

{columns}

In JSON lines what is not known is `null`. A list or map that is always there may be empty.

## How values are kept

{kinds}

**CSV.** Lines end in a line feed, as other tools of the command line expect it; all CSV readers
know it. Texts are always quoted and what is not known is an empty cell without quotes, so a reader
that looks at quotes can tell it from an empty text. Texts keep their own line breaks. Long texts
pass the limits some readers have by default: raise `csv.field_size_limit` in Python and
`max_line_size` in DuckDB; pyarrow wants `newlines_in_values`. A spreadsheet may take a text that
begins with `=` for a formula, and pages are written by strangers: import texts as texts.

**Parquet.** The file is made when the crawl ends or is interrupted. Until then the records are safe
in a directory beside it, with `.parts` after the file's name, and the file of the run before can be
read. A crawl that was killed leaves that directory; the next run completes the file and removes it.
When the disk has no room for the file, the records stay where they are until there is.

**SQLite.** `pages` has one more column, `id`: the place of the record in the order of writing.
`url`, `job` and `visit` together are unique and indexed in this order. The table `meta` names the
version of the layout and what wrote it. Other programs can read while the crawl writes (the file is
in write-ahead mode until the crawl ends), but a program that writes keeps the crawl waiting.

## Databases

```toml
entries = ["https://example.com/"]

[[sinks]]
type = "postgresql"
url = "env:NEWS_DB"     # or postgresql://user@host/database, or file:PATH
table = "pages"         # or "schema.table"; left out: named like the job

[[sinks]]
type = "mongodb"
url = "mongodb://127.0.0.1/news"
collection = "pages"    # left out: the id of the job
```

Each record is there once, by its URL, job and visit: what is written again takes the place of what
was there, unless that is newer. So jobs may share a table or a collection; the field `job` tells
them apart. `--fresh` deletes the records of its job there and no others. `--out` names files alone,
and takes the place of those in the job file; databases stay.

A server that does not answer, a wrong password or a table that does not fit is told when the crawl
starts. A server that goes away later is waited for. A record that it does not take (one over 16 MB
for MongoDB, one that breaks a constraint of yours) is set aside and the crawl goes on: the log
names it, and `skitter job rejects` lists the latest hundred of them.

A URL with a password is never shown or stored. Where a job is opened from a store (`--store`,
`skitter up`) it has to be `env:NAME` or `file:PATH`, and NAME or PATH has to be there on every
machine: on Redis each member writes the databases itself, before it reports a page as done; records
that go to databases alone do not wait in Redis. Workers of a master need neither.

**PostgreSQL.** The client comes with `pip install 'skitter[postgres]'`. The table is made where it
is missing, and columns that it lacks are added; columns of your own stay. Then the user needs no
more than `SELECT`, `INSERT` and `UPDATE` (`DELETE` for `--fresh`). A table named after a job has
its id in small letters, with underscores for other signs. The unique index is on `md5(url)`, `job`
and `visit`, since URLs may be longer than an index takes: ask for
`WHERE md5(url) = md5('https://…')`. PostgreSQL has no NUL in texts, so it is left out.

**MongoDB.** The client comes with `pip install 'skitter[mongo]'`. The `_id` is job, visit and URL
with spaces between; `url` is indexed. Without `--fast` writes wait for a majority of the servers
and their journals.
"""


def output_docs() -> str:
    """Return the reference page of the outputs."""
    columns = [
        (f"`{column.name}`", column.kind, "yes" if column.always else "", column.meaning)
        for column in COLUMNS
    ]
    kinds = [(kind, *stored) for kind, stored in _STORED.items()]
    return _PAGE.format(
        columns=_table(("column", "values", "always there", "meaning"), columns),
        kinds=_table(("values", "CSV", "Parquet", "SQLite", "PostgreSQL", "MongoDB"), kinds),
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(row)} |".replace("|  |", "| |") for row in [head, *rows]]
    lines.insert(1, "|" + "---|" * len(head))
    return "\n".join(lines)
