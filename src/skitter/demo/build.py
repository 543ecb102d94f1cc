"""Put the demo web together: which sites there are, how large, and under which names."""

from skitter.demo import (
    docs_site,
    ferry,
    gazette,
    library,
    maze,
    news,
    portal,
    shop,
    tides,
    traps,
)
from skitter.demo.oddities import exhibit
from skitter.demo.oddities.lab import lab_site
from skitter.demo.web import Site, Web

DEFAULT_PAGES = 300
SMALLEST = 200
"""The odd pages and the fixed ones are always there."""
SPECIAL = frozenset({gazette.NAME, tides.NAME, library.NAME, ferry.NAME, traps.NAME})
"""The sites that come on top: for sitemaps, for topics, for scripts, for traps."""
_FIXED_PAGES = 165
_PER_ARTICLE = 1.35
"""Pages of the news site for each article: lists, print versions, old addresses."""


def demo_web(
    *,
    seed: int = 1,
    pages: int = DEFAULT_PAGES,
    domain: str = "demo.test",
    with_traps: bool = False,
) -> Web:
    """Return the web for ``seed``; the same one every time.

    It has about ``pages`` pages on its ordinary sites; the special ones come on top and grow more
    slowly. The site of traps is always served, and linked only ``with_traps``; that of scripts is
    linked nowhere.
    """
    size = max(pages, SMALLEST)
    garden = maze.MazeSite(seed, 90 + size // 6)
    sites: dict[str, Site] = {
        portal.NAME: portal.portal_site(seed, with_traps=with_traps),
        **_ordinary(seed, size - _FIXED_PAGES),
        gazette.NAME: gazette.GazetteSite(seed, 30 + size // 10),
        tides.NAME: tides.tides_site(seed),
        library.NAME: library.LibrarySite(seed, 90 + size // 2),
        ferry.NAME: ferry.ferry_site(seed),
        traps.NAME: garden,
    }
    hosts = {name: f"{name}.{domain}" for name in sites}
    hosts[portal.PARTNER] = "www.partner.test"
    hosts[portal.NOWHERE] = "nowhere.invalid"
    return Web(sites=sites, hosts=hosts, home=portal.HOME, traps={traps.NAME: garden.trap_kind})


def _ordinary(seed: int, free: int) -> dict[str, Site]:
    return {
        news.NAME: news.NewsSite(seed, int(free * 0.45 / _PER_ARTICLE)),
        shop.NAME: shop.ShopSite(seed, int(free * 0.35 / _PER_ARTICLE)),
        docs_site.NAME: docs_site.DocsSite(seed, int(free * 0.20)),
        exhibit.NAME: lab_site(),
        portal.ARCHIVE: portal.archive_site(seed),
        portal.BUSY: portal.busy_site(seed),
        portal.PARTNER: portal.partner_site(seed),
    }
