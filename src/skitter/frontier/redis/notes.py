"""How notes and records are stored: compressed, for they are JSON; pointers as they are."""

from isal import isal_zlib

from skitter.frontier.model import is_pointer

_LEVEL = 1


def pack_note(note: bytes) -> bytes:
    """Return what is stored of a note or a record; they compress to less than half."""
    return isal_zlib.compress(note, _LEVEL) if note else b""


def unpack_note(stored: bytes | None) -> bytes:
    """Read a stored note or record; b"" for none."""
    if not stored or is_pointer(stored):
        # What is compressed begins otherwise.
        return stored or b""
    return isal_zlib.decompress(stored)
