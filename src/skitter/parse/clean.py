"""Text as it is kept: composed characters, no invisible ones, plain spaces. Pure."""

import unicodedata
from typing import Final

_SPACES = (
    "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f"
)
_BREAKS = "\x0b\x0c\x85\u2028\u2029"
_KEPT = "\t\n\r"
# Joiners stay: scripts and emoji need them. Marks of direction go: they reorder what a reader sees.
_INVISIBLE = (
    *range(0x20), *range(0x7F, 0xA0), 0xAD, 0x180E, 0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F),
    *range(0x2060, 0x2065), *range(0x2066, 0x2070), 0xFEFF, *range(0xFFF9, 0xFFFC), 0xFFFE, 0xFFFF,
)  # fmt: skip
_TABLE: Final[dict[int, str | None]] = {
    **{code: None for code in _INVISIBLE if chr(code) not in _KEPT},
    **dict.fromkeys(map(ord, _SPACES), " "),
    **dict.fromkeys(map(ord, _BREAKS), "\n"),
}


def clean(text: str) -> str:
    """Return ``text`` in composed form, without control characters and other invisible ones."""
    if text.isascii() and text.isprintable():
        return text
    text = text.translate(_TABLE)
    return text if text.isascii() else unicodedata.normalize("NFC", text)
