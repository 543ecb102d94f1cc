"""Reading in pieces: little memory, linear time, and the same result for any pieces."""

import gzip
import subprocess
import sys
import textwrap
import zlib

import pytest
from sitemap_help import URL, end, in_pieces, urlset

from skitter.errors import UrlError
from skitter.parse.sitemap.reader import SitemapReader, read_sitemap

RECORD = (
    "  <url>\n    <loc>https://site.test/catalogue/item-{0}?a=1&amp;b=2</loc>\n"
    "    <lastmod>2024-05-17T08:30:00+00:00</lastmod>\n"
    "    <changefreq>monthly</changefreq>\n    <priority>0.8</priority>\n  </url>\n"
)
ODD_RECORD = (
    "<url><lastmod>2024</lastmod><loc><![CDATA[https://site.test/odd-{0}]]></loc>"
    "<image:image><image:loc>/{0}.jpg</image:loc></image:image><!-- {0} -->"
    "<xhtml:link rel='alternate' hreflang='de' href='/de/{0}'/></url>"
)


def test_entries_come_while_the_document_arrives() -> None:
    reader = SitemapReader(URL)
    reader.feed(b"<urlset>" + b"".join(RECORD.format(n).encode() for n in range(2000)))
    found = reader.take()
    assert 0 < len(found.entries) <= 2000
    assert found.entries[0].loc == "https://site.test/catalogue/item-0?a=1&b=2"
    assert reader.found >= len(found.entries)
    assert not reader.take()


def test_after_the_close_the_rest_is_there_and_no_more_is_taken_in() -> None:
    reader = SitemapReader(URL)
    reader.feed(urlset("<loc>/a</loc>", "<loc>ftp://x/</loc>").encode())
    told = reader.close()
    assert [entry.loc for entry in reader.take().entries] == ["https://site.test/a"]
    reader.feed(b"<urlset><url><loc>/b</loc></url></urlset>")
    assert reader.close() is told
    assert not reader.take()
    assert reader.skipped == told.skipped == 1


@pytest.mark.parametrize("url", ["", "nonsense", "ftp://site.test/sitemap.xml"])
def test_the_address_of_the_document_must_be_one(url: str) -> None:
    with pytest.raises(UrlError):
        SitemapReader(url)


@pytest.mark.parametrize("block_bytes", [1, 7, 64, 1000, 65536])
@pytest.mark.parametrize("packed", [False, True])
def test_blocks_of_any_size_give_the_same(block_bytes: int, packed: bool) -> None:
    records = (RECORD.format(n) + ODD_RECORD.format(n) for n in range(20))
    document = f"<!DOCTYPE u [<!ELEMENT a 'b>'>]><urlset>{''.join(records)}</urlset>".encode()
    found, sitemaps, told = in_pieces(
        gzip.compress(document) if packed else document, [13], block_bytes=block_bytes
    )
    assert (found, sitemaps, told) == read_sitemap(document, URL)
    assert len(found) == 60


def test_a_small_file_that_unpacks_to_a_huge_one_is_unpacked_bit_by_bit() -> None:
    packer = zlib.compressobj(9, wbits=31)
    block = b"".join(b"<url><loc>/%d</loc></url>" % n for n in range(1000)) * 40
    packed = packer.compress(b"<urlset>") + b"".join(packer.compress(block) for _ in range(20))
    packed += packer.compress(b"</urlset>") + packer.flush()
    reader = SitemapReader(URL)
    reader.feed(packed)
    sizes = []
    while found := reader.take():
        sizes.append(len(found.entries))
    told = reader.close()
    assert (told.urls, told.problem) == (800_000, None)
    assert max(sizes) < 20_000
    assert len(packed) < 500_000


LINKS_WITHOUT_END = b"<url><loc>x:</loc>" + b"<link />" * 7000 + b"<b/></url>"
PAIRS_OF_QUOTES = b"<url><loc>x:</loc></url><a " + b'""' * 31_000 + b"'<"
EMPTY_BLOCKS = gzip.compress(b"")[:10] + b"\0\0\0\xff\xff" * 4_000_000
HOSTILE = {
    "open brackets": b"<" * 1_500_000,
    "open tags": b"<urlset>" + b"<a " * 500_000,
    "open quotes": b"<urlset>" + b'<a b="' * 300_000,
    "open records": b"<urlset>" + b"<url><a>" * 150_000,
    "nested elements": b"<urlset><url>" + b"<a><b>" * 200_000,
    "different elements": b"<urlset><url>" + b"".join(b"<a%d>" % n for n in range(150_000)),
    "closing tags": b"<urlset><url>" + b"</a>" * 300_000,
    "an endless comment": b"<urlset><!--" + b"- <url><loc>/</loc></url>" * 200_000,
    "comments": b"<urlset>" + b"<!---->" * 200_000,
    "an endless section": b"<urlset><url><loc><![CDATA[" + b"]]" * 2_000_000,
    "sections": b"<urlset><url><loc x=''>" + b"<![CDATA[a]]>" * 100_000,
    "an endless instruction": b"<?xml " + b"?" * 4_000_000,
    "an endless declaration": b"<!DOCTYPE x [" + b'<!ENTITY a "&b;&b;">' * 150_000,
    "brackets in a declaration": b"<!DOCTYPE x " + b"[" * 1_000_000,
    "an endless tag": b"<urlset " + b"a" * 4_000_000,
    "an endless attribute": b'<urlset><url><link href="' + b"a" * 4_000_000,
    "many attributes": b"<urlset><url>" + b"<link " + b"a=b " * 10_000 + b"/>" * 20,
    "an attribute of one word": b"<urlset><url><link " + b"a" * 60_000 + b"></url></urlset>",
    "an endless name": b"<" + b"n" * 4_000_000,
    "an endless loc": b"<urlset><url><loc>" + b"a" * 4_000_000,
    "ampersands": b"<urlset><url><loc>" + b"&" * 4_000_000,
    "references": b"<urlset><url><loc>" + b"&#1;&amp" * 500_000,
    "spaces": b"<urlset>" + b" " * 4_000_000 + b"x",
    "spaces in records": b"<urlset>" + (b"<url><loc>" + b" " * 5000) * 500,
    "links in one record": b"<urlset><url>" + b"<link rel='a' href='/'/>" * 50_000,
    "a line": b"https://site.test/" + b"a" * 4_000_000,
    "line ends": b"x" + b"\r" * 2_000_000,
    "zeros": bytes(4_000_000),
    "zeros, packed": gzip.compress(bytes(40_000_000)),
    "high bytes": b"\xff" * 4_000_000,
    "packed nothings": gzip.compress(b"") * 20_000,
    "links and no end": b"<urlset>" + LINKS_WITHOUT_END * 8,
    "links on both sides": b"<urlset><url><loc>x:</loc>"
    + b"<lastmod>2024</lastmod>".join([b'<x:link a="" b=""/> ' * 1500] * 2),
    "pairs of quotes": b"<urlset>" + PAIRS_OF_QUOTES * 8,
    "blanks in a field": b"<urlset><url><loc x=''>" + b" <a/>" * 50_000,
    "a long prefix": b"<" + b"p" * 60_000 + b":urlset><url><loc>x:</loc></url>",
    "nothing, packed twice": gzip.compress(EMPTY_BLOCKS),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_documents_are_read_in_linear_time(name: str) -> None:
    assert end(HOSTILE[name]).urls == 0


SLOW_IF_NOT_LINEAR = {
    "links": "end(b'<urlset>' + links * 40)",
    "quotes": "end(b'<urlset>' + quotes * 40)",
    "blanks": "end(b'<urlset><url><loc x=\"\">' + b' <a/>' * 100_000)",
    "dates": "[lastmod_ms(f'Fri May {n} 08:30:00' + ' ' * 75 + 'x') for n in range(20_000)]",
    "places": "[looks_like_sitemap('http://h/' + 'sitemap' * 580) for _ in range(10_000)]",
}


@pytest.mark.parametrize("name", SLOW_IF_NOT_LINEAR)
def test_what_takes_minutes_unless_time_is_linear_does_not(name: str) -> None:
    script = f"""
from skitter.parse.sitemap.dates import lastmod_ms
from skitter.parse.sitemap.places import looks_like_sitemap
from skitter.parse.sitemap.reader import read_sitemap

links = b"<url><loc>x:</loc>" + b"<link />" * 7000 + b"<b/></url>"
quotes = b"<url><loc>x:</loc></url><a " + b'""' * 31_000 + b"'<"

def end(document):
    return read_sitemap(document, "https://site.test/")[2]

{SLOW_IF_NOT_LINEAR[name]}
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)


def skipped_flood() -> bytes:
    record = b"<url><loc>x:</loc></url>"
    return b"<urlset>" + record * 400_000 + b"<url><loc>/a</loc></url></urlset>"


@pytest.mark.parametrize("name", ["skipped", "skipped, packed", "packed twice"])
def test_one_take_reads_a_little_and_tells_that_it_goes_on(name: str) -> None:
    reader = SitemapReader(URL)
    flood = EMPTY_BLOCKS if name == "packed twice" else skipped_flood()
    reader.feed(flood if name == "skipped" else gzip.compress(flood))
    found: list[str] = []
    takes = before = 0
    while taken := reader.take():
        assert reader.skipped - before < 30_000
        before = reader.skipped
        found += [entry.loc for entry in taken.entries]
        takes += 1
        assert taken.goes_on or taken.entries
    assert takes > 1
    left = reader.skipped
    told = reader.close()
    assert told.skipped - left < 3000
    found += [entry.loc for entry in reader.take().entries]
    assert found == ([] if name == "packed twice" else ["https://site.test/a"])
    assert not reader.take()


def test_a_close_without_any_take_reads_everything() -> None:
    reader = SitemapReader(URL)
    reader.feed(gzip.compress(skipped_flood()))
    assert not reader.take().entries
    assert (reader.close().urls, reader.skipped) == (1, 400_000)
    last = reader.take()
    assert (len(last.entries), last.goes_on) == (1, False)


def test_what_one_layer_of_gzip_gives_to_another_counts_for_the_cap() -> None:
    told = end(gzip.compress(EMPTY_BLOCKS), max_bytes=1 << 20)
    assert told.problem == "more than 1 MB; the rest is left out"


def test_a_document_that_lists_nothing_for_long_is_left() -> None:
    told = end(b"<urlset><url><loc>/a</loc></url>" + b"<b/>" * 1_000_000 + b"</urlset>")
    assert told.problem == "lists nothing for long after 1 URL; the rest is left out"


def test_memory_stays_flat_on_a_sitemap_of_50_megabytes() -> None:
    script = textwrap.dedent("""
        import resource, sys
        from skitter.parse.sitemap.reader import SitemapReader

        def peak():
            return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024

        def pieces(megabytes):
            record = sys.argv[1]
            yield b"<urlset>"
            size = number = 0
            while size < megabytes << 20:
                piece = "".join(record.format(number + n) for n in range(250)).encode()
                number += 250
                size += len(piece)
                yield piece
            yield b"</urlset>"

        def read(megabytes):
            reader, count = SitemapReader("https://site.test/sitemap.xml"), 0
            for piece in pieces(megabytes):
                reader.feed(piece)
                while found := reader.take():
                    count += len(found.entries)
            end = reader.close()
            assert end.problem is None and end.kind == "urlset"
            return count + len(reader.take().entries)

        read(1)
        before = peak()
        print(read(50), peak() - before)
    """)
    ended = subprocess.run(
        [sys.executable, "-c", script, RECORD], capture_output=True, text=True, check=True
    )
    count, growth = map(int, ended.stdout.split())
    assert count > 200_000
    assert growth < 10
