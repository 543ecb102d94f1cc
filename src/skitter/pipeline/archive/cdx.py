"""Lines of a CDXJ index, as replay tools read them. Pure.

A line is the sort key of the URL, the second of the capture, and JSON with the rest; a file of
them is sorted by bytes.
"""

from json.encoder import encode_basestring_ascii as quoted
from typing import Final, NamedTuple

import msgspec

from skitter.pipeline.archive import message
from skitter.pipeline.archive.surt import surt_key

_REVISIT: Final = "warc/revisit"
_NOT_DIGITS: Final = str.maketrans("", "", "-:T")


class Entry(NamedTuple):
    """What the index says of one response or revisit record."""

    url: str
    date: str
    """WARC-Date."""
    revisit: bool
    head: bytes
    """The head of the HTTP response."""
    payload_digest: str
    offset: int
    length: int
    """Bytes of the record as stored."""
    file: str


class Found(msgspec.Struct, frozen=True):
    """What a line of an index says; of other people's lines, too."""

    url: str = ""
    mime: str = ""
    digest: str = ""
    offset: str = "0"
    filename: str = ""

    @property
    def revisit(self) -> bool:
        """Whether the payload is elsewhere."""
        return self.mime == _REVISIT


def timestamp(date: str) -> str:
    """Return the second of a WARC-Date as 14 digits."""
    return date[:19].translate(_NOT_DIGITS)


def prefix(url: str, date: str) -> bytes:
    """Return how every line about ``url`` in the second of ``date`` begins."""
    return f"{surt_key(url)} {timestamp(date)} ".encode()


def line(entry: Entry) -> bytes:
    """Return the line of one record."""
    said = f'{{"url": {quoted(entry.url)}{_kind(entry)}'
    return (
        f'{surt_key(entry.url)} {timestamp(entry.date)} {said}, "digest": '
        f'"{entry.payload_digest.removeprefix("sha1:")}", "length": "{_counted(entry)}", '
        f'"offset": "{entry.offset}", "filename": {quoted(entry.file)}}}\n'
    ).encode()


def _counted(entry: Entry) -> int:
    """Return the length without the blank lines that follow a plain record, as indexers count."""
    return entry.length - 4 if entry.file.endswith(".warc") else entry.length


def _kind(entry: Entry) -> str:
    """Return media type and status; a revisit has none of its own, by convention."""
    if entry.revisit:
        return f', "mime": "{_REVISIT}"'
    given, status = message.content_type(entry.head), message.status_of(entry.head)
    mime = given.partition(";")[0].partition(" ")[0] if given else "unk"
    said = f', "mime": {quoted(mime)}' if mime and mime != "-" else ""
    return f'{said}, "status": "{status}"' if status else said


def offset_of(text: bytes) -> int | None:
    """Return the offset a line names, or None when it names none."""
    hit = found(text)
    return int(hit.offset) if hit is not None and hit.offset.isdecimal() else None


_decode: Final = msgspec.json.Decoder(Found).decode


def found(text: bytes) -> Found | None:
    """Return what a line says, or None when it is not one."""
    try:
        return _decode(text[text.index(b"{") :])
    except (ValueError, msgspec.DecodeError):
        return None
