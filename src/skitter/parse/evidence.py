"""How well bytes bear out an encoding, judged on samples so that a huge body costs no more."""

import re

MULTI_BYTE = frozenset(("gbk", "gb18030", "big5", "shift_jis", "euc-jp", "euc-kr"))
"""The legacy encodings in which a character takes several bytes."""

_WINDOW_BYTES = 8 * 1024
_SEGMENT_WINDOW_BYTES = 256 * 1024
_CONTEXT_BYTES = 64
_HIGH = re.compile(rb"[\x80-\xff]")
_HIGH_RUN = re.compile(rb"[\x80-\xff]{4}")
_UTF16_BYTES = 1024


def unmarked_utf16(body: bytes) -> str | None:
    """Recognise UTF-16 without a byte order mark by the zero bytes of its markup."""
    head = body[:_UTF16_BYTES]
    if b"\0" not in head:
        return None
    even, odd = head[::2].count(0), head[1::2].count(0)
    pairs = len(head) // 2
    if odd * 4 >= pairs and even * 16 <= odd:
        return "utf-16le"
    if even * 4 >= pairs and odd * 16 <= even:
        return "utf-16be"
    return None


def bears_out(body: bytes, claim: str) -> bool:
    """Tell whether ``body``, which is neither well-formed UTF-8 nor UTF-16, can be ``claim``."""
    if claim.startswith("utf-16"):
        return False
    sample = _sample(body)
    if claim == "utf-8":
        return is_mostly_utf8(sample)
    if claim in MULTI_BYTE:
        return _error_share(sample, f"whatwg-{claim}") <= 0.05
    if claim == "windows-1252":
        return not has_foreign_runs(sample) and not is_mostly_utf8(sample)
    return True


def has_foreign_runs(sample: bytes) -> bool:
    """Tell whether non-ASCII bytes come in runs; Western text has its accents one by one."""
    return _HIGH_RUN.search(sample) is not None


def is_mostly_utf8(sample: bytes) -> bool:
    """Tell whether ``sample`` is UTF-8 with the few broken characters real pages have."""
    return _error_share(sample, "utf-8") <= 0.25


def non_ascii_segments(body: bytes, limit: int) -> list[bytes]:
    """Return the stretches between angle brackets that hold non-ASCII bytes, ``limit`` in all.

    Angle brackets are never a part of a multi-byte character, so every segment begins with a
    whole one; a segment that would pass the limit is cut after an ASCII byte where it has one.
    """
    segments: list[bytes] = []
    start = max(0, _first_high(body) - _CONTEXT_BYTES)
    window = body[start : start + _SEGMENT_WINDOW_BYTES]
    for segment in window.replace(b">", b"<").split(b"<"):
        if segment.isascii():
            continue
        segment = segment.strip()
        if len(segment) > limit:
            segments.append(_cut(segment, limit))
            break
        segments.append(segment)
        limit -= len(segment)
    return segments


def _cut(data: bytes, size: int) -> bytes:
    """Shorten ``data`` to at most ``size`` bytes, before an ASCII mark where it has one.

    These marks are never the second half of a character; lacking them, an even number of bytes
    keeps the two-byte encodings whole.
    """
    end = max(data.rfind(mark, 0, size) for mark in (b"\n", b" ", b"<"))
    return data[: end if end > 0 else size - size % 2]


def _sample(body: bytes) -> bytes:
    first = _first_high(body)
    rest = body[first : first + _WINDOW_BYTES]
    return _cut(rest, _WINDOW_BYTES) if len(rest) == _WINDOW_BYTES else rest


def _first_high(body: bytes) -> int:
    found = _HIGH.search(body)
    return found.start() if found else len(body)


def _error_share(sample: bytes, codec: str) -> float:
    """Return the share of replacement characters among the non-ASCII characters."""
    text = sample.decode(codec, "replace")
    others = len(text) - len(text.encode("ascii", "ignore"))
    return text.count("\ufffd") / others if others else 0.0
