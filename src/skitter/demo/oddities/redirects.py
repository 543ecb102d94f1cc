"""Redirects: one hop, chains, loops, an endless one, to other hosts, to nowhere."""

from skitter.demo import docs_site, portal
from skitter.demo.model import Link, LinkList, Page, Target
from skitter.demo.oddities.exhibit import HOME, Exhibit, at, link, specimen
from skitter.demo.pages import moved

ENDLESS = 25
"""Hops of the long chain, more than any crawler follows."""
FORBIDDEN_GOAL = "/private/reached-by-redirect"
_CHAIN = ((301, "/redirect/chain-2"), (302, "/redirect/chain-3"), (307, "/redirect/chain-4"),
          (308, "/redirect/chain-end"))  # fmt: skip


def redirects() -> Exhibit:
    """Return the group."""
    pages = (*_honest(), *_circular(), *_abroad(), *_broken())
    links = (
        link("/redirect/one", "A redirect to a page nothing else links to"),
        link("/redirect/chain-1", "Four hops"),
        link("/redirect/relative", "A relative Location"),
        link("/redirect/fragment", "A Location with a fragment"),
        link("/redirect/known", "Back to the page you came from"),
        link("/redirect/popular", "To a page that is linked as well"),
        link("/redirect/popular-end", "The page that is linked as well"),
        link("/redirect/loop-a", "Two pages that send you to each other"),
        link("/redirect/self", "A page that sends you to itself"),
        link("/redirect/endless-0", f"{ENDLESS} hops"),
        link("/redirect/docs", "To another host"),
        link("/redirect/outside", "To another domain"),
        link("/redirect/private", "Into the closed area"),
        link("/redirect/no-location", "A redirect that does not say where to"),
        link("/redirect/gopher", "To a scheme of the past"),
    )
    return Exhibit("Redirects", pages, links)


def _honest() -> tuple[Page, ...]:
    chain = [
        moved(at(f"/redirect/chain-{n}"), at(goal), status)
        for n, (status, goal) in enumerate(_CHAIN, 1)
    ]
    return (
        moved(at("/redirect/one"), at("/redirect/one-end")),
        specimen("/redirect/one-end", "Reached by one redirect"),
        *chain,
        specimen(
            "/redirect/chain-end", "Reached by four redirects", _next("/redirect/beyond-chain")
        ),
        specimen("/redirect/beyond-chain", "Behind the chain"),
        moved(at("/redirect/relative"), at("/redirect/relative-end"), written="relative-end"),
        specimen("/redirect/relative-end", "Reached by a relative redirect"),
        moved(
            at("/redirect/fragment"),
            at("/redirect/fragment-end"),
            written="/redirect/fragment-end#part-two",
        ),
        specimen("/redirect/fragment-end", "Reached with a fragment"),
        moved(at("/redirect/known"), HOME, 303),
        moved(at("/redirect/popular"), at("/redirect/popular-end"), 302),
        specimen("/redirect/popular-end", "Reached in two ways"),
    )


def _circular() -> tuple[Page, ...]:
    endless = [
        moved(at(f"/redirect/endless-{n}"), at(f"/redirect/endless-{n + 1}"), 302)
        for n in range(ENDLESS)
    ]
    return (
        moved(at("/redirect/loop-a"), at("/redirect/loop-b"), 302),
        moved(at("/redirect/loop-b"), at("/redirect/loop-a"), 302),
        moved(at("/redirect/self"), at("/redirect/self")),
        *endless,
        specimen(f"/redirect/endless-{ENDLESS}", "The end of patience"),
    )


def _abroad() -> tuple[Page, ...]:
    return (
        moved(at("/redirect/docs"), Target(docs_site.NAME, docs_site.HIDDEN_ANNEX)),
        moved(at("/redirect/outside"), Target(portal.PARTNER, "/landing")),
        moved(at("/redirect/private"), at(FORBIDDEN_GOAL)),
        specimen(FORBIDDEN_GOAL, "Behind a closed door"),
    )


def _broken() -> tuple[Page, ...]:
    return (
        moved(at("/redirect/no-location"), None, 302),
        moved(at("/redirect/gopher"), None, written="gopher://nowhere.invalid/"),
    )


def _next(path: str) -> LinkList:
    return LinkList("Go on", (Link(at(path), "The next page"),))
