"""How a link's address is written: every spelling leads back to the same canonical URL."""

import posixpath
import re
from collections.abc import Callable
from urllib.parse import unquote_to_bytes

from skitter.demo.model import Link, Page, Spelling
from skitter.demo.web import Web

TRACKING = "utm_source=demo&utm_medium=link"
_ESCAPES = re.compile("(?:%[0-9A-F]{2})+")


def href(web: Web, page: Page, link: Link) -> str:
    """Return the address of ``link`` as ``page`` writes it, not yet escaped for HTML."""
    same_site = link.to.site == page.at.site
    path = link.to.path
    origin = "" if same_site else f"http://{web.host_key(link.to.site)}"
    if link.spelling is Spelling.PLAIN:
        return origin + path
    return _SPELLERS[link.spelling](web, page, link, origin + path)


def _relative(web: Web, page: Page, link: Link, plain: str) -> str:
    if link.to.site != page.at.site:
        return plain
    here = (page.base or page.at.path).partition("?")[0]
    path, mark, query = link.to.path.partition("?")
    folder, name = posixpath.split(path)
    written = posixpath.join(posixpath.relpath(folder, posixpath.dirname(here)), name)
    return written + mark + query


def _dotted(web: Web, page: Page, link: Link, plain: str) -> str:
    head = plain.removesuffix(link.to.path)
    return f"{head}/somewhere/./..{link.to.path}"


def _tracked(web: Web, page: Page, link: Link, plain: str) -> str:
    return plain + ("&" if "?" in plain else "?") + TRACKING


def _question(web: Web, page: Page, link: Link, plain: str) -> str:
    return plain if "?" in plain else plain + "?"


def _shouted(web: Web, page: Page, link: Link, plain: str) -> str:
    return f"HTTP://{web.host_key(link.to.site).upper()}{link.to.path}"


def _unescaped(web: Web, page: Page, link: Link, plain: str) -> str:
    return _ESCAPES.sub(lambda run: unquote_to_bytes(run.group()).decode(), plain)


_SPELLERS: dict[Spelling, Callable[[Web, Page, Link, str], str]] = {
    Spelling.ABSOLUTE: lambda web, page, link, plain: web.url(link.to),
    Spelling.SCHEMELESS: lambda web, page, link, plain: web.url(link.to).removeprefix("http:"),
    Spelling.FRAGMENT: lambda web, page, link, plain: plain + "#more",
    Spelling.LOWER_PERCENT: lambda web, page, link, plain: _ESCAPES.sub(
        lambda escape: escape.group().lower(), plain
    ),
    Spelling.UNESCAPED: _unescaped,
    Spelling.SPACED: lambda web, page, link, plain: f"\n  {plain} ",
    Spelling.RELATIVE: _relative,
    Spelling.DOTTED: _dotted,
    Spelling.TRACKED: _tracked,
    Spelling.QUESTION: _question,
    Spelling.SHOUTED: _shouted,
}
