"""gzip data unpacked a piece at a time, up to the very byte where it is damaged."""

import zlib
from typing import Final

MAGIC: Final = b"\x1f\x8b"
PIECE_BYTES: Final = 64 * 1024

_GZIP: Final = 31
_STEP_BYTES: Final = 16 * 1024
_MAX_MEMBERS: Final = 4096


class Inflater:
    """Unpacks gzip members that follow each other; garbage after the last is passed over."""

    __slots__ = ("_codec", "_members", "_packed", "damaged", "ended")

    def __init__(self) -> None:
        self._packed = bytearray()
        self._codec: zlib._Decompress | None = None
        self._members = 0
        self.damaged = False
        self.ended = False

    @property
    def is_cut(self) -> bool:
        """Whether a member lacks its end, all input being read."""
        return self._codec is not None or (not self.ended and self._members == 0)

    def feed(self, data: bytes | bytearray) -> None:
        """Add packed bytes; they wait packed."""
        if not self.ended:
            self._packed += data

    def piece(self) -> bytes:
        """Return the next plain bytes, about a block at most; nothing when more input is needed."""
        while (codec := self._codec or self._next_member()) is not None:
            waiting = len(self._packed)
            plain = self._step(codec)
            if plain or len(self._packed) == waiting:
                return plain
        return b""

    def _next_member(self) -> "zlib._Decompress | None":
        start = bytes(self._packed[:2])
        if len(start) < 2:
            return None
        if start != MAGIC or self._members == _MAX_MEMBERS:
            self._end(damaged=start == MAGIC)
            return None
        self._members += 1
        self._codec = zlib.decompressobj(_GZIP)
        return self._codec

    def _step(self, codec: "zlib._Decompress") -> bytes:
        step = bytes(self._packed[:_STEP_BYTES])
        before = codec.copy()
        try:
            plain = codec.decompress(step, PIECE_BYTES)
        except zlib.error:
            self._end(damaged=True)
            return _up_to_damage(before, step)
        del self._packed[: len(step) - len(codec.unconsumed_tail) - len(codec.unused_data)]
        if codec.eof:
            self._codec = None
        return plain

    def _end(self, *, damaged: bool) -> None:
        self.ended = True
        self.damaged = damaged
        self._codec = None
        self._packed.clear()


def _up_to_damage(codec: "zlib._Decompress", step: bytes) -> bytes:
    """Unpack byte by byte: a longer step would take what comes before the damage with it."""
    plain = bytearray()
    try:
        for number in range(len(step)):
            plain += codec.decompress(step[number : number + 1])
    except zlib.error:
        pass
    return bytes(plain)
