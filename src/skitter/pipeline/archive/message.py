"""The parts of a stored HTTP response. Pure."""

import re
from typing import Final

_HEAD_END: Final = re.compile(rb"\r?\n\r?\n")
_STATUS: Final = re.compile(rb"HTTP/\S+[ \t]+([0-9]{3})")
_CHUNK_SIZE: Final = re.compile(rb"[ \t]*0*([0-9a-fA-F]{1,15})(?![0-9a-fA-F])[^\r\n]*\r?\n")
_LINE_END: Final = re.compile(rb"\r?\n")


def _header(name: str) -> re.Pattern[bytes]:
    return re.compile(rb"^%b[ \t]*:[ \t]*([^\r\n]*)" % name.encode(), re.IGNORECASE | re.MULTILINE)


_CONTENT_TYPE: Final = _header("content-type")
_CONTENT_ENCODING: Final = _header("content-encoding")
_TRANSFER_ENCODING: Final = _header("transfer-encoding")


def split(message: bytes) -> tuple[bytes, bytes]:
    """Return head, blank line included, and body."""
    end = _HEAD_END.search(message)
    at = end.end() if end is not None else len(message)
    return message[:at], message[at:]


def status_of(head: bytes) -> str:
    """Return the status code, or "" when there is none."""
    found = _STATUS.match(head)
    return found[1].decode() if found is not None else ""


def content_type(head: bytes) -> str:
    """Return the Content-Type header as sent, or ""."""
    return _value(_CONTENT_TYPE, head)


def content_encoding(head: bytes) -> str:
    """Return the Content-Encoding header in lower case, or ""."""
    return _value(_CONTENT_ENCODING, head).lower()


def is_chunked(head: bytes) -> bool:
    """Tell whether the body is framed in chunks."""
    return "chunked" in _value(_TRANSFER_ENCODING, head).lower()


def _value(header: re.Pattern[bytes], head: bytes) -> str:
    found = header.search(head)
    return found[1].rstrip().decode("latin-1") if found is not None else ""


def unchunked(body: bytes) -> bytes:
    """Return what the chunks hold; a body that breaks off gives what came of it."""
    pieces, at = [], 0
    while (size := _CHUNK_SIZE.match(body, at)) is not None:
        length = int(size[1], 16)
        if not length:
            break
        pieces.append(body[size.end() : size.end() + length])
        line_end = _LINE_END.match(body, size.end() + length)
        if line_end is None:
            break
        at = line_end.end()
    return b"".join(pieces)
