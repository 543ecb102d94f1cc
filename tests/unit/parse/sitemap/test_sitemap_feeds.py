"""RSS and Atom feeds, and plain lists."""

import pytest
from sitemap_help import end, entries, locs

from skitter.parse.sitemap.model import SitemapEntry


def rss(*items: str) -> str:
    inner = "".join(f"<item>{item}</item>" for item in items)
    return (
        "<?xml version='1.0'?><rss version='2.0'><channel><title>T</title>"
        "<link>https://site.test/home</link><atom:link href='https://site.test/self'/>"
        f"<image><link>https://site.test/logo</link></image>{inner}</channel></rss>"
    )


def atom(*items: str, more: str = "") -> str:
    inner = "".join(f"<entry>{item}</entry>" for item in items)
    return (
        f"<feed xmlns='http://www.w3.org/2005/Atom'{more}><title>T</title>"
        "<link rel='self' href='/self'/><link href='/home'/><updated>2001-01-01</updated>"
        f"{inner}</feed>"
    )


def test_an_rss_item_gives_its_link_and_its_date() -> None:
    document = rss(
        "<title>A &amp; <![CDATA[B]]></title><link>https://site.test/a</link>"
        "<pubDate>Fri, 17 May 2024 08:30:00 GMT</pubDate>",
        "<description>&lt;a href='/no'&gt;</description><dc:date>2024-05-17</dc:date>"
        "<link><![CDATA[ https://site.test/b?x=1&y=2 ]]></link>",
    )
    assert entries(document) == [
        SitemapEntry("https://site.test/a", "Fri, 17 May 2024 08:30:00 GMT"),
        SitemapEntry("https://site.test/b?x=1&y=2", "2024-05-17"),
    ]
    assert (end(document).kind, end(document).problem) == ("rss", None)


@pytest.mark.parametrize(
    ("item", "found"),
    [
        ("<guid>https://site.test/a</guid>", True),
        ("<guid isPermaLink='true'>https://site.test/a</guid>", True),
        ("<guid isPermaLink='false'>https://site.test/a</guid>", False),
        ("<guid>tag:site.test,2024:1</guid>", False),
        ("<guid>https://site.test/g</guid><link>/a</link>", True),
        ("<link href='/a'/>", True),
        ("<link rel='alternate' href='/a'></link>", True),
        ("<link/><guid>https://site.test/a</guid>", True),
        ("<atom:link href='/no'/>", False),
        ("<enclosure url='/no.mp3'/><media:content url='/no.jpg'/>", False),
        ("<source url='/no'>N</source><image><link>/no</link></image>", False),
        ("<content:encoded><![CDATA[</item><item><link>/no</link>]]></content:encoded>", False),
    ],
)
def test_an_rss_item_has_one_address_or_none(item: str, found: bool) -> None:
    assert locs(rss(item)) == (["https://site.test/a"] if found else [])
    assert end(rss(item)).skipped == 0


def test_rss_1_lists_its_items_beside_the_channel() -> None:
    document = (
        "<rdf:RDF><channel rdf:about='/c'><link>/home</link><items><rdf:Seq>"
        "<rdf:li resource='/a'/></rdf:Seq></items></channel>"
        "<item rdf:about='/x'><link>/a</link><dc:date>2024</dc:date></item>"
        "<item rdf:about='/b'><title>B</title></item></rdf:RDF>"
    )
    assert entries(document) == [
        SitemapEntry("https://site.test/a", "2024"),
        SitemapEntry("https://site.test/b"),
    ]
    assert (end(document).kind, end(document).problem) == ("rss", None)


def test_an_atom_entry_gives_its_page_and_when_it_was_updated() -> None:
    document = atom(
        "<link rel='self' href='/no'/><link rel='alternate' type='text/html' href='/a'/>"
        "<published>2024-01-01</published><updated>2024-05-17T08:30:00Z</updated>",
        "<link href='/b'/><published>2024-01-02</published>"
        "<source><link href='/no'/><updated>1999</updated></source>"
        "<content type='xhtml'><div><link href='/no'/><a href='/no'>x</a></div></content>",
        "<link rel='enclosure' href='/no.mp3'/><id>https://site.test/id</id>",
    )
    assert entries(document) == [
        SitemapEntry("https://site.test/a", "2024-05-17T08:30:00Z"),
        SitemapEntry("https://site.test/b", "2024-01-02"),
    ]
    assert (end(document).kind, end(document).problem) == ("atom", None)


def test_an_atom_entry_with_several_pages_gives_the_html_one() -> None:
    document = atom(
        "<link type='application/json' href='/j'/><link type='text/html' href='/a'/>",
        "<link type='application/pdf' href='/b'/>",
    )
    assert locs(document) == ["https://site.test/a", "https://site.test/b"]


def test_atom_0_3_has_other_names_for_dates() -> None:
    assert entries(atom("<link href='/a'/><issued>2003</issued><modified>2004</modified>")) == [
        SitemapEntry("https://site.test/a", "2004")
    ]


def test_links_of_an_atom_feed_are_joined_to_its_base() -> None:
    document = atom("<link href='a'/>", more=" xml:base='https://other.test/x/'")
    assert locs(document) == ["https://other.test/x/a"]


@pytest.mark.parametrize("document", [rss(), atom()])
def test_a_feed_without_items_lists_nothing(document: str) -> None:
    assert locs(document) == []
    assert end(document).problem is None


def test_a_plain_list_has_one_url_a_line() -> None:
    document = (
        "\ufeffhttps://site.test/a\r\nHTTP://Site.test/b\r\r\n\n# a comment\n"
        "  https://site.test/c d  \nhttps://site.test/e\t2024-05-17\t0.5\n"
        "/relative\nftp://site.test/f\nSome other stuff\nhttps://site.test/g"
    )
    assert locs(document) == [
        "https://site.test/a",
        "http://site.test/b",
        "https://site.test/c%20d",
        "https://site.test/e",
        "https://site.test/g",
    ]
    assert (end(document).kind, end(document).problem) == ("text", None)


def test_a_line_that_is_too_long_is_left_out_and_counted() -> None:
    document = f"https://site.test/{'x' * 300_000}\nhttps://site.test/a\n"
    assert locs(document) == ["https://site.test/a"]
    assert end(document).skipped == 1
