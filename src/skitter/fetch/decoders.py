"""Content codings undone piece by piece, for bodies that are never held whole.

What comes out is what ``decode`` makes of the whole body, with one difference: a fault that shows
only after output was given cannot take it back. Input is taken and output given in small steps, so
that no piece of input swells to more than one step before the caller can call a halt.
"""

from collections.abc import Callable, Generator, Iterator
from typing import Final, Protocol, cast

import brotli
from isal import isal_zlib

from skitter.errors import DecodingError
from skitter.fetch.decode import (
    FAULTS,
    GZIP_MAGIC,
    MAX_MEMBERS,
    ZSTD_MAGIC,
    IsalError,
    codings_to_undo,
    deflate_kinds,
    new_zstd,
)

STEP_BYTES: Final = 64 * 1024
"""About how much output comes at a time."""

# Decoders copy the input that is left over after each step of output.
_FEED_BYTES: Final = 16 * 1024
# Input kept to read it in another way, as long as no output was given.
_MAX_HELD_BYTES: Final = 64 * 1024


class StreamDecoder:
    """Undoes the codings of one body. Broken data raises ``DecodingError``."""

    def __init__(self, coding: str, *, url: str) -> None:
        """Take the value of a Content-Encoding header; an unknown one raises ``DecodingError``."""
        self._url = url
        self._names = codings_to_undo(coding, url)
        self._stages = [_STAGES[name]() for name in self._names]

    @property
    def truncated(self) -> bool:
        """Whether a compressed stream stopped before its end; known once finished."""
        return any(stage.truncated for stage in self._stages)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Give what the next bytes decode to; each piece is made when it is asked for."""
        return self._through(0, data)

    def finish(self) -> Iterator[bytes]:
        """Give what is left after the last bytes."""
        for number, stage in enumerate(self._stages):
            for piece in self._watched(number, stage.finish()):
                yield from self._through(number + 1, piece)

    def _through(self, number: int, data: bytes) -> Iterator[bytes]:
        if number == len(self._stages):
            yield data
            return
        for start in range(0, len(data), _FEED_BYTES):
            step = data[start : start + _FEED_BYTES]
            for piece in self._watched(number, self._stages[number].feed(step)):
                yield from self._through(number + 1, piece)

    def _watched(self, number: int, pieces: Iterator[bytes]) -> Iterator[bytes]:
        try:
            yield from pieces
        except FAULTS as exc:
            why = f"broken {self._names[number]} data: {exc}"
            raise DecodingError(self._url, why) from exc


class _Stage(Protocol):
    """Undoes one coding."""

    truncated: bool

    def feed(self, data: bytes) -> Iterator[bytes]: ...

    def finish(self) -> Iterator[bytes]: ...


class _Codec(Protocol):
    """What all decoders of a single stream share."""

    @property
    def eof(self) -> bool: ...

    @property
    def unused_data(self) -> bytes: ...


class _Member(Protocol):
    """Reads one gzip member, zstd frame or deflate stream, step by step."""

    @property
    def codec(self) -> _Codec: ...

    def steps(self, data: bytes) -> Iterator[bytes]: ...


class _Inflate:
    """A gzip member, zlib or bare deflate stream."""

    def __init__(self, bits: int) -> None:
        self.codec = isal_zlib.decompressobj(bits)

    def steps(self, data: bytes) -> Iterator[bytes]:
        codec = self.codec
        piece = codec.decompress(data, STEP_BYTES)
        while piece:
            yield piece
            if codec.eof or len(piece) < STEP_BYTES:
                return
            piece = codec.decompress(codec.unconsumed_tail, STEP_BYTES)


class _Frame:
    """A zstd frame."""

    def __init__(self) -> None:
        self.codec = new_zstd()

    def steps(self, data: bytes) -> Iterator[bytes]:
        codec = self.codec
        piece = codec.decompress(data, STEP_BYTES)
        while piece:
            yield piece
            if codec.eof or codec.needs_input:
                return
            piece = codec.decompress(b"", STEP_BYTES)


class _Members:
    """Members that follow each other; what does not start as one is a plain body or garbage."""

    def __init__(self, make: Callable[[], _Member], magic: tuple[bytes, ...]) -> None:
        self.truncated = False
        self._make = make
        self._magic = magic
        self._member: _Member | None = None
        self._number = 0
        self._held = b""
        self._plain = False
        self._over = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._member is None and not self._plain:
                data = self._begin(self._held + data)
            if self._member is not None:
                data = yield from self._read(self._member, data)
            elif data:
                yield data
                return

    def finish(self) -> Iterator[bytes]:
        if self._held and not self._number:
            yield self._held
        self.truncated = self.truncated or self._member is not None

    def _begin(self, data: bytes) -> bytes:
        """Start a member, unless there is none or it cannot be told yet; return what to read."""
        self._held = b""
        if self._over:
            return b""
        if data.startswith(self._magic):
            self._number += 1
            if self._number > MAX_MEMBERS:
                raise IsalError(f"more than {MAX_MEMBERS} members")
            self._member = self._make()
            return data
        if any(magic.startswith(data) for magic in self._magic):
            self._held = data
            return b""
        self._plain = self._number == 0
        self._over = not self._plain
        return data if self._plain else b""

    def _read(self, member: _Member, data: bytes) -> Generator[bytes, None, bytes]:
        """Give what a member holds and return what follows it."""
        try:
            for piece in member.steps(data):
                # Should the member break: a part of the document is missing then.
                self.truncated = self._number > 1
                yield piece
        except FAULTS:
            if self._number == 1:
                raise
            # What does not even start as a further member is garbage after the document.
            self._over, self._member = True, None
            return b""
        if not member.codec.eof:
            return b""
        self.truncated, self._member = False, None
        return member.codec.unused_data


class _Deflate:
    """Zlib data (RFC 9110 §8.4.1.2), a bare deflate stream or, as browsers do, plain markup."""

    def __init__(self) -> None:
        self.truncated = False
        self._member: _Inflate | None = None
        self._other: int | None = None
        self._held = b""
        self._plain = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._member is None and not self._plain:
            data = self._held + data
            if len(data) < 2:
                self._held = data
                return
            self._held = b""
            self._begin(data)
        if self._plain:
            yield data
            return
        yield from self._read(data)

    def finish(self) -> Iterator[bytes]:
        if self._member is None and self._held:
            data, self._held = self._held, b""
            self._begin(data)
            yield from [data] if self._plain else self._read(data)
        self.truncated = self._member is not None and not self._member.codec.eof

    def _begin(self, start: bytes) -> None:
        if start[:1] == b"<":
            self._plain = True
            return
        bits, self._other = deflate_kinds(start)
        self._member = _Inflate(bits)

    def _read(self, data: bytes) -> Iterator[bytes]:
        member = self._member
        assert member is not None
        if member.codec.eof:
            return
        if self._other is not None:
            self._held += data
        try:
            for piece in member.steps(data):
                self._settle()
                yield piece
        except IsalError:
            if self._other is None:
                raise
            data, self._member = self._held, _Inflate(self._other)
            self._settle()
            yield from self._read(data)
        if len(self._held) > _MAX_HELD_BYTES:
            self._settle()

    def _settle(self) -> None:
        self._other = None
        self._held = b""


class _Brotli:
    """A brotli stream; it has no magic number, and markup where it should be is a plain body."""

    def __init__(self) -> None:
        self.truncated = False
        self._codec = brotli.Decompressor()
        self._held = b""
        self._settled = False
        self._plain = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self._plain:
            yield data
            return
        if not self._settled:
            self._held += data
        try:
            for piece in self._steps(data):
                self._settled, self._held = True, b""
                yield piece
        except brotli.error:
            if self._held.lstrip()[:1] != b"<":
                raise
            self._plain = True
            yield self._held
            return
        if len(self._held) > _MAX_HELD_BYTES:
            self._settled, self._held = True, b""
        self.truncated = not self._codec.is_finished()

    def finish(self) -> Iterator[bytes]:
        self.truncated = self.truncated and not self._plain
        return iter(())

    def _steps(self, data: bytes) -> Iterator[bytes]:
        codec = self._codec
        while True:
            piece = cast("bytes", codec.process(data, output_buffer_limit=STEP_BYTES))
            if piece:
                yield piece
            # It takes more input while output is still to come.
            if codec.can_accept_more_data() and len(piece) < STEP_BYTES:
                return
            data = b""


def _gzip() -> _Stage:
    return _Members(lambda: _Inflate(31), GZIP_MAGIC)


def _zstd() -> _Stage:
    return _Members(_Frame, ZSTD_MAGIC)


_STAGES: Final[dict[str, Callable[[], _Stage]]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _Deflate,
    "br": _Brotli,
    "zstd": _zstd,
}
