"""Made-up pages, and what a reader would call their article."""

from skitter.parse.article.extract import extract_article
from skitter.parse.article.kind import judge_class
from skitter.parse.article.model import Article, Judgement
from skitter.parse.document import parse_document

URL = "https://news.test/town/bridge-reopens-after-nine-months"
NOW = 1_790_000_000.0
"""A day in September 2026."""

PARAGRAPHS = (
    "The old iron bridge over the Lorn reopened on Tuesday morning, nine months after a barge had "
    "struck its second pier and left the town with a detour of eleven miles.",
    "About two hundred people walked across before the first cars were let through, many of them "
    "carrying photographs of the flood that had carried away the wooden bridge before it.",
    "Engineers replaced forty tons of steel, and found along the way that the pier had been "
    "standing on oak piles from an even older crossing.",
    "The council expects the toll to cover the repair within six years, provided that traffic "
    "returns to what it was before the accident.",
)
CHINESE = (
    "河对岸的老铁桥周二上午重新开放，九个月前一艘驳船撞上了第二个桥墩，全城居民不得不绕行十八公里。",
    "大约两百人在汽车通行之前步行过桥，其中许多人带着当年洪水冲走木桥的老照片，站在桥中央合影留念。",
    "工程师更换了四十吨钢材，并在施工中发现桥墩立在一座更古老的渡口留下的橡木桩上。",
)
NAV = "".join(f"<li><a href=/s{n}>Section {n}</a></li>" for n in range(12))
RELATED = "".join(
    f"<li><a href=/r{n}>Another story about the river, part {n}</a></li>" for n in range(6)
)


def paragraphs(texts: tuple[str, ...] = PARAGRAPHS) -> str:
    return "".join(f"<p>{text}</p>\n" for text in texts)


def page(
    body: str, head: str = "<title>Bridge reopens | News Test</title>", lang: str = "en"
) -> str:
    return f'<!doctype html><html lang="{lang}"><head>{head}</head><body>{body}</body></html>'


def news_page(inner: str, head: str = "<title>Bridge reopens | News Test</title>") -> str:
    """Return a page with everything that stands around an article."""
    return page(
        f"<header><nav><ul>{NAV}</ul></nav></header>"
        '<div class="cookie-banner"><p>We use cookies to give you the best experience on our site, '
        "and by staying here you agree to our policy, which you can read when you like.</p></div>"
        f'<div id="main"><h1>Bridge reopens</h1>{inner}</div>'
        f'<div class="related"><h3>Related stories</h3><ul>{RELATED}</ul></div>'
        '<div id="comments"><h3>3 comments</h3><p>I was there with my grandmother, who remembers '
        "the flood very well, and she says that the old one was much more beautiful.</p></div>"
        "<footer><p>Copyright News Test. All rights reserved by the people who wrote this.</p>"
        "</footer>",
        head,
    )


def article_of(html: str, url: str = URL) -> Article:
    return extract_article(parse_document(html), url, now=NOW)


def judged(html: str, url: str = URL) -> Judgement:
    return judge_class(parse_document(html), url)
