"""Put the demo web together: which sites there are, how large, and under which names."""

from skitter.demo import docs_site, news, portal, shop
from skitter.demo.oddities import exhibit
from skitter.demo.oddities.lab import lab_site
from skitter.demo.web import Site, Web

DEFAULT_PAGES = 300
SMALLEST = 200
"""The odd pages and the fixed ones are always there."""
_FIXED_PAGES = 165
_PER_ARTICLE = 1.35
"""Pages of the news site for each article: lists, print versions, old addresses."""


def demo_web(*, seed: int = 1, pages: int = DEFAULT_PAGES, domain: str = "demo.test") -> Web:
    """Return the web of about ``pages`` pages for ``seed``; the same one every time."""
    free = max(pages, SMALLEST) - _FIXED_PAGES
    sites: dict[str, Site] = {
        portal.NAME: portal.portal_site(seed),
        news.NAME: news.NewsSite(seed, int(free * 0.45 / _PER_ARTICLE)),
        shop.NAME: shop.ShopSite(seed, int(free * 0.35 / _PER_ARTICLE)),
        docs_site.NAME: docs_site.DocsSite(seed, int(free * 0.20)),
        exhibit.NAME: lab_site(),
        portal.ARCHIVE: portal.archive_site(seed),
        portal.BUSY: portal.busy_site(seed),
        portal.PARTNER: portal.partner_site(seed),
    }
    hosts = {name: f"{name}.{domain}" for name in sites}
    hosts[portal.PARTNER] = "www.partner.test"
    hosts[portal.NOWHERE] = "nowhere.invalid"
    return Web(sites=sites, hosts=hosts, home=portal.HOME)
