"""Character references of markup, replaced in one pass.

Numbers and the names HTML knows are replaced. Nothing a document declares is: an unknown name
stays as it is written, and so does the bare "&" that many sites put into their URLs.
"""

import re
from html.entities import html5
from typing import Final

_REFERENCE: Final = re.compile(
    r"&(?:#(?P<decimal>[0-9]{1,9})|#[xX](?P<hex>[0-9A-Fa-f]{1,8})|(?P<name>[A-Za-z][A-Za-z0-9]*));"
)
_REPLACEMENT: Final = "\ufffd"
_MAX_CODE_POINT: Final = 0x10FFFF


def unescape(text: str) -> str:
    """Return ``text`` with its character references replaced."""
    if "&" not in text:
        return text
    # In most URLs with a reference it is this one, in which case no pattern is needed.
    if text.count("&") == text.count("&amp;"):
        return text.replace("&amp;", "&")
    return _REFERENCE.sub(_replace, text)


def escape(text: str) -> str:
    """Return ``text`` so that ``unescape`` gives it back."""
    return text.replace("&", "&amp;")


def _replace(match: re.Match[str]) -> str:
    if match["name"] is not None:
        return html5.get(f"{match['name']};", match[0])
    digits = match["decimal"]
    code = int(digits) if digits is not None else int(match["hex"], 16)
    if code == 0 or code > _MAX_CODE_POINT or 0xD800 <= code <= 0xDFFF:
        return _REPLACEMENT
    return chr(code)
