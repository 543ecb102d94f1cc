"""Pages under rules: closed by robots.txt, marked noindex or nofollow, linked with nofollow."""

from dataclasses import replace

from skitter.demo.model import LinkList, Page
from skitter.demo.oddities.exhibit import Exhibit, link, specimen
from skitter.demo.web import Robots

ROBOTS = Robots(
    disallow=("/private/", "/*.secret$"),
    allow=("/private/open/",),
    bom=True,
    extra="# Others have rules of their own.\nUser-agent: badbot\nUser-agent: rude\nDisallow: /",
)


def rules() -> Exhibit:
    """Return the group."""
    pages = (*_closed(), *_marked())
    links = (
        link("/private/", "A closed area"),
        link("/private/diary", "A diary"),
        link("/private/open/hours", "Opening hours, open to all"),
        link("/letters/one.secret", "Sealed by a wildcard"),
        link("/letters/one.secret.html", "Not sealed after all"),
        link("/rules/noindex", "Marked noindex"),
        link("/rules/nofollow", "Marked nofollow"),
        link("/rules/none", "Marked none"),
        link("/rules/header-noindex", "Noindex in the header"),
        link("/rules/header-nofollow", "Nofollow in the header"),
        link("/rules/header-other", "Noindex for another agent"),
        link("/rules/behind-rel", "Linked with nofollow", rel="nofollow"),
        link("/rules/behind-ugc", "Linked by a visitor", rel="ugc nofollow"),
    )
    return Exhibit("Rules", pages, links)


def _closed() -> tuple[Page, ...]:
    deeper = LinkList("Deeper", (link("/private/cellar", "The cellar"),))
    leak = LinkList("Out again", (link("/rules/behind-private", "Only linked from in here"),))
    return (
        specimen("/private/", "Closed", deeper),
        specimen("/private/diary", "Diary", leak),
        specimen("/private/cellar", "Cellar"),
        specimen("/private/open/hours", "Opening hours"),
        specimen("/letters/one.secret", "A sealed letter"),
        specimen("/letters/one.secret.html", "A letter about a sealed letter"),
        specimen("/rules/behind-private", "Reached through a closed area"),
    )


def _marked() -> tuple[Page, ...]:
    on = LinkList("Go on", (link("/rules/behind-noindex", "To be found all the same"),))
    off = LinkList("Go on", (link("/rules/behind-nofollow", "Not to be found from here"),))
    none = LinkList("Go on", (link("/rules/behind-none", "Not to be found from here"),))
    header = LinkList("Go on", (link("/rules/behind-header", "Not to be found from here"),))
    return (
        specimen("/rules/noindex", "Do not keep", on, robots_meta="noindex"),
        specimen("/rules/behind-noindex", "Behind noindex"),
        specimen("/rules/nofollow", "Do not follow", off, robots_meta="NoFollow"),
        specimen("/rules/behind-nofollow", "Behind nofollow"),
        specimen("/rules/none", "Neither keep nor follow", none, robots_meta="none"),
        specimen("/rules/behind-none", "Behind none"),
        _headed("/rules/header-noindex", "Do not keep, says the header", "noindex"),
        _headed("/rules/header-nofollow", "Do not follow, says the header", "nofollow", header),
        specimen("/rules/behind-header", "Behind a header"),
        _headed("/rules/header-other", "Other agents may not keep", "otherbot: noindex"),
        specimen("/rules/behind-rel", "Behind rel=nofollow"),
        specimen("/rules/behind-ugc", "Behind rel=ugc"),
    )


def _headed(path: str, title: str, header: str, *blocks: LinkList) -> Page:
    return replace(specimen(path, title, *blocks), robots_header=header)
