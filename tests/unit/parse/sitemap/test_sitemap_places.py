"""Addresses of sitemaps."""

import pytest

from skitter.parse.sitemap.places import looks_like_sitemap, well_known


def test_the_usual_places_are_few_and_the_commonest_comes_first() -> None:
    places = well_known("https://site.test:8443")
    assert places[0] == "https://site.test:8443/sitemap.xml"
    assert len(places) <= 4
    assert all(looks_like_sitemap(place) for place in places)
    assert well_known("https://site.test/") == well_known("https://site.test")


@pytest.mark.parametrize(
    "url",
    [
        "https://site.test/sitemap.xml",
        "https://site.test/SiteMap.XML?v=2#top",
        "https://site.test/sitemap.xml.gz",
        "https://site.test/sitemap-1.gz",
        "https://site.test/maps/sitemap_news.txt",
        "https://site.test/blog/feed",
        "https://site.test/blog/feed/",
        "https://site.test/rss",
        "https://site.test/index.rss",
        "https://site.test/news.atom",
        "https://site.test/index.rdf",
        "https://site.test/?feed=rss2",
    ],
)
def test_a_sitemap_is_known_by_its_address(url: str) -> None:
    assert looks_like_sitemap(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://site.test/",
        "https://rss",
        "https://feed/",
        "https://site.xml/",
        "https://site.test/sitemap",
        "https://site.test/sitemap.html",
        "https://site.test/feedback",
        "https://site.test/feed/story",
        "https://site.test/robots.txt",
        "https://site.test/page?file=a.xml",
        "https://site.test/archive.tar.gz",
    ],
)
def test_a_page_is_not_taken_for_a_sitemap(url: str) -> None:
    assert not looks_like_sitemap(url)
