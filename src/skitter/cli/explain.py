"""Everything known of one page, found and laid out."""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence

import uvloop

from skitter.errors import ConfigError
from skitter.job.entry import entry_url
from skitter.wiring.api_access import api_archived
from skitter.wiring.look import ArchivedPage, Where, explain_page, read_archived


def print_page(url: str, where: Where, *, as_json: bool) -> None:
    """Print what a crawl knows of ``url``."""
    wanted = entry_url(url)
    found = uvloop.run(explain_page(where, wanted))
    if as_json:
        print(*(json.dumps(one, default=str, ensure_ascii=False) for one in found), sep="\n")
    else:
        print(*("\n".join(readable(one)) for one in found), sep="\n\n")


def print_archived(url: str, where: Where, *, headers: bool, body: bool) -> None:
    """Print the response of ``url`` as the archive has it, byte by byte."""
    wanted = entry_url(url)
    page = _from_service(where, wanted) if where.api is not None else _from_files(where, wanted)
    out = sys.stdout.buffer
    if headers:
        out.write(page.head)
    if body:
        out.write(page.body)
    out.flush()


def _from_service(where: Where, url: str) -> ArchivedPage:
    assert where.api is not None
    found = uvloop.run(api_archived(where.api, where.token, url, where.job))
    return ArchivedPage(found.head_bytes, found.body_bytes)


def _from_files(where: Where, url: str) -> ArchivedPage:
    [found] = uvloop.run(explain_page(where, url))
    place = found.get("archive")
    if not isinstance(place, Mapping):
        raise ConfigError(f"{url}: {_why_not_archived(found)}")
    return read_archived(place)


def _why_not_archived(found: Mapping[str, object]) -> str:
    record = found.get("record")
    if not isinstance(record, Mapping):
        return f"has no response to show; {found['why']}"
    if record.get("status") is None:
        return f"brought no response; {found['why']}"
    return "was not archived; crawl with --warc DIR to keep bodies and headers"


def readable(found: Mapping[str, object]) -> list[str]:
    """Return a document of facts as aligned lines, tables inside it indented by dotted names."""
    rows = list(_rows(found))
    width = max((len(name) for name, _ in rows), default=0)
    return [f"{name:<{width}}  {value}".rstrip() for name, value in rows]


def _rows(found: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in found.items():
        name = f"{prefix}{key}"
        if isinstance(value, Mapping) and value:
            yield from _rows(value, f"{name}.")
        elif isinstance(value, Sequence) and not isinstance(value, str | bytes) and value:
            for position, item in enumerate(value):
                yield (name if position == 0 else "", _text(item))
        elif not prefix or value not in (None, "", [], {}):
            # Most fields of a record without a response say nothing.
            yield name, _text(value)


def _text(value: object) -> str:
    if value in (None, "", [], {}, ()):
        return "-"
    match value:
        case bool():
            return "yes" if value else "no"
        case str():
            return " ".join(value.split())
        case int() | float():
            return str(value)
        case _:
            return json.dumps(value, default=str, ensure_ascii=False)
