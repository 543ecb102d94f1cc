"""The sites around the three large ones: a portal, an archive, a busy office, and a stranger."""

from skitter.demo import docs_site, gazette, library, news, shop, tides, traps
from skitter.demo.model import Answer, Delivery, Link, LinkList, Page, Prose, Raw, Spelling, Target
from skitter.demo.pages import FixedSite, link_row
from skitter.demo.web import Robots
from skitter.demo.words import dice, paragraph

NAME = "www"
ARCHIVE = "archive"
BUSY = "busy"
PARTNER = "partner"
NOWHERE = "nowhere"
"""A host no name server knows."""
YEARS = (1987, 1991, 1996, 1998, 2003)
HOME = Target(NAME, "/")
_CHINESE_TEXT = (
    "这里是一个为测试网络爬虫而建的小型网络。网站、新闻和商品都是虚构的，"
    "但重定向、编码、限速和错误都是真实的。欢迎从任何一个站点开始。"
)


def portal_site(seed: int, *, with_traps: bool = False) -> FixedSite:
    """Return the site everything is reachable from, the site of traps only if asked for."""
    sites: tuple[Link, ...] = (
        Link(Target(news.NAME, "/"), "The Harbour Courier: news"),
        Link(Target(shop.NAME, "/"), "Dry Dock: shop", Spelling.SHOUTED),
        Link(Target(docs_site.NAME, "/"), "Tidewater: documentation", Spelling.SCHEMELESS),
        Link(Target("lab", "/"), "The cabinet of odd pages"),
        Link(Target(ARCHIVE, "/"), "The archive, which asks for patience"),
        Link(Target(BUSY, "/"), "The harbour office, which is always busy"),
        Link(Target(gazette.NAME, "/"), "The Harbour Gazette: official notices"),
        Link(Target(tides.NAME, "/"), "Tide tables"),
        Link(Target(library.NAME, "/"), "The harbour library"),
    )
    if with_traps:
        sites += (Link(Target(traps.NAME, "/"), "The hedge garden, which is larger than it looks"),)
    outside = (
        Link(Target(PARTNER, "/"), "Our partner"),
        Link(Target(NOWHERE, "/"), "A friend who moved away"),
    )
    text = Prose((paragraph(dice(seed, NAME), sentences=3),))
    about = link_row(NAME, {"/about": "About", "/zh/": "中文", "/map": "Map"})
    home = Page(
        at=HOME,
        title="Demo Harbour",
        summary="A small web with known contents.",
        nav=about,
        blocks=(text, LinkList("Sites", sites), LinkList("Elsewhere", outside)),
    )
    return FixedSite([home, _about(seed), _chinese(), _map()], Robots(missing=True))


def _about(seed: int) -> Page:
    text = Prose((paragraph(dice(seed, NAME, "about")), " Back to the ", Link(HOME, "start"), "."))
    return Page(at=Target(NAME, "/about"), title="About Demo Harbour", blocks=(text,))


def _chinese() -> Page:
    text = Prose((_CHINESE_TEXT, Link(HOME, "首页", Spelling.RELATIVE)))
    return Page(at=Target(NAME, "/zh/"), title="演示港湾", lang="zh-CN", blocks=(text,))


def _map() -> Page:
    areas = tuple(
        Link(Target(site, "/"), site, tag="area") for site in (news.NAME, shop.NAME, ARCHIVE)
    )
    html = (
        '<img alt="harbour" usemap="#harbour" src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">'
        '<map name="harbour"><area shape="rect" coords="0,0,10,10" href="{0}" alt="news">'
        '<area shape="rect" coords="10,0,20,10" href="{1}" alt="shop">'
        '<area shape="default" href="{2}" alt="archive"></map>'
    )
    return Page(at=Target(NAME, "/map"), title="Map of the harbour", blocks=(Raw(html, areas),))


def archive_site(seed: int) -> FixedSite:
    """Return a site whose robots.txt asks for a pause between requests."""
    years = tuple(Link(Target(ARCHIVE, f"/{year}/"), f"The year {year}") for year in YEARS)
    pages = [
        Page(
            at=Target(ARCHIVE, "/"),
            title="The archive",
            blocks=(
                Prose((paragraph(dice(seed, ARCHIVE)),)),
                LinkList("Years", years),
                LinkList("Home", (Link(HOME, "Demo Harbour"),)),
            ),
        )
    ]
    pages += [
        Page(
            at=Target(ARCHIVE, f"/{year}/"),
            title=f"Ships that called in {year}",
            blocks=(Prose((paragraph(dice(seed, ARCHIVE, year), sentences=8),)),),
        )
        for year in YEARS
    ]
    return FixedSite(pages, Robots(crawl_delay_s=0.4))


_BUSY_PAGES = {
    "/slow": ("Worth the wait", Answer(wait_s=1.2)),
    "/trickle": ("One spoonful at a time", Answer(delivery=Delivery.TRICKLE)),
    "/crowded": ("Too many at the counter", Answer(first=(429,), retry_after_s=1)),
    "/lunch": ("Closed for a moment", Answer(first=(503,), retry_after_s=1)),
}


def busy_site(seed: int) -> FixedSite:
    """Return a site that is slow and sends visitors away for a while.

    It is a host of its own because a polite crawler lets the whole host rest.
    """
    links = tuple(Link(Target(BUSY, path), title) for path, (title, _) in _BUSY_PAGES.items())
    home = Page(
        at=Target(BUSY, "/"),
        title="The harbour office",
        blocks=(Prose((paragraph(dice(seed, BUSY)),)), LinkList("Counters", links)),
    )
    pages = [
        Page(
            at=Target(BUSY, path),
            title=title,
            answer=answer,
            blocks=(Prose((paragraph(dice(seed, BUSY, path), sentences=8),)),),
        )
        for path, (title, answer) in _BUSY_PAGES.items()
    ]
    return FixedSite([home, *pages], Robots())


def partner_site(seed: int) -> FixedSite:
    """Return a site of another domain: real pages, outside the scope of a crawl of this one."""
    offers = link_row(PARTNER, {"/offers": "Offers"})
    pages = [
        Page(
            at=Target(PARTNER, "/"),
            title="Partner & Sons",
            blocks=(Prose((paragraph(dice(seed, PARTNER)),)), LinkList("See", offers)),
        ),
        Page(
            at=Target(PARTNER, "/offers"),
            title="Offers",
            blocks=(LinkList("Back", (Link(HOME, "Demo Harbour"),)),),
        ),
        Page(
            at=Target(PARTNER, "/landing"),
            title="Welcome from afar",
            blocks=(Prose((paragraph(dice(seed, PARTNER, "landing")),)),),
        ),
    ]
    return FixedSite(pages, Robots(missing=True))
