"""Urlsets and indexes, as the protocol has them and as sites write them."""

import pytest
from sitemap_help import end, entries, locs, subs, urlset

from skitter.parse.sitemap.model import SitemapEntry


def test_a_urlset_gives_its_pages_with_what_it_says_of_them() -> None:
    document = urlset(
        "<loc>https://site.test/a</loc><lastmod>2024-05-17</lastmod>"
        "<changefreq>daily</changefreq><priority>0.8</priority>",
        "<loc>https://site.test/b</loc>",
    )
    assert entries(document) == [
        SitemapEntry("https://site.test/a", "2024-05-17", "daily", 0.8),
        SitemapEntry("https://site.test/b"),
    ]
    told = end(document)
    assert (told.kind, told.problem, told.urls, told.sitemaps) == ("urlset", None, 2, 0)


def test_an_index_gives_sitemaps_and_no_pages() -> None:
    document = (
        "<sitemapindex><sitemap><loc>https://site.test/1.xml</loc><lastmod>2024</lastmod></sitemap>"
        "<sitemap>\n<loc> 2.xml </loc></sitemap></sitemapindex>"
    )
    assert subs(document) == ["https://site.test/1.xml", "https://site.test/maps/2.xml"]
    assert entries(document) == []
    told = end(document)
    assert (told.kind, told.problem, told.urls, told.sitemaps) == ("index", None, 0, 2)


def test_an_index_that_points_to_itself_says_so() -> None:
    document = "<sitemapindex><sitemap><loc>sitemap.xml</loc></sitemap></sitemapindex>"
    assert subs(document) == ["https://site.test/maps/sitemap.xml"]


@pytest.mark.parametrize(
    "document",
    [
        '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        "<url><loc>https://site.test/a</loc></url></urlset>",
        '<urlset xmlns="http://www.google.com/schemas/sitemap/0.84">'
        "<url><loc>https://site.test/a</loc></url></urlset>",
        "<sm:urlset xmlns:sm='x'><sm:url><sm:loc>https://site.test/a</sm:loc></sm:url></sm:urlset>",
        "<sm:urlset><sm:url><loc>https://site.test/a</loc></sm:url></sm:urlset>",
        "<URLSET><URL><LOC>https://site.test/a</LOC></URL></URLSET>",
        "<urlset><Url><Loc>https://site.test/a</loc></url></urlset>",
        "<urlset ><url\n><loc lang='en'>https://site.test/a</loc\n></url ></urlset >",
        "<urlset><url id='a>b'><loc>https://site.test/a</loc></url></urlset>",
        "<urlset><url><lastmod></lastmod><loc>https://site.test/a</loc></url></urlset>",
        "<urlset><url><lastmod/><loc>https://site.test/a</loc></url></urlset>",
        "<urlset><url><loc>\n\thttps://site.test/a\u00a0\n</loc></url></urlset>",
        "<urlset><url><loc>https://site.\ntest/a</loc></url></urlset>",
        "<urlset><url><loc><![CDATA[https://site.test/a]]></loc></url></urlset>",
        "<urlset><url><loc>https://<![CDATA[site.test]]>/a</loc></url></urlset>",
        "<urlset><url><loc>https://site<!-- . -->.test/a</loc></url></urlset>",
        "<urlset><!-- <url><loc>/no</loc></url> --><url><loc>/a</loc></url></urlset>",
        "<urlset><?php <url>?><url><loc>https://site.test/a</loc></url></urlset>",
        "<urlset><url><loc>https://site.test&#47;&#x61;</loc></url></urlset>",
        "<urlset><url><loc>HTTPS://SITE.test:443/x/../a</loc></url></urlset>",
        "<urlset><url><loc>//site.test/a</loc></url></urlset>",
        "<urlset><url><loc>../a</loc></url></urlset>",
        "<?xml version='1.0'><urlset><url><loc>https://site.test/a</loc></url></urlset>",
        "\n \n<?xml version='1.0'?><urlset><url><loc>/a</loc></url></urlset>",
        "<!DOCTYPE urlset SYSTEM 'x.dtd'><urlset><url><loc>/a</loc></url></urlset>",
        "<?xml-stylesheet href='s.xsl'?><urlset><url><loc>/a</loc></url></urlset><!-- 3 ms -->",
        "<wrap><urlset><url><loc>/a</loc></url></urlset></wrap>",
        "Notice: in <b>map.php</b> line 3<br />\n<urlset><url><loc>/a</loc></url></urlset>",
        "<b>Notice</b>: line 3<br />\n<urlset><url><loc>/a</loc></url></urlset>",
        "<urlset><loc>https://site.test/a</loc></urlset>",
        "<urlset><url><loc>https://site.test/a</url></urlset>",
        "<urlset><url><loc>https://site.test/a</urlset>",
        "<url><loc>https://site.test/a</loc></url></urlset>",
    ],
)
def test_one_page_is_found_however_it_is_written(document: str) -> None:
    assert locs(document) == ["https://site.test/a"]
    assert (end(document).kind, end(document).problem) == ("urlset", None)


def test_an_ampersand_may_be_escaped_bare_or_in_a_section() -> None:
    document = urlset(
        "<loc>https://site.test/?a=1&amp;b=2</loc>",
        "<loc>https://site.test/?a=1&b=2&copy=3</loc>",
        "<loc><![CDATA[https://site.test/?a=1&b=2&amp;c]]></loc>",
        "<loc>https://site.test/?a=1&#38;b=2&#x26;c&apos;&lt;</loc>",
        "<loc>https://site.test/?a=&amp;amp;&eacute;&nosuch;&#0;&#xD800;&#99999999;</loc>",
    )
    assert locs(document) == [
        "https://site.test/?a=1&b=2",
        "https://site.test/?a=1&b=2&copy=3",
        "https://site.test/?a=1&b=2&amp;c",
        "https://site.test/?a=1&b=2&c%27%3C",
        "https://site.test/?a=&amp;%C3%A9&nosuch;%EF%BF%BD%EF%BF%BD%EF%BF%BD",
    ]


def test_what_images_and_videos_point_to_is_no_page() -> None:
    document = urlset(
        "<loc>/a</loc><image:image><image:loc>/a.jpg</image:loc>"
        "<image:caption>x</image:caption></image:image>"
        "<video:video><video:content_loc>/v.mp4</video:content_loc><loc>/no</loc></video:video>",
        "<image:image><image:loc>/b.jpg</image:loc></image:image><loc>/b</loc>"
        "<image:loc>/stray.jpg</image:loc>",
        "<image xmlns='http://www.google.com/schemas/sitemap-image/1.1'><loc>/c.jpg</loc></image>"
        "<loc>/c</loc><mobile:mobile/>",
    )
    assert locs(document) == [f"https://site.test/{name}" for name in "abc"]


def test_the_date_of_a_news_story_serves_where_there_is_no_lastmod() -> None:
    news = (
        "<news:news><news:publication><news:name>N</news:name></news:publication>"
        "<news:publication_date>2024-05-17</news:publication_date></news:news>"
    )
    video = "<video:video><video:publication_date>2001</video:publication_date></video:video>"
    document = urlset(
        f"<loc>/a</loc>{news}{video}", f"{news}<loc>/b</loc><lastmod>2024-06</lastmod>"
    )
    assert [entry.lastmod for entry in entries(document)] == ["2024-05-17", "2024-06"]


def test_translations_are_pages_of_their_own_and_given_once() -> None:
    links = "".join(
        f'<xhtml:link rel="alternate" hreflang="{code}" href="https://site.test/{code}"/>'
        for code in ("en", "de", "fr")
    )
    document = urlset(
        f"<loc>https://site.test/en</loc>{links}", f"<loc>https://site.test/de</loc>{links}"
    )
    assert locs(document) == [
        "https://site.test/en",
        "https://site.test/de",
        "https://site.test/fr",
        "https://site.test/de",
    ]


@pytest.mark.parametrize(
    "link",
    [
        "<xhtml:link rel='alternate' media='handheld' href='/m'/>",
        "<xhtml:link rel='alternate' hreflang='de'/>",
        "<xhtml:link hreflang='de' href='/de'/>",
        "<xhtml:link rel='alternate' hreflang='de' href=''/>",
        "<xhtml:link rel='alternate' hreflang='de' href='android-app://x/y'/>",
        '<xhtml:link rel="alternate" media="handheld" href="/m" />',
        '<xhtml:link rel="alternate" hreflang="de" href=""/>',
    ],
)
def test_a_link_that_is_no_translation_is_passed_over(link: str) -> None:
    document = urlset(f"<loc>/a</loc>{link}<lastmod>2024</lastmod>")
    assert entries(document) == [SitemapEntry("https://site.test/a", "2024")]
    assert end(document).skipped == 0


@pytest.mark.parametrize(
    "link",
    [
        "<xhtml:link rel='alternate' hreflang='de' href='/de'/>",
        "<xhtml:link href='/de' hreflang='de' rel='Alternate' />",
        '<xhtml:link rel="alternate" hreflang="de" href="/de" />',
        '<xhtml:link hreflang="de" href="/de" rel="alternate"/>',
        "<xhtml:link rel='alternate' hreflang='de' href='/de'></xhtml:link>",
        "<xhtml:link rel='alternate' hreflang='de' href='/de'>",
        "<link rel=alternate hreflang=de href=/de >",
    ],
)
@pytest.mark.parametrize("is_first", [True, False])
def test_a_translation_is_found_however_it_is_written(link: str, is_first: bool) -> None:
    loc = "<loc>/a</loc>"
    assert locs(urlset(f"{link}{loc}" if is_first else f"{loc}{link}")) == [
        "https://site.test/a",
        "https://site.test/de",
    ]


def test_a_second_loc_begins_another_record() -> None:
    document = urlset("<loc>/a</loc><lastmod>2024</lastmod><loc>/b</loc>")
    assert entries(document) == [
        SitemapEntry("https://site.test/a", "2024"),
        SitemapEntry("https://site.test/b"),
    ]


def test_an_element_that_is_never_closed_spoils_one_record_at_most() -> None:
    document = urlset(
        "<loc>/a</loc><image:image><image:loc>/x</image:loc><lastmod>2024</lastmod>",
        "<loc>/b</loc><lastmod>2024</lastmod>",
    )
    assert entries(document) == [
        SitemapEntry("https://site.test/a"),
        SitemapEntry("https://site.test/b", "2024"),
    ]


def test_records_without_an_end_are_told_apart_by_the_next_beginning() -> None:
    document = "<urlset><url><loc>/a<lastmod>2024</lastmod><url><loc>/b</loc></urlset>"
    assert entries(document) == [
        SitemapEntry("https://site.test/a", "2024"),
        SitemapEntry("https://site.test/b"),
    ]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("0.5", 0.5),
        (" 1.0 ", 1.0),
        ("0", 0.0),
        ("0,7", 0.7),
        ("-0.0", 0.0),
        ("1.1", None),
        ("-1", None),
        ("high", None),
        ("nan", None),
        ("inf", None),
        ("9" * 5000, None),
    ],
)
def test_a_priority_is_a_number_from_0_to_1_or_nothing(written: str, read: float | None) -> None:
    [entry] = entries(urlset(f"<loc>/a</loc><priority>{written}</priority>"))
    assert entry.priority == read


@pytest.mark.parametrize(
    ("written", "read"),
    [("Weekly", "weekly"), ("\nnever ", "never"), ("when we feel like it", None)],
)
def test_a_change_frequency_is_a_word_of_the_protocol_or_nothing(
    written: str, read: str | None
) -> None:
    [entry] = entries(urlset(f"<loc>/a</loc><changefreq>{written}</changefreq>"))
    assert entry.changefreq == read


def test_fields_may_come_in_any_order() -> None:
    document = urlset(
        "<loc>/a</loc><priority>0.1</priority><lastmod>2024</lastmod>",
        "<priority>0.1</priority><lastmod>2024</lastmod><loc>/b</loc>",
    )
    assert [(entry.priority, entry.lastmod) for entry in entries(document)] == [(0.1, "2024")] * 2


@pytest.mark.parametrize(
    "loc",
    ["ftp://site.test/a", "mailto:a@site.test", "http://", "https://[x/", "x" * 5000, "data:,x"],
)
def test_what_is_no_web_address_or_too_long_is_counted(loc: str) -> None:
    document = urlset(f"<loc>{loc}</loc>", f"<loc id='1'>{loc}</loc>", "<loc>/a</loc>")
    assert locs(document) == ["https://site.test/a"]
    assert end(document).skipped == 2


def test_other_hosts_are_not_judged_here() -> None:
    assert locs(urlset("<loc>http://other.test/a</loc>")) == ["http://other.test/a"]


@pytest.mark.parametrize("document", ["<urlset/>", "<urlset></urlset>", "<urlset>\n</urlset>"])
def test_an_empty_urlset_is_whole(document: str) -> None:
    assert (end(document).kind, end(document).problem) == ("urlset", None)


def test_two_urlsets_after_each_other_are_read() -> None:
    assert locs(urlset("<loc>/a</loc>") + urlset("<loc>/b</loc>")) == [
        "https://site.test/a",
        "https://site.test/b",
    ]
