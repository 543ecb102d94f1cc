"""Any bytes, in any pieces: never an error, always the same; and what is written is read."""

import gzip
from html import escape

from hypothesis import given, settings
from hypothesis import strategies as st
from sitemap_help import URL, in_pieces

from skitter.parse.sitemap.model import SitemapEntry
from skitter.parse.sitemap.reader import read_sitemap
from skitter.url.parse import parse

FRAGMENTS = st.sampled_from(
    [
        b"<urlset>",
        b"</urlset>",
        b"<sitemapindex>",
        b"<rss>",
        b"<feed>",
        b"<rdf:RDF>",
        b"<url>",
        b"</url>",
        b"<sitemap>",
        b"</sitemap>",
        b"<item>",
        b"</item>",
        b"<entry>",
        b"</entry>",
        b"<loc>/a</loc>",
        b"<loc>",
        b"https://site.test/",
        b"</loc>",
        b"<sm:loc>/s</sm:loc>",
        b"<lastmod>2024</lastmod>",
        b"<priority> </priority>",
        b"<link>/l</link>",
        b"<link rel='alternate' hreflang='x' href='/h'/>",
        b'<link rel="alternate" hreflang="x" href="/i" />',
        b"<image:image>",
        b"<image:loc>/i</image:loc>",
        b"</image:image>",
        b"<news:news>",
        b"<news:publication_date>2023</news:publication_date>",
        b"<html>",
        b"<!--",
        b"-->",
        b"<![CDATA[",
        b"]]>",
        b"<!DOCTYPE x [",
        b"<!ENTITY a 'b'>",
        b"]>",
        b"<?xml version='1.0' encoding='windows-1251'?>",
        b"&amp;",
        b"&",
        b"\n",
        b" ",
        b"\xd0\xbf",
        b"\xff",
        b"\0",
        b"'",
        b'"',
        b"<",
        b">",
        b"/",
    ]
)
SOUP = st.lists(FRAGMENTS | st.binary(max_size=4), max_size=40).map(b"".join)
SIZES = st.lists(st.integers(1, 50), min_size=1, max_size=5)


@given(SOUP, SIZES, st.booleans())
@settings(max_examples=150, deadline=None)
def test_pieces_do_not_matter(soup: bytes, sizes: list[int], packed: bool) -> None:
    document = gzip.compress(soup) if packed else soup
    assert in_pieces(document, sizes) == read_sitemap(document, URL)


@given(SOUP, st.integers(1, 40))
@settings(max_examples=150, deadline=None)
def test_where_the_buffer_ends_does_not_matter(soup: bytes, block_bytes: int) -> None:
    # The first block decides what the document is and how it is encoded: that is left out here.
    plain = soup.decode("ascii", "ignore").replace("\0", "").encode()
    document = b"<urlset>".ljust(block_bytes) + plain
    assert in_pieces(document, [5], block_bytes=block_bytes) == read_sitemap(document, URL)


@given(SOUP, SIZES, st.integers(0, 200), st.binary(max_size=3))
@settings(max_examples=100, deadline=None)
def test_damage_to_packed_data_does_not_matter(
    soup: bytes, sizes: list[int], at: int, damage: bytes
) -> None:
    packed = gzip.compress(soup)
    broken = packed[:at] + damage + packed[at + len(damage) :]
    assert in_pieces(broken, sizes) == read_sitemap(broken, URL)


@given(st.binary(max_size=300), SIZES)
@settings(deadline=None)
def test_any_bytes_are_read(document: bytes, sizes: list[int]) -> None:
    assert in_pieces(document, sizes) == read_sitemap(document, URL)


PATHS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), max_size=20)
ENTRIES = st.builds(
    SitemapEntry,
    PATHS.map(lambda path: parse(f"https://site.test/{path}")),
    st.none() | st.dates().map(str),
    st.none() | st.sampled_from(["daily", "never"]),
    st.none() | st.sampled_from([0.0, 0.1, 0.5, 1.0]),
)
SPACE = st.sampled_from(["", " ", "\n  ", "<!-- x -->", "\r\n"])


def written(entry: SitemapEntry, order: list[str], prefix: str, space: str) -> str:
    """Return the url element of an entry with its fields in some order."""
    values = {
        "loc": escape(entry.loc, quote=False),
        "lastmod": entry.lastmod,
        "changefreq": entry.changefreq,
        "priority": entry.priority,
    }
    fields = "".join(
        f"<{prefix}{name}>{values[name]}</{prefix}{name}>{space}"
        for name in order
        if values[name] is not None
    )
    return f"{space}<{prefix}url>{space}{fields}</{prefix}url>"


@given(
    st.lists(ENTRIES, max_size=8),
    st.permutations(["loc", "lastmod", "changefreq", "priority"]),
    st.sampled_from(["", "sm:"]),
    SPACE,
    st.sampled_from(["utf-8", "utf-16", "utf-8-sig"]),
)
@settings(max_examples=150, deadline=None)
def test_what_is_written_is_read(
    entries: list[SitemapEntry], order: list[str], prefix: str, space: str, codec: str
) -> None:
    records = "".join(written(entry, order, prefix, space) for entry in entries)
    document = f"<{prefix}urlset>{records}{space}</{prefix}urlset>".encode(codec)
    found, sitemaps, told = read_sitemap(document, URL)
    assert found == entries
    assert sitemaps == []
    assert (told.kind, told.problem, told.urls) == ("urlset", None, len(entries))
