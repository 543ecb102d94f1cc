"""The text of a document's blocks, whatever encoding they are in.

A byte order mark decides; then UTF-16 shows by its zero bytes. As long as all bytes are ASCII the
question stays open; the first block that holds others is judged together with what the XML
declaration claims, because declarations are copied from elsewhere too often to be believed alone.
"""

import codecs
import re
from typing import Final

from skitter.parse.encoding import sniff_encoding
from skitter.parse.evidence import unmarked_utf16
from skitter.parse.label import resolve_label

_BOMS: Final = ((b"\xef\xbb\xbf", "utf-8"), (b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"))
_DECLARATION: Final = re.compile(
    rb"\s*<\?xml\s[^<>]{0,200}?encoding\s*=\s*[\"']\s*([\w.:-]{1,40})", re.IGNORECASE
)
# WHATWG names that the standard library spells in another way, or has a narrower codec for.
_CODECS: Final = {
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc-kr": "cp949",
    "utf-16le": "utf-16-le",
    "utf-16be": "utf-16-be",
    "windows-874": "cp874",
    "macintosh": "mac-roman",
    "x-mac-cyrillic": "mac-cyrillic",
    "ibm866": "cp866",
    "iso-8859-8-i": "iso-8859-8",
}
_STATEFUL: Final = "iso-2022-jp"


class BlockDecoder:
    """Decodes the blocks of one document in order; never raises."""

    __slots__ = ("_claim", "_decoder", "_started")

    def __init__(self) -> None:
        self._decoder: codecs.IncrementalDecoder | None = None
        self._claim: str | None = None
        self._started = False

    def decode(self, block: bytes, *, final: bool = False) -> str:
        """Return the text of the next block; malformed bytes become U+FFFD."""
        if not self._started:
            self._started = True
            block = self._start(block)
        if self._decoder is None:
            if block.isascii():
                return block.decode("ascii")
            self._decoder = _decoder(self._judge(block))
        return self._decoder.decode(block, final)

    def _start(self, block: bytes) -> bytes:
        for mark, codec in _BOMS:
            if block.startswith(mark):
                self._decoder = _decoder(codec)
                return block[len(mark) :]
        if utf16 := unmarked_utf16(block):
            self._decoder = _decoder(utf16)
            return block
        declared = _DECLARATION.match(block)
        self._claim = _possible(declared[1]) if declared else None
        if self._claim == _STATEFUL:
            self._decoder = _decoder(_STATEFUL)
        return block

    def _judge(self, block: bytes) -> str:
        """Weigh the claim against the first block that is not all ASCII."""
        # A character cut in two by the block's end would speak against its encoding.
        whole = block[: block.rfind(b"<") + 1]
        sample = block if whole.isascii() else whole
        found = sniff_encoding(sample, f"text/xml; charset={self._claim or 'utf-8'}")
        # What began as ASCII is not UTF-16, whatever stray bytes look like.
        return "utf-8" if found.startswith("utf-16") else found


def _possible(label: bytes) -> str | None:
    """Resolve a label that was itself readable as ASCII, so that it cannot mean UTF-16."""
    name = resolve_label(label.decode("latin-1"))
    return None if name is None or name.startswith("utf-16") else name


def _decoder(encoding: str) -> codecs.IncrementalDecoder:
    name = _CODECS.get(encoding, encoding)
    try:
        return codecs.getincrementaldecoder(name)("replace")
    except LookupError:
        return codecs.getincrementaldecoder("utf-8")("replace")
