"""Content codings: from the bytes on the wire to the bytes of the document.

Output never grows past the cap, whatever the input promises, and the work is linear in the input
plus the output. What browsers forgive is forgiven: garbage after the last gzip member, raw deflate,
a body that is not compressed although the header says so, a stream that stops early.
"""

from collections.abc import Callable
from typing import Final, NamedTuple, Protocol, cast

import brotli
from backports import zstd
from isal import isal_zlib

from skitter.errors import BodyTooLarge, DecodingError

ACCEPT_ENCODING: Final = "gzip, deflate, br, zstd"

MAX_MEMBERS: Final = 4096
"""Gzip members or zstd frames in one body; more are an attack on our time."""

_MAX_CODINGS: Final = 3
_FEED_BYTES: Final = 64 * 1024
# RFC 9659: a decoder on the web refuses windows over 8 MiB.
_ZSTD_OPTIONS: Final[dict[int, int]] = {zstd.DecompressionParameter.window_log_max: 23}

# Its stub calls the class an instance.
IsalError: Final = cast("type[Exception]", isal_zlib.error)
FAULTS: Final[tuple[type[Exception], ...]] = (IsalError, zstd.ZstdError, brotli.error)
"""What the decoders raise on broken data."""

GZIP_MAGIC: Final = (b"\x1f\x8b",)
ZSTD_MAGIC: Final = (b"\x28\xb5\x2f\xfd", *(bytes([n]) + b"\x2a\x4d\x18" for n in range(80, 96)))

# Not codings, but seen where one should be; they change nothing.
_IDENTITY: Final = frozenset({"", "identity", "none", "binary", "utf-8", "utf8"})


class Decoded(NamedTuple):
    """A document's bytes."""

    body: bytes
    truncated: bool
    """The compressed stream stopped before its end, or the output was cut at the cap."""


class _Codec(Protocol):
    """What gzip, zlib and zstd decoders share: one of these reads one member or frame."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...

    def decompress(self, data: memoryview, max_length: int, /) -> bytes: ...


def decode(body: bytes, coding: str, *, url: str, cap: int, cut: bool = False) -> Decoded:
    """Undo ``coding``, the value of a Content-Encoding header, on a whole body.

    More than ``cap`` bytes raise ``BodyTooLarge``, or with ``cut`` are left off. An unknown
    coding, too many of them, or broken data raise ``DecodingError``.
    """
    truncated = False
    for name in codings_to_undo(coding, url):
        try:
            body, short = _DECODERS[name](body, cap)
        except FAULTS as exc:
            raise DecodingError(url, f"broken {name} data: {exc}") from exc
        truncated = truncated or short
    if len(body) > cap:
        if not cut:
            raise BodyTooLarge(url, f"more than {cap} bytes decompressed")
        return Decoded(body[:cap], truncated=True)
    return Decoded(body, truncated)


def codings_to_undo(coding: str, url: str) -> list[str]:
    """Return the codings a Content-Encoding header names, the last applied first.

    An unknown one and too many of them raise ``DecodingError``.
    """
    names = [name.strip().lower() for name in coding.split(",")]
    names = [name for name in names if name not in _IDENTITY]
    if len(names) > _MAX_CODINGS:
        raise DecodingError(url, f"{len(names)} content codings on top of each other")
    for name in names:
        if name not in _DECODERS:
            raise DecodingError(url, f"unknown content coding {name[:40]!r}")
    names.reverse()
    return names


def new_zstd() -> zstd.ZstdDecompressor:
    """Return a decoder of one zstd frame."""
    return zstd.ZstdDecompressor(options=_ZSTD_OPTIONS)


def _members(
    body: bytes, cap: int, codec: Callable[[], _Codec], magic: tuple[bytes, ...]
) -> Decoded:
    """Decode members that follow each other, each starting with one of ``magic``.

    The output may pass ``cap`` by a byte, which tells the caller that there was more.
    """
    view = memoryview(body)
    pieces: list[bytes] = []
    start = 0
    for number in range(MAX_MEMBERS):
        member = codec()
        before = len(pieces)
        try:
            start = _feed(member, view[start:], pieces, cap) + start
        except FAULTS:
            if number == 0:
                raise
            # What does not even start as a further member is garbage after the document.
            return Decoded(b"".join(pieces), truncated=len(pieces) > before)
        if not member.eof or not body.startswith(magic, start):
            return Decoded(b"".join(pieces), truncated=not member.eof)
    raise IsalError(f"more than {MAX_MEMBERS} members")


def _feed(member: _Codec, view: memoryview, pieces: list[bytes], cap: int) -> int:
    """Read one member into ``pieces`` and return how much of ``view`` it took.

    Input goes in small steps, because what a member leaves over is copied.
    """
    room = cap + 1 - sum(map(len, pieces))
    start = 0
    while not member.eof and room > 0 and start < len(view):
        step = view[start : start + _FEED_BYTES]
        piece = member.decompress(step, room)
        if piece:
            pieces.append(piece)
            room -= len(piece)
        start += len(step) - len(member.unused_data)
    return start


def _gzip(body: bytes, cap: int) -> Decoded:
    if not body.startswith(GZIP_MAGIC):
        return Decoded(body, truncated=False)
    return _members(body, cap, lambda: cast("_Codec", isal_zlib.decompressobj(31)), GZIP_MAGIC)


def _zstd(body: bytes, cap: int) -> Decoded:
    if not body.startswith(ZSTD_MAGIC):
        return Decoded(body, truncated=False)
    return _members(body, cap, new_zstd, ZSTD_MAGIC)


def _deflate(body: bytes, cap: int) -> Decoded:
    """Decode zlib data (RFC 9110 §8.4.1.2) or, as browsers do, a bare deflate stream."""
    if not body or body[:1] == b"<":
        return Decoded(body, truncated=False)
    last: Exception | None = None
    for bits in deflate_kinds(body):
        codec = isal_zlib.decompressobj(bits)
        try:
            piece = codec.decompress(body, cap + 1)
        except IsalError as exc:
            last = last or exc
            continue
        return Decoded(piece, truncated=not codec.eof)
    assert last is not None
    raise last


def deflate_kinds(start: bytes) -> tuple[int, int]:
    """Return the window bits of what a deflate body most likely is, and of the other kind."""
    is_zlib = start[0] & 0x0F == 8 and int.from_bytes(start[:2], "big") % 31 == 0
    return (15, -15) if is_zlib else (-15, 15)


def _brotli(body: bytes, cap: int) -> Decoded:
    codec = brotli.Decompressor()
    try:
        piece = cast("bytes", codec.process(body, output_buffer_limit=cap + 1))
    except brotli.error:
        # Brotli has no magic number; markup where it should be is a plain body.
        if body.lstrip()[:1] == b"<":
            return Decoded(body, truncated=False)
        raise
    return Decoded(piece, truncated=not codec.is_finished() and bool(body))


_DECODERS: Final[dict[str, Callable[[bytes, int], Decoded]]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}
