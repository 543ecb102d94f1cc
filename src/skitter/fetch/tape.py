"""The bytes of an answer as they came, and where in them the final message starts and ends."""

import re
from typing import Final, NamedTuple

# A bytes object costs more than a small piece is long.
_SMALL_BYTES: Final = 512
# Beyond this the end is left unsearched: a flood of tiny chunks would hold up the loop.
_MAX_CHUNKS: Final = 50_000
_BLANK_LINE: Final = re.compile(rb"\n\r?\n")
_HEX: Final = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,16})")

TO_THE_END: Final = -1
"""The length of a body that ends with the bytes, or whose end is not known."""
IN_CHUNKS: Final = -2
"""The length of a body in chunks, of which the last one came."""


class Message(NamedTuple):
    """One HTTP message."""

    data: bytes
    head_bytes: int
    """Length of its head, blank line included."""


class Tape:
    """Keeps pieces as they come; they are joined once, at the end."""

    __slots__ = ("_pieces",)

    def __init__(self) -> None:
        self._pieces: list[bytes | bytearray] = []

    def add(self, data: bytes) -> None:
        """Keep the next bytes."""
        pieces = self._pieces
        if len(data) >= _SMALL_BYTES or not pieces:
            pieces.append(data)
        elif isinstance(pieces[-1], bytearray):
            pieces[-1] += data
        else:
            pieces.append(bytearray(data))

    def message(self, *, interim: int, body_length: int) -> Message:
        """Return the message after ``interim`` others that have a head alone.

        ``body_length`` is that of the body on the wire, or one of the constants above; what
        follows it is left out.
        """
        data = b"".join(self._pieces)
        start = _start(data, interim)
        head_ends = _head_end(data, start)
        if body_length == IN_CHUNKS:
            end = _chunks_end(data, head_ends)
        elif body_length == TO_THE_END:
            end = len(data)
        else:
            end = head_ends + body_length
        return Message(data[start:end], head_ends - start)


def _start(data: bytes, interim: int) -> int:
    """Return where the last status line starts: RFC 9112 §2.2 allows blank lines before it."""
    start = 0
    for _ in range(interim):
        start = _head_end(data, start)
    return max(start, data.find(b"HTTP/", start))


def _head_end(data: bytes, start: int) -> int:
    found = _BLANK_LINE.search(data, start)
    return found.end() if found else len(data)


def _chunks_end(data: bytes, start: int) -> int:
    """Return where chunks that start at ``start`` end, trailers included."""
    for _ in range(_MAX_CHUNKS):
        size = _HEX.match(data, start)
        line_ends = data.find(b"\n", start)
        if size is None or line_ends < 0:
            break
        length = int(size[1], 16)
        if not length:
            return _head_end(data, line_ends)
        after = line_ends + 1 + length
        start = after + (2 if data.startswith(b"\r\n", after) else 1)
    return len(data)
