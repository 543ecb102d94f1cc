"""Media types and file suffixes: what is worth asking for, and what is worth reading.

A suffix is judged before a request, a media type once the headers are here. Where the header is
missing or is no media type, the URL's suffix tells, else the first bytes do.
"""

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

_TYPE: Final = re.compile(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+", re.ASCII)

HTML: Final = "text/html"
XHTML: Final = "application/xhtml+xml"
BINARY: Final = "application/octet-stream"
PDF: Final = "application/pdf"

# What servers send when they do not know; the WHATWG MIME Sniffing Standard §7 treats these as
# no type at all.
_NO_TYPES: Final = frozenset({"unknown/unknown", "application/unknown"})
# What file stores send for whatever was uploaded without a type.
_ANY_FILE: Final = frozenset({BINARY, "binary/octet-stream", "application/x-octet-stream"})
_PAGE_SUFFIXES: Final = frozenset({"htm", "html", "shtml", "xht", "xhtml"})

# Left out on purpose: suffixes that are also top-level domains or words, because directories of
# sites have paths such as /example.com.
_SUFFIXES_BY_KIND: Final = {
    "image": "avif bmp cur gif heic heif ico jfif jp2 jpe jpeg jpg jxl png psd svg svgz tga tif"
    " tiff webp xcf",
    "video": "3g2 3gp asf avi f4v flv m2ts m4v mkv mov mp4 mpeg mpg mts ogv rmvb swf vob webm wmv",
    "audio": "aac aif aiff amr ape flac m4a m4b midi mka mp2 mp3 oga ogg opus wav weba wma",
    "archive": "7z ace arj bz2 cab cpio deb gz iso jar lha lz lz4 lzh lzma rar rpm tar tbz2 tgz txz"
    " war xz zip zst",
    "program": "apk appimage bin dll dmg ear elf exe ipa msi msix msu pkg pyc pyd vhd vmdk xpi",
    "font": "eot fon otf pfb ttc ttf woff woff2",
    "document": "azw azw3 chm djvu doc docm docx dotx eps epub fb2 mobi mpp odg odp ods odt pdf"
    " potx pps ppsx ppt pptm pptx rtf vsd vsdx wpd wps xla xls xlsb xlsm xlsx xlt xltx xps",
    "data": "accdb db dbf dwg dxf fla h5 kmz mdb npy npz parquet pcap rds shp sqlite sqlite3"
    " torrent",
    "page part": "css js mjs wasm",
}

DEFAULT_SKIPPED_SUFFIXES: Final = frozenset(
    suffix for suffixes in _SUFFIXES_BY_KIND.values() for suffix in suffixes.split()
)
"""Suffixes that never hold a page: pictures, film, sound, archives, programs, fonts, office
documents, data files, style sheets and scripts."""

_KIND_OF: Final = {
    suffix: kind for kind, suffixes in _SUFFIXES_BY_KIND.items() for suffix in suffixes.split()
}

_SCRIPT_SUFFIXES: Final = "action asp aspx cfm cgi do jsp jspx php php3 php5 phtml"
_SCRIPTS: Final = frozenset(_SCRIPT_SUFFIXES.split())
_TYPE_OF: Final = (
    {
        suffix: f"{kind}/{suffix}" if kind in ("image", "video", "audio", "font") else BINARY
        for suffix, kind in _KIND_OF.items()
    }
    | dict.fromkeys(_SCRIPTS, HTML)
    | {
        "atom": "application/atom+xml",
        "css": "text/css",
        "csv": "text/csv",
        "htm": HTML,
        "html": HTML,
        "jpg": "image/jpeg",
        "js": "text/javascript",
        "json": "application/json",
        "md": "text/markdown",
        "mjs": "text/javascript",
        "pdf": PDF,
        "rss": "application/rss+xml",
        "shtml": HTML,
        "svg": "image/svg+xml",
        "txt": "text/plain",
        "xht": XHTML,
        "xhtml": XHTML,
        "xml": "text/xml",
    }
)


@lru_cache(maxsize=1024)
def media_type(content_type: str | None) -> str:
    """Return the bare lower-case media type of a Content-Type header, "" when it tells none."""
    if not content_type:
        return ""
    match = _TYPE.match(content_type.strip())
    kind = match[0].lower() if match else ""
    return "" if kind in _NO_TYPES else kind


@lru_cache(maxsize=1024)
def is_telling(content_type: str | None) -> bool:
    """Tell whether a Content-Type header settles the type, whatever URL and body look like."""
    kind = media_type(content_type)
    return bool(kind) and kind not in _ANY_FILE


@lru_cache(maxsize=1024)
def wanted_type(content_type: str | None, accept_types: tuple[str, ...]) -> bool | None:
    """Tell whether a body of this Content-Type is wanted; None when the header does not say.

    ``accept_types`` holds "text/html", "text/*" or "*/*"; empty wants everything.
    """
    if not accept_types:
        return True
    kind = media_type(content_type)
    if not kind:
        return None
    return any(_covers(accepted.lower(), kind) for accepted in accept_types)


def _covers(accepted: str, kind: str) -> bool:
    if accepted in ("*/*", "*", kind):
        return True
    return accepted.endswith("/*") and kind.startswith(accepted[:-1])


def suffix_of(url: str) -> str:
    """Return the lower-case suffix of the last path segment without its dot, "" for none."""
    path = url.partition("#")[0].partition("?")[0]
    authority_ends = path.find("/", path.find("://") + 3) if "://" in path else 0
    if authority_ends < 0:
        return ""
    segment = path[path.rfind("/", authority_ends) + 1 :].partition(";")[0]
    if "%" in segment:
        segment = _ASCII_ESCAPES.sub(_unescape, segment).rstrip()
    stem, dot, suffix = segment.rpartition(".")
    return suffix.lower() if dot and stem else ""


# Others belong to names in other scripts, which tell nothing and would take long.
_ASCII_ESCAPES: Final = re.compile("%[2-7][0-9A-Fa-f]")


def _unescape(escape: re.Match[str]) -> str:
    return unquote(escape[0])


def type_from_url(url: str) -> str | None:
    """Guess the media type from the URL's suffix; None when it has none that is known."""
    return _TYPE_OF.get(suffix_of(url))


def declared_type(content_type: str | None, url: str) -> str | None:
    """Return the media type by the header or, where it says nothing, by the URL's suffix.

    None where only the first bytes can tell: there is neither, a page by its suffix is sent as
    just any file, or a script's suffix, such as .php, says little about what the script sends.
    """
    kind = media_type(content_type)
    if not kind:
        return None if suffix_of(url) in _SCRIPTS else type_from_url(url)
    if kind in _ANY_FILE and suffix_of(url) in _PAGE_SUFFIXES:
        return None
    return kind


def guess_type(content_type: str | None, url: str, body: bytes, sniffed: str = "") -> str:
    """Return the media type by the header, else the suffix of ``url``, else the first bytes.

    ``sniffed`` is what they say where ``body`` is not at hand. "" means that nothing tells.
    """
    kind = declared_type(content_type, url)
    if kind is not None:
        return kind
    if body:
        sniffed = sniff(body)
    header = media_type(content_type)
    if not header and suffix_of(url) in _SCRIPTS:
        return sniffed if sniffed in (BINARY, PDF) else HTML
    return header if header and sniffed not in (HTML, "text/xml") else sniffed


SNIFFED_BYTES: Final = 1024
"""How many of the first bytes are looked at."""

_MARKUP: Final = re.compile(
    rb"\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|body|title|meta|script|iframe|style|table"
    rb"|h[1-6]|div|font|br|p|a|b|!--)[\s>/]?",
    re.IGNORECASE | re.DOTALL,
)
_BOMS: Final = (b"\xef\xbb\xbf", b"\xfe\xff", b"\xff\xfe")
_BINARY_BYTES: Final = re.compile(rb"[\x00-\x08\x0b\x0e-\x1a\x1c-\x1f]")


def sniff(body: bytes) -> str:
    """Tell HTML, XML, plain text and everything else apart by the first bytes."""
    head = body[:SNIFFED_BYTES]
    if head.startswith(b"%PDF-"):
        return PDF
    wide = head.startswith(_BOMS[1:])
    if wide:
        # UTF-16 markup is ASCII with a zero byte beside each letter.
        head = head[2:].replace(b"\0", b"")
    head = head.removeprefix(_BOMS[0]).lstrip()
    if _MARKUP.match(head):
        return HTML
    if head.startswith(b"<?xml"):
        return HTML if b"<html" in head.lower() else "text/xml"
    if not wide and _BINARY_BYTES.search(head):
        return BINARY
    return "text/plain"


def sniff_start(body: bytes) -> str | None:
    """Tell the kind by the bytes that came so far; None when more of them may tell otherwise."""
    kind = sniff(body)
    return kind if len(body) >= SNIFFED_BYTES or kind in (HTML, BINARY, PDF) else None


class SuffixFilter:
    """Decides from a URL alone that it holds nothing worth a request."""

    def __init__(self, suffixes: Iterable[str] = DEFAULT_SKIPPED_SUFFIXES) -> None:
        self._suffixes = frozenset(suffix.lower().lstrip(".") for suffix in suffixes)

    def why_not(self, url: str) -> str | None:
        """Return why ``url`` is not asked for, or None when its suffix is no reason."""
        suffix = suffix_of(url)
        if suffix not in self._suffixes:
            return None
        kind = _KIND_OF.get(suffix)
        return f"suffix .{suffix} ({kind})" if kind else f"suffix .{suffix}"
