"""Reading the archive back, also while it grows."""

import logging
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Literal

import msgspec

from skitter.errors import ConfigError, SinkError
from skitter.pipeline.archive import cdx, message
from skitter.pipeline.archive.format import digest_of
from skitter.pipeline.archive.members import Damaged, Record, records
from skitter.pipeline.archive.names import warc_files
from skitter.pipeline.archive.salvage import Gap, salvaged

log = logging.getLogger(__name__)

RECORD_FIELD: Final = "skitter-record"
"""The metadata field that holds the page record as JSON."""
_DIGEST: Final = re.compile("sha1:[A-Z2-7]{32}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """One archived response, or a revisit, whose payload is that of an earlier response."""

    kind: Literal["response", "revisit"]
    url: str
    date: str
    """WARC-Date."""
    head: bytes
    """Status line and headers as received, with the blank line."""
    payload: bytes
    """The body without transfer coding, content coding left as it is; empty for a revisit."""
    content_encoding: str
    """In lower case, "" when the payload has none."""
    payload_digest: str
    """As stated, of the body with its transfer coding; "" when it is not."""
    refers_to: tuple[str, str] | None
    """URL and date of the response that has the payload of a revisit."""


def read_response(path: Path, offset: int) -> Archived:
    """Return the response or revisit record that begins at ``offset``.

    Raises ``SinkError`` naming file and offset when it is not whole or its payload not as stated.
    """
    record = _record_at(path, offset)
    headers = record.headers
    head, body = message.split(record.block)
    stated = headers.get("warc-payload-digest", "")
    refers_to = None
    kind: Literal["response", "revisit"] = "response"
    if record.kind == "revisit":
        kind, body = "revisit", b""
        refers_to = (
            headers.get("warc-refers-to-target-uri", ""),
            headers.get("warc-refers-to-date", ""),
        )
    elif record.kind != "response":
        raise Damaged(path, offset, f"wanted a response, found {record.kind or 'no type'}")
    elif _differs(stated, body):
        raise Damaged(path, offset, "the payload has another digest")
    return Archived(
        kind=kind,
        url=headers.get("warc-target-uri", ""),
        date=headers.get("warc-date", ""),
        head=head,
        payload=message.unchunked(body) if message.is_chunked(head) else body,
        content_encoding=message.content_encoding(head),
        payload_digest=stated,
        refers_to=refers_to,
    )


def _record_at(path: Path, offset: int) -> Record:
    record = next(records(path, offset), None)
    if record is None:
        raise Damaged(path, offset, "the file ends here")
    return record


def _differs(stated: str, data: bytes) -> bool:
    """Tell whether data has another digest than stated; of those of other kinds nothing is said."""
    return _DIGEST.fullmatch(stated) is not None and stated != digest_of(data)


def find_capture(directory: Path, url: str, date: str) -> tuple[Path, int] | None:
    """Return file and offset of what was archived of ``url`` at ``date``, a WARC-Date."""
    wanted = cdx.prefix(url, date)
    hits = [hit for line in _index_lines(directory, wanted) if (hit := cdx.found(line))]
    places = [
        (directory / hit.filename, int(hit.offset))
        for hit in sorted(hits, key=lambda hit: hit.revisit)
        if hit.url == url and hit.offset.isdecimal() and Path(hit.filename).name == hit.filename
    ]
    if len(places) > 1:
        # The index knows the second only; the records know the millisecond.
        places.sort(key=lambda place: _record_at(*place).headers.get("warc-date") != date)
    return places[0] if places else None


def _index_lines(directory: Path, wanted: bytes) -> Iterator[bytes]:
    """Yield the lines that begin with ``wanted``, of growing indexes first.

    An index that is finished meanwhile is put in its place before the growing one goes, so that
    in this order none is missed.
    """
    for path in directory.glob("*.cdxj.part"):
        with path.open("rb") as file:
            yield from (line for line in file if line.startswith(wanted) and line.endswith(b"\n"))
    for path in directory.glob("*.cdxj"):
        with path.open("rb") as file:
            yield from _sorted_lines(file, wanted)


def _sorted_lines(file: BinaryIO, wanted: bytes) -> Iterator[bytes]:
    low, high = 0, file.seek(0, 2)
    while low < high:
        middle = (low + high) // 2
        if b"" != _line_from(file, middle) < wanted:
            low = middle + 1
        else:
            high = middle
    line = _line_from(file, low)
    while line.startswith(wanted):
        yield line
        line = file.readline()


def _line_from(file: BinaryIO, at: int) -> bytes:
    """Return the first line that begins at or after byte ``at``."""
    file.seek(max(at - 1, 0))
    if at:
        file.readline()
    return file.readline()


def records_in(directory: Path, job: str | None) -> Iterator[bytes]:
    """Yield the page records in the archive of a job, or of all, as JSON, in order of writing.

    Each says where its response is. What is damaged is left out, and a warning is logged.
    """
    if not directory.is_dir():
        raise ConfigError(f"{directory}: there is no such directory; wanted one with WARC files")
    for path in warc_files(directory, job):
        try:
            yield from _page_records(path)
        except SinkError as error:
            log.warning("%s; what follows in this file is left out", error)


def _page_records(path: Path) -> Iterator[bytes]:
    main: Record | None = None
    for found in salvaged(path):
        if isinstance(found, Gap):
            log.warning("%s; %d bytes are skipped", found.why, found.length)
        elif found.kind in ("response", "revisit"):
            main = found
        elif found.kind == "metadata":
            line = _page_record(path, found)
            if line is not None:
                yield _located(line, path, _response_of(found, main))


def _page_record(path: Path, metadata: Record) -> bytes | None:
    begin = f"{RECORD_FIELD}: ".encode()
    for line in metadata.block.split(b"\r\n"):
        if line.startswith(begin):
            if _differs(metadata.headers.get("warc-block-digest", ""), metadata.block):
                error = Damaged(path, metadata.offset, "the block has another digest")
                log.warning("%s; its page record is left out", error)
                return None
            return line[len(begin) :]
    return None


def _response_of(metadata: Record, main: Record | None) -> Record | None:
    """Return ``main`` when the metadata record belongs to it."""
    number = metadata.headers.get("warc-concurrent-to")
    return main if main is not None and main.headers.get("warc-record-id") == number else None


def _located(line: bytes, path: Path, response: Record | None) -> bytes:
    """Return a page record that says where its response is; it was written before that was known.

    One without a size took no body: what stands beside it is a redirect on the way.
    """
    try:
        record = _decode(line)
    except msgspec.DecodeError:
        return line
    if response is None or record.get("bytes") == _NULL:
        return line
    place = {
        "warc_file": path.name,
        "warc_offset": response.offset,
        "warc_revisit": response.kind == "revisit",
        "payload_digest": response.headers.get("warc-payload-digest"),
    }
    return msgspec.json.encode({**record, **place})


_decode: Final = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode
_NULL: Final = msgspec.Raw(b"null")


def damage(path: Path) -> str | None:
    """Say where a WARC file breaks and how, or return None when it is whole."""
    try:
        for record in records(path):
            if _differs(record.headers.get("warc-block-digest", ""), record.block):
                return str(Damaged(path, record.offset, "the block has another digest"))
    except SinkError as error:
        return str(error)
    return None
