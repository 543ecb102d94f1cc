"""What a Content-Type header says: the media type and the encoding."""

import re
from functools import lru_cache
from typing import NamedTuple

from skitter.parse.label import resolve_label

_MAX_HEADER_CHARS = 256
_CHARSET = re.compile(
    r"""[;,\s]charset\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s;,"']+))""", re.IGNORECASE
)
_HTML_TYPES = frozenset(("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml"))
# What servers send when they do not know; the WHATWG MIME Sniffing Standard §7 treats these as
# no type at all.
_NO_TYPES = frozenset(("", "*/*", "unknown/unknown", "application/unknown"))


class MediaType(NamedTuple):
    """A Content-Type header, read."""

    name: str
    """Lower case, without parameters; empty when there is none."""
    charset: str | None
    """WHATWG name of the encoding; None when the header gives none that exists."""

    @property
    def is_html(self) -> bool:
        """Whether the body is read as HTML; a missing or meaningless type is."""
        return self.name in _HTML_TYPES or self.name in _NO_TYPES

    @property
    def is_utf8_by_default(self) -> bool:
        """Whether the type's own standard says UTF-8 where nothing else is declared."""
        return self.name.endswith(("json", "xml", "javascript")) and not self.is_html


def read_content_type(value: str | None) -> MediaType:
    """Read the raw header ``value``; a header that makes no sense says nothing."""
    return _read("" if value is None else value[:_MAX_HEADER_CHARS])


@lru_cache(maxsize=256)
def _read(value: str) -> MediaType:
    essence = re.split("[;,]", value, maxsplit=1)[0].strip().lower()
    found = _CHARSET.search(value)
    label = next((group for group in found.groups() if group is not None), "") if found else ""
    return MediaType(essence if "/" in essence else "", resolve_label(label) if label else None)
