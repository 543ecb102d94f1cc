"""Encoding labels as the WHATWG Encoding Standard reads them."""

from functools import lru_cache

from turbohtml import parse

_MAX_LABEL_CHARS = 64


@lru_cache(maxsize=512)
def resolve_label(label: str) -> str | None:
    """Return the encoding's WHATWG name in lower case; None for a label nobody can decode.

    ``gb2312`` means GBK and ``iso-8859-1`` means windows-1252 (WHATWG Encoding §4.2). Labels of
    the standard's "replacement" encoding count as unknown: a crawler has no page to protect from
    them, and detection may still find readable text.
    """
    if len(label) > _MAX_LABEL_CHARS or not label.isascii() or "\0" in label:
        return None
    try:
        name = parse(b"", encoding=label).encoding
    except LookupError:
        return None
    return None if name is None or name == "replacement" else name.lower()
