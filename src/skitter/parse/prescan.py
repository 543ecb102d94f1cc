"""The encoding a document declares inside itself, read from its bytes before any parsing.

The first 1024 bytes are read exactly by the HTML Standard §13.2.3.2 ("prescan a byte stream to
determine its encoding"). Where that finds nothing, a second pass does what a browser's parser
would still do: it reads further, and passes over the text of scripts, styles and titles. Both
passes take time linear in what they read.
"""

import re
from collections.abc import Iterator

from skitter.parse.label import resolve_label

_STANDARD_BYTES = 1024
_EXTENDED_BYTES = 64 * 1024

_SPACE = rb"[\t\n\f\r ]"
_TAG = re.compile(
    rb"<(?:(?P<meta>meta)(?=[\t\n\f\r /])"
    rb"|(?P<slash>/?)(?P<name>[a-z][^\t\n\f\r >]*)(?=[\t\n\f\r >]))",
    re.IGNORECASE,
)
# One attribute (§13.2.3.2 "get an attribute"). A name may begin with "=".
_ATTRIBUTE = re.compile(
    rb"[\t\n\f\r /]*(?:(?P<end>>)|(?P<name>[^\t\n\f\r />][^\t\n\f\r /=>]*)"
    rb"(?:" + _SPACE + rb"*=" + _SPACE + rb"*"
    rb"(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<open>[\"'])|(?P<bare>[^\t\n\f\r >]*)))?)"
)
# Without a match the slow second pass would find nothing.
_PROMISING = re.compile(rb"<meta[^<>]*charset")
_CHARSET = re.compile(
    rb"charset" + _SPACE + rb"*=" + _SPACE + rb"*"
    rb"(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<open>[\"'])|(?P<bare>[^\t\n\f\r ;]*))",
    re.IGNORECASE,
)
_XML_ENCODING = re.compile(
    rb"<\?xml" + _SPACE + rb"[^>]*?encoding" + _SPACE + rb"*=" + _SPACE + rb"*([\"'])([^\"'>]*)\1"
)
_RAW_TEXT_ENDS = {
    name: re.compile(rb"</" + name + rb"(?=[\t\n\f\r />])", re.IGNORECASE)
    for name in (
        b"script",
        b"style",
        b"title",
        b"textarea",
        b"xmp",
        b"iframe",
        b"noembed",
        b"noframes",
    )
}


class _OutOfBytes(Exception):  # a signal inside this module, not an error
    """The window ends inside a tag: what it says cannot be known."""


def declared_encoding(body: bytes) -> str | None:
    """Return the encoding of the first meta that declares one, else of the XML declaration."""
    found = _scan(body[:_STANDARD_BYTES], skip_raw_text=False)
    if found is None:
        window = body[:_EXTENDED_BYTES]
        if _PROMISING.search(window.lower()):
            found = _scan(window, skip_raw_text=True)
    return found or _xml_encoding(body)


def _xml_encoding(body: bytes) -> str | None:
    """Return the encoding an XML declaration at the very start gives."""
    found = _XML_ENCODING.match(body[:_STANDARD_BYTES])
    return _ascii_compatible(found[2]) if found else None


def _scan(window: bytes, *, skip_raw_text: bool) -> str | None:
    try:
        for attributes in _metas(window, skip_raw_text=skip_raw_text):
            if found := _of_meta(attributes):
                return found
    except _OutOfBytes:
        pass
    return None


def _metas(window: bytes, *, skip_raw_text: bool) -> Iterator[dict[bytes, bytes]]:
    position = window.find(b"<")
    while position >= 0:
        if window.startswith(b"<!--", position):
            # "<!-->" is a whole comment: its dashes may serve twice.
            position = _after(window, b"-->", position + 2)
        elif match := _TAG.match(window, position):
            attributes, position = _read_tag(window, match.end())
            if match["meta"]:
                yield attributes
            elif skip_raw_text and not match["slash"]:
                position = _after_raw_text(window, match["name"].lower(), position)
        elif window[position + 1 : position + 2] in (b"!", b"/", b"?"):
            position = _after(window, b">", position)
        else:
            position += 1
        position = window.find(b"<", position)


def _read_tag(window: bytes, position: int) -> tuple[dict[bytes, bytes], int]:
    """Read attributes up to the tag's end; the first of a name counts."""
    attributes: dict[bytes, bytes] = {}
    while True:
        found = _ATTRIBUTE.match(window, position)
        if found is None or found["open"]:
            raise _OutOfBytes
        position = found.end()
        if found["end"]:
            return attributes, position
        if position == len(window):
            raise _OutOfBytes
        attributes.setdefault(found["name"].lower(), _value(found) or b"")


def _after_raw_text(window: bytes, name: bytes, position: int) -> int:
    end = _RAW_TEXT_ENDS.get(name)
    if end is None:
        return position
    closing = end.search(window, position)
    if closing is None:
        raise _OutOfBytes
    return closing.start()


def _of_meta(attributes: dict[bytes, bytes]) -> str | None:
    label = attributes.get(b"charset")
    if label is None and attributes.get(b"http-equiv", b"").lower() == b"content-type":
        label = _charset_parameter(attributes.get(b"content", b""))
    return _ascii_compatible(label) if label else None


def _charset_parameter(content: bytes) -> bytes | None:
    """Find the encoding in a meta's content (HTML Standard §2.5.4)."""
    found = _CHARSET.search(content)
    return _value(found) if found else None


def _value(found: re.Match[bytes]) -> bytes | None:
    for group in ("double", "single", "bare"):
        value: bytes | None = found[group]
        if value is not None:
            return value
    return None


def _ascii_compatible(label: bytes) -> str | None:
    """Resolve a label that was itself readable as ASCII, so that it cannot mean UTF-16."""
    name = resolve_label(label.decode("latin-1"))
    if name is None:
        return None
    if name.startswith("utf-16"):
        return "utf-8"
    return "windows-1252" if name == "x-user-defined" else name


def _after(window: bytes, mark: bytes, position: int) -> int:
    found = window.find(mark, position)
    if found < 0:
        raise _OutOfBytes
    return found + len(mark)
