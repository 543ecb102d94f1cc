"""WARC 1.1 records as bytes. Pure: no file, no clock, no compression.

The payload digest of a response is that of the bytes after its head as they came, chunk framing
included. The standard would undo the framing first, but both ``warcio check`` and ``fastwarc
check`` hash what is stored; with the framing undone both call every chunked response damaged.
"""

from collections.abc import Mapping
from functools import lru_cache
from hashlib import sha1
from time import gmtime, strftime
from typing import Final

from skitter import __version__
from skitter.pipeline.archive.model import Capture, Original

_SOFTWARE: Final = f"Skitter/{__version__}"
_STANDARD: Final = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
_REVISIT: Final = (
    b"WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest\r\n"
    b"WARC-Refers-To-Target-URI: %b\r\n"
    b"WARC-Refers-To-Date: %b\r\n"
)
_BASE32: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
# Two digits of base 32 at a time: a fifth of what the standard library takes.
_PAIRS: Final = [one + two for one in _BASE32 for two in _BASE32]
_SHIFTS: Final = range(150, -1, -10)
_RESPONSE: Final = b"application/http; msgtype=response"
_REQUEST: Final = b"application/http; msgtype=request"
_FIELDS: Final = b"application/warc-fields"
_CONTROLS: Final = {code: f"%{code:02X}" for code in (*range(0x21), 0x7F)}
_LINE_BREAKS: Final = {0x0A: " ", 0x0D: " "}


_HEADER: Final = (
    b"WARC/1.1\r\nWARC-Type: %b\r\nWARC-Record-ID: %b\r\nWARC-Date: %b\r\n%b"
    b"Content-Type: %b\r\nContent-Length: %d\r\n\r\n"
)
_END: Final = b"\r\n\r\n"


class RecordIds:
    """Numbers records: a random beginning per run and a count, in the shape of a UUID."""

    def __init__(self, seed: bytes) -> None:
        text = seed[:10].hex()
        self._begin = f"{text[:8]}-{text[8:12]}-4{text[12:15]}-8{text[15:18]}-".encode()
        self._count = 0

    def take(self) -> bytes:
        """Return the next id, as a header writes it."""
        self._count += 1
        return b"<urn:uuid:%b%012x>" % (self._begin, self._count)


@lru_cache(maxsize=64)
def _second(at_s: int) -> str:
    return strftime("%Y-%m-%dT%H:%M:%S", gmtime(at_s))


def warc_date(at_ms: int) -> str:
    """Return a time as WARC-Date has it, to the millisecond."""
    return f"{_second(at_ms // 1000)}.{at_ms % 1000:03d}Z"


def digest_of(data: bytes | memoryview) -> str:
    """Return the digest of some bytes as headers write it."""
    number = int.from_bytes(sha1(data, usedforsecurity=False).digest())
    return "sha1:" + "".join([_PAIRS[number >> shift & 1023] for shift in _SHIFTS])


def payload_digest(capture: Capture) -> str:
    """Return the digest of what came after the head."""
    return digest_of(memoryview(capture.response)[capture.head_bytes :])


def warcinfo(name: str, *, job: str, at_ms: int, ids: RecordIds) -> bytes:
    """Return the record that heads the file ``name``."""
    block = fields_block(
        {
            "software": _SOFTWARE,
            "format": "WARC File Format 1.1",
            "conformsTo": _STANDARD,
            "isPartOf": job,
        }
    )
    extra = b"WARC-Filename: %b\r\n" % name.encode()
    return _record(b"warcinfo", ids.take(), warc_date(at_ms).encode(), extra, _FIELDS, block)


def fields_block(fields: Mapping[str, str]) -> bytes:
    """Return ``application/warc-fields``, each value on one line."""
    lines = [f"{name}: {_on_one_line(value)}\r\n" for name, value in fields.items()]
    return "".join(lines).encode("utf-8", "replace")


def _on_one_line(value: str) -> str:
    return value.translate(_LINE_BREAKS) if "\n" in value or "\r" in value else value


def capture_records(
    capture: Capture, digest: str, original: Original | None, ids: RecordIds
) -> list[bytes]:
    """Return the records of one exchange: the response, the request, and the fields if any.

    ``digest`` is the payload digest of the capture. With an ``original`` the payload is left out
    and a revisit record says where it is.
    """
    main, date = ids.take(), warc_date(capture.at_ms).encode()
    target = b"WARC-Target-URI: %b\r\n" % target_uri(capture.url).encode()
    if capture.address:
        target += b"WARC-IP-Address: %b\r\n" % capture.address.encode()
    beside = target + b"WARC-Concurrent-To: %b\r\n" % main
    found = [
        _response(capture, digest, main, date, target)
        if original is None
        else _revisit(capture, original, main, date, target),
        _record(b"request", ids.take(), date, beside, _REQUEST, capture.request),
    ]
    if capture.fields:
        block = fields_block(capture.fields)
        found.append(_record(b"metadata", ids.take(), date, beside, _FIELDS, block))
    return found


def _response(capture: Capture, digest: str, main: bytes, date: bytes, target: bytes) -> bytes:
    extra = target + b"WARC-Payload-Digest: %b\r\n" % digest.encode()
    if capture.truncated:
        extra += b"WARC-Truncated: %b\r\n" % capture.truncated.encode()
    return _record(b"response", main, date, extra, _RESPONSE, capture.response)


def _revisit(
    capture: Capture, original: Original, main: bytes, date: bytes, target: bytes
) -> bytes:
    extra = target + b"WARC-Payload-Digest: %b\r\n" % original.payload_digest.encode()
    extra += _REVISIT % (target_uri(original.url).encode(), original.date.encode())
    head = capture.response[: capture.head_bytes]
    return _record(b"revisit", main, date, extra, _RESPONSE, head)


def _record(
    kind: bytes, number: bytes, date: bytes, extra: bytes, content_type: bytes, block: bytes
) -> bytes:
    extra += b"WARC-Block-Digest: %b\r\n" % digest_of(block).encode()
    header = _HEADER % (kind, number, date, extra, content_type, len(block))
    return b"".join((header, block, _END))


def target_uri(url: str) -> str:
    """Return a URL that cannot break out of its header line."""
    if url.isascii() and url.isprintable() and " " not in url:
        return url
    return url.translate(_CONTROLS).encode("utf-8", "replace").decode()
