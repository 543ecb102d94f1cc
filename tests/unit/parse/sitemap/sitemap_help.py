"""What the tests of sitemaps share."""

from skitter.parse.sitemap.model import SitemapEnd, SitemapEntry
from skitter.parse.sitemap.reader import SitemapReader, read_sitemap

URL = "https://site.test/maps/sitemap.xml"


def text_bytes(document: str | bytes) -> bytes:
    return document.encode() if isinstance(document, str) else document


def entries(document: str | bytes) -> list[SitemapEntry]:
    return read_sitemap(text_bytes(document), URL)[0]


def locs(document: str | bytes) -> list[str]:
    return [entry.loc for entry in entries(document)]


def subs(document: str | bytes) -> list[str]:
    return read_sitemap(text_bytes(document), URL)[1]


def end(document: str | bytes, *, max_bytes: int = 1 << 30) -> SitemapEnd:
    return read_sitemap(text_bytes(document), URL, max_bytes=max_bytes)[2]


def urlset(*urls: str) -> str:
    """Return a urlset whose url elements hold ``urls`` as they are."""
    records = "".join(f"  <url>{url}</url>\n" for url in urls)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset>\n{records}</urlset>\n'


def in_pieces(
    document: bytes, sizes: list[int], *, block_bytes: int = 1 << 16
) -> tuple[list[SitemapEntry], list[str], SitemapEnd]:
    """Read ``document`` in pieces of ``sizes``, over and over, taking after each."""
    reader = SitemapReader(URL, block_bytes=block_bytes)
    found: list[SitemapEntry] = []
    sitemaps: list[str] = []
    position = turn = 0
    while position < len(document):
        size = sizes[turn % len(sizes)]
        reader.feed(document[position : position + size])
        position += size
        turn += 1
        while taken := reader.take():
            found += taken.entries
            sitemaps += taken.sitemaps
    ended = reader.close()
    last = reader.take()
    return found + last.entries, sitemaps + last.sitemaps, ended
