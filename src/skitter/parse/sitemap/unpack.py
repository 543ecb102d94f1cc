"""The plain bytes of a document that may be packed with gzip, in blocks of a fixed size.

Blocks are cut by their place in the plain bytes, so everything behind them sees the same whatever
pieces the document arrived in. Packed bytes wait packed: a small file that unpacks to a huge one
takes no more memory than a block.
"""

from typing import Final

from skitter.parse.sitemap.inflate import MAGIC, Inflater

BLOCK_BYTES: Final = 64 * 1024

# A server that compresses files which are compressed already makes two layers.
_MAX_LAYERS: Final = 2
# Pieces of an outer layer that may go into one block: some unpack to nothing at all.
_PIECES_AT_ONCE: Final = 16


class Unpacker:
    """Takes a document's bytes as they come and gives its plain bytes in blocks."""

    __slots__ = (
        "_between",
        "_block_bytes",
        "_is_dropped",
        "_is_plain",
        "_layers",
        "_pieces",
        "_plain",
        "_room",
        "is_too_big",
    )

    def __init__(self, max_bytes: int, block_bytes: int = BLOCK_BYTES) -> None:
        self._block_bytes = block_bytes
        self._room = max_bytes
        self._between = max_bytes
        self._pieces = 0
        self._plain = bytearray()
        self._layers: list[Inflater] = []
        self._is_plain = False
        self._is_dropped = False
        self.is_too_big = False

    @property
    def is_damaged(self) -> bool:
        """Whether gzip data broke a rule of its format."""
        return any(layer.damaged for layer in self._layers)

    @property
    def is_cut(self) -> bool:
        """Whether gzip data lacks its end, all input being read."""
        return any(layer.is_cut for layer in self._layers)

    def feed(self, data: bytes) -> None:
        """Add bytes of the document; those past the cap are dropped."""
        if self._is_dropped:
            return
        if self._layers:
            self._layers[0].feed(data)
        else:
            self._plain += data

    def drop(self) -> None:
        """Let go of the rest of the document, also of what is still to come."""
        self._is_dropped = True
        self._plain.clear()
        self._layers.clear()

    def block(self, *, final: bool) -> bytes | None:
        """Return the next block; None when more input is needed, or all of it is read.

        An empty one tells that there is more to do before a block is full.
        """
        self._pieces = 0
        while len(self._plain) < self._block_bytes or not self._is_plain:
            self._look_at_start()
            more = self._pull(len(self._layers) - 1)
            if not more:
                break
            self._plain += more
        if len(self._plain) < self._block_bytes:
            if self._pieces == _PIECES_AT_ONCE:
                return b""
            if not (final and self._plain):
                return None
        block = bytes(self._plain[: self._block_bytes])
        del self._plain[: self._block_bytes]
        return self._within_cap(block)

    def _look_at_start(self) -> None:
        """Add a layer when what should be plain starts as gzip data does."""
        if self._is_plain or len(self._plain) < len(MAGIC):
            return
        if not self._plain.startswith(MAGIC) or len(self._layers) == _MAX_LAYERS:
            self._is_plain = True
            return
        layer = Inflater()
        layer.feed(self._plain)
        self._plain.clear()
        self._layers.append(layer)

    def _pull(self, level: int) -> bytes:
        """Return plain bytes of one layer, which may have to ask the one around it."""
        if level < 0:
            return b""
        layer = self._layers[level]
        while not (piece := layer.piece()):
            if layer.ended or self._pieces == _PIECES_AT_ONCE:
                return b""
            more = self._pull(level - 1)
            if not more or not self._is_let_between(more):
                return b""
            layer.feed(more)
        return piece

    def _is_let_between(self, piece: bytes) -> bool:
        """Count what one layer gives to another; the cap is that of the plain bytes."""
        self._pieces += 1
        self._between -= len(piece)
        if self._between < 0:
            self.is_too_big = True
            self.drop()
        return not self.is_too_big

    def _within_cap(self, block: bytes) -> bytes | None:
        if len(block) > self._room:
            self.is_too_big = True
            block = block[: self._room]
            self.drop()
        self._room -= len(block)
        return block or None
