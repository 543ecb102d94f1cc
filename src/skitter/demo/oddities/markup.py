"""Many spellings of one address, links outside <a>, equal pages, and untidy documents."""

from dataclasses import replace
from urllib.parse import quote

from skitter.demo.model import Answer, Link, LinkList, Page, Raw, Spelling
from skitter.demo.oddities.exhibit import Exhibit, at, link, specimen

_EXHIBITION = "/" + quote("展览/目录")
_SPELLINGS = {
    Spelling.PLAIN: "As it is",
    Spelling.ABSOLUTE: "In full",
    Spelling.RELATIVE: "From here",
    Spelling.SCHEMELESS: "Without a scheme",
    Spelling.FRAGMENT: "With a fragment",
    Spelling.QUESTION: "With an empty query",
    Spelling.TRACKED: "With tracking parameters",
    Spelling.DOTTED: "With dots in the path",
    Spelling.SHOUTED: "In capitals",
    Spelling.SPACED: "With spaces around it",
}
_ESCAPES = (Spelling.PLAIN, Spelling.LOWER_PERCENT, Spelling.UNESCAPED)


def spellings() -> Exhibit:
    """Return two pages with many addresses."""
    pages = (
        specimen("/spelling/one-page", "One page, many addresses"),
        specimen("/spelling/shop?colour=blue&size=7", "A page with a query of its own"),
        specimen(_EXHIBITION, "展览目录"),
    )
    links = [link("/spelling/one-page", text, how) for how, text in _SPELLINGS.items()]
    links += [link(_EXHIBITION, "展览目录", how) for how in _ESCAPES]
    query = "/spelling/shop?colour=blue&size=7"
    links += [link(query, "Blue, size 7", how) for how in (Spelling.PLAIN, Spelling.TRACKED)]
    return Exhibit("Spellings", pages, tuple(links))


def structures() -> Exhibit:
    """Return pages whose links hide outside <a>, and equal pages."""
    pages = (*_hidden_links(), *_twins(), *_untidy())
    links = (
        link("/refresh/start", "A page that refreshes to another"),
        link("/base/", "A page with a base"),
        link("/frames/", "A page of frames"),
        link("/iframe", "A page with a page inside"),
        link("/twin/first", "The first twin"),
        link("/twin/second", "The second twin"),
        link("/twin/third", "The third twin"),
        link("/untidy/empty", "Nothing at all"),
        link("/untidy/no-title", "No title"),
        link("/untidy/title", "A title over several lines"),
        link("/untidy/tags", "Tags in disorder"),
        link("/untidy/schemes", "Addresses that are not pages"),
    )
    return Exhibit("Structures", pages, links)


def _hidden_links() -> tuple[Page, ...]:
    refresh = replace(specimen("/refresh/start", "One moment, please"), refresh=at("/refresh/end"))
    under_base = link("/base/shelf/book", "Relative to the base", Spelling.RELATIVE)
    based = replace(specimen("/base/", "Based elsewhere", LinkList("Books", (under_base,))),
                    base="/base/shelf/")  # fmt: skip
    frames = tuple(Link(at(f"/frames/{side}"), side, tag="frame") for side in ("left", "right"))
    frameset = Raw(
        "<!DOCTYPE html>\n<html><head><title>Two frames</title></head>"
        '<frameset cols="50%,50%"><frame src="{0}"><frame src="{1}"></frameset></html>',
        frames,
    )
    inner = (Link(at("/iframe/inside"), "inside", tag="iframe"),)
    framed = specimen("/iframe", "A page with a window", Raw('<iframe src="{0}"></iframe>', inner))
    return (
        refresh,
        specimen("/refresh/end", "Reached by a refresh"),
        based,
        specimen("/base/shelf/book", "A book on the shelf"),
        Page(at=at("/frames/"), title="Two frames", blocks=(frameset,)),
        specimen("/frames/left", "The left frame"),
        specimen("/frames/right", "The right frame"),
        framed,
        specimen("/iframe/inside", "The page inside"),
    )


def _twins() -> tuple[Page, ...]:
    first = specimen("/twin/first", "Equal to the last byte")
    others = (at("/twin/second"), at("/twin/third"))
    return (first, *(replace(first, at=place, twin_of=first.at) for place in others))


def _untidy() -> tuple[Page, ...]:
    bare = specimen("/untidy/no-title", "")
    tags = Raw("<p><b>bold<i>both</b>italic</i><table><tr><td>cell<p><a href={0}>on</a></table>",
               (link("/untidy/behind-tags", "on"),))  # fmt: skip
    schemes = Raw(
        '<a href="mailto:harbour@demo.test">Mail</a> <a href="javascript:void(0)">Script</a> '
        '<a href="tel:+123">Call</a> <a href="data:text/html,hello">Data</a> '
        '<a href="http://[broken">Broken</a> <a href="">Here</a> <a href="#top">Top</a>'
    )
    return (
        Page(at=at("/untidy/empty"), answer=Answer(body=b"")),
        replace(bare, title=None),
        specimen("/untidy/title", "Fish & chips\n    <and>\n  other \t stories"),
        specimen("/untidy/tags", "Tags in disorder", tags),
        specimen("/untidy/behind-tags", "Behind untidy tags"),
        replace(specimen("/untidy/schemes", "Addresses of no page", schemes), uncounted=True),
    )
