"""How notes and records are stored: compressed, for they are JSON and many."""

from isal import isal_zlib

_LEVEL = 1


def pack_note(note: bytes) -> bytes:
    """Return what is stored of a note or a record; they compress to less than half."""
    return isal_zlib.compress(note, _LEVEL) if note else b""


def unpack_note(stored: bytes | None) -> bytes:
    """Read a stored note or record; b"" for none."""
    return isal_zlib.decompress(stored) if stored else b""
