"""Captures made into the bytes of a WARC file and its index. Pure but for the compressors."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from backports.zstd import CompressionParameter, ZstdCompressor
from isal import isal_zlib

from skitter.pipeline.archive import cdx
from skitter.pipeline.archive.duplicates import Recent
from skitter.pipeline.archive.format import (
    RecordIds,
    capture_records,
    payload_digest,
    target_uri,
    warc_date,
)
from skitter.pipeline.archive.model import Capture, Location, Original
from skitter.pipeline.archive.names import Compression

Pack = Callable[[bytes], bytes]

# Size × time of a page of 20 kB with its request and fields, digests and formatting included:
# level 0 makes 7.5 kB in 110 µs, level 1 6.6 kB in 143 µs. Level 3 compresses 2 % better than
# level 1 in more than twice its time.
_GZIP_LEVEL: Final = 0
# 6.7 kB in 146 µs; level 3 makes 6.5 kB in 180 µs.
_ZSTD_LEVEL: Final = 1


def packer(compression: Compression) -> Pack:
    """Return what makes one member of a WARC file from one record."""
    if compression == "none":
        return bytes
    if compression == "zstd":
        return _zstd_packer()
    return _gzip_member


def _gzip_member(record: bytes) -> bytes:
    member: bytes = isal_zlib.compress(record, _GZIP_LEVEL, 31)
    return member


def _zstd_packer() -> Pack:
    compressor = ZstdCompressor(
        options={
            CompressionParameter.compression_level: _ZSTD_LEVEL,
            CompressionParameter.checksum_flag: 1,
        }
    )
    return lambda record: compressor.compress(record, ZstdCompressor.FLUSH_FRAME)


@dataclass(slots=True)
class Batch:
    """What is known of some captures once they are on their way to a file."""

    file: str
    length: int
    """Where the file ends with what was encoded so far."""
    lines: list[bytes] = field(default_factory=list)
    """Of the index, one for each capture."""
    locations: list[Location] = field(default_factory=list)
    originals: dict[str, Original] = field(default_factory=dict)
    """Payloads that are stored for the first time, by digest."""


class Encoder:
    """Makes captures into bytes for one archive; tells duplicates by what it met lately."""

    def __init__(self, pack: Pack, ids: RecordIds, recent: Recent) -> None:
        self._pack = pack
        self._ids = ids
        self._recent = recent

    def encode(self, batch: Batch, captures: Sequence[Capture]) -> Iterator[bytes]:
        """Yield the records of each capture, as they go behind ``batch``, and add to it.

        One at a time: what is written is freed before the next is made, so that the memory is
        used again while the processor still has it at hand.
        """
        for capture in captures:
            yield self._encoded(batch, capture)

    def _encoded(self, batch: Batch, capture: Capture) -> bytes:
        digest = payload_digest(capture)
        date, url = warc_date(capture.at_ms), target_uri(capture.url)
        original = self._original(batch, capture, digest)
        pack = self._pack
        members = [pack(each) for each in capture_records(capture, digest, original, self._ids)]
        entry = cdx.Entry(
            url=url,
            date=date,
            revisit=original is not None,
            head=capture.response[: capture.head_bytes],
            payload_digest=digest,
            offset=batch.length,
            length=len(members[0]),
            file=batch.file,
        )
        batch.lines.append(cdx.line(entry))
        batch.locations.append(Location(batch.file, batch.length, digest, original is not None))
        batch.length += sum(map(len, members))
        if original is None and _repeatable(capture):
            batch.originals[digest] = Original(url, date, digest)
        return b"".join(members)

    def _original(self, batch: Batch, capture: Capture, digest: str) -> Original | None:
        """Return the response whose payload this one repeats."""
        if not _repeatable(capture):
            return None
        known = batch.originals.get(digest) or self._recent.find(digest)
        if known is None and capture.original and capture.original.payload_digest == digest:
            return capture.original
        return known


def _repeatable(capture: Capture) -> bool:
    """Tell whether a payload is worth a revisit record, and can have one.

    A truncated one is stored as it is: WARC-Truncated on a revisit means something else.
    """
    return not capture.truncated and len(capture.response) > capture.head_bytes
