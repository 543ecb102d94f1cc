"""Turn the facts of a page into HTML, and HTML into the bytes of the page's encoding."""

from html import escape

from skitter.demo.model import Block, Link, LinkList, Markup, Page, Prose, Raw, Table
from skitter.demo.spelling import href
from skitter.demo.web import Web

_CODECS = {"shift_jis": "cp932", "euc-kr": "cp949", "utf-16le": "utf-16-le"}
_STYLE = (
    "body{font:17px/1.55 Georgia,serif;max-width:46rem;margin:2rem auto;padding:0 1rem;"
    "color:#222}nav a{margin-right:1rem}h1{line-height:1.2}a{color:#0b5394}"
    "table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:.3rem .6rem}"
)
_HEAVY_STYLE = "\n".join(
    f".box-{n}{{margin:{n % 9}px {n % 4}px;padding:{n % 6}px;color:#{n * 4099 % 4096:03x}}}"
    for n in range(50)
)
_HEAVY_SCRIPT = "(function(w){var items=[];" + "".join(
    f"items.push({{n:{n},go:'/track/{n}?from='+{n},tpl:'<a class=\"x\" hr'+'ef>'}});"
    for n in range(24)
)
_HEAVY_DRESS = (
    f"<style>\n{_HEAVY_STYLE}\n</style>\n<script>{_HEAVY_SCRIPT}w.items=items;}})(window);</script>"
    '\n<link rel="stylesheet" href="/static/site.css">'
)
_DRESS = f"<style>{_STYLE}</style>"


def document(web: Web, page: Page) -> str:
    """Return the whole HTML document of ``page``."""
    body = "\n".join(_block(web, page, block) for block in page.blocks)
    if body.startswith("<!DOCTYPE"):
        return body
    heading = f"<h1>{escape(page.title)}</h1>" if page.title else ""
    return (
        f'<!DOCTYPE html>\n<html lang="{page.lang}">\n<head>\n{_head(web, page)}\n</head>\n'
        f"<body>\n{_nav(web, page)}<main>\n{heading}\n{body}\n</main>\n"
        f"<footer><p>{escape(web.host_key(page.at.site))}</p></footer>\n</body>\n</html>\n"
    )


def encoded(web: Web, page: Page) -> bytes:
    """Return the document in the page's encoding, with its byte order mark if it has one."""
    charset = page.charset
    text = ("\ufeff" if charset.bom else "") + document(web, page)
    return text.encode(_CODECS.get(charset.name, charset.name), "xmlcharrefreplace")


def _head(web: Web, page: Page) -> str:
    parts = [f'<meta charset="{page.charset.meta}">'] if page.charset.meta else []
    if page.title is not None:
        parts.append(f"<title>{escape(page.title)}</title>")
    if page.summary:
        parts.append(_meta("description", page.summary))
    if page.robots_meta:
        parts.append(_meta("robots", page.robots_meta))
    if page.base is not None:
        parts.append(f'<base href="{escape(page.base)}">')
    if page.canonical is not None:
        parts.append(f'<link rel="canonical" href="{escape(web.url(page.canonical))}">')
    if page.refresh is not None:
        target = href(web, page, Link(page.refresh, ""))
        parts.append(f'<meta http-equiv="refresh" content="0; url={escape(target)}">')
    parts.append('<meta name="viewport" content="width=device-width, initial-scale=1">')
    parts.append(_HEAVY_DRESS if page.heavy else _DRESS)
    return "\n".join(parts)


def _meta(name: str, content: str) -> str:
    return f'<meta name="{name}" content="{escape(content)}">'


def _nav(web: Web, page: Page) -> str:
    if not page.nav:
        return ""
    if not page.heavy:
        return f"<nav>{' '.join(_anchor(web, page, link) for link in page.nav)}</nav>\n"
    items = "".join(
        f'<li class="nav-item box-{n}">{_anchor(web, page, link)}</li>'
        for n, link in enumerate(page.nav)
    )
    return f'<header id="top"><nav class="main"><ul>{items}</ul></nav></header>\n'


def _block(web: Web, page: Page, block: Block) -> str:
    match block:
        case Prose(parts=parts):
            return "<p>" + "".join([_inline(web, page, part) for part in parts]) + "</p>"
        case LinkList(heading=heading, links=links):
            items = "\n".join(f"<li>{_anchor(web, page, link)}</li>" for link in links)
            return f"<h2>{escape(heading)}</h2>\n<ul>\n{items}\n</ul>"
        case Table(rows=rows):
            return _table(rows)
        case Raw(html=html, links=links):
            return html.format(*(escape(href(web, page, link)) for link in links))


def _inline(web: Web, page: Page, part: str | Link) -> str:
    if isinstance(part, Link):
        return _anchor(web, page, part)
    return part if isinstance(part, Markup) else escape(part)


def _anchor(web: Web, page: Page, link: Link) -> str:
    rel = f' rel="{link.rel}"' if link.rel else ""
    return f'<a href="{escape(href(web, page, link))}"{rel}>{escape(link.text)}</a>'


def _table(rows: tuple[tuple[str, ...], ...]) -> str:
    head, *body = rows
    lines = ["<tr>" + "".join(f"<th>{escape(cell)}</th>" for cell in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in body]
    return "<table>" + "".join(lines) + "</table>"
