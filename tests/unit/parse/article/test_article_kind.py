"""Which pages have contents of their own and which only lead to others."""

import re

import pytest
from article_pages import NAV, PARAGRAPHS, RELATED, judged, news_page, page, paragraphs

from skitter.demo.build import demo_web
from skitter.demo.html import encoded
from skitter.demo.model import LinkList, Page, Prose
from skitter.demo.truth import ground_truth
from skitter.parse.article.kind import judge_class
from skitter.parse.document import parse_document
from skitter.parse.encoding import read_text
from skitter.parse.media import read_content_type

TEASERS = "".join(
    f"<div class=item><h2><a href=/story-{n}>A story about the river</a></h2><p>{text}</p></div>"
    for n, text in enumerate(PARAGRAPHS * 3)
)


def test_an_article_is_data_and_a_list_of_links_is_nav() -> None:
    assert judged(news_page(f"<div>{paragraphs()}</div>")).page_class == "data"
    assert judged(page(f"<ul>{NAV}</ul><ul>{RELATED}</ul>")).page_class == "nav"


def test_teasers_are_no_article_however_much_text_they_are() -> None:
    found = judged(page(f"<nav>{NAV}</nav><main>{TEASERS}</main>"), "https://news.test/town/")
    assert found.page_class == "nav"
    assert found.why == "12 texts of about the same length, each by itself"


def test_a_home_page_is_nav_unless_it_is_all_text() -> None:
    html = page(f"<nav>{NAV}</nav><div>{paragraphs(PARAGRAPHS[:3])}</div>")
    assert judged(html, "https://news.test/").page_class == "nav"
    assert judged(html, "https://news.test/about-us").page_class == "data"
    assert judged(page(paragraphs(PARAGRAPHS * 3)), "https://news.test/").page_class == "data"


def test_what_a_page_says_of_itself_counts() -> None:
    short = f"<nav>{NAV}</nav><div><p>{PARAGRAPHS[0]}</p></div><div>{RELATED}</div>"
    assert judged(page(short), "https://news.test/a").page_class == "nav"
    article = '<meta property="og:type" content="article">'
    stated = '<script type="application/ld+json">{"@type": "NewsArticle"}</script>'
    assert judged(page(short, article + stated), "https://news.test/a").page_class == "data"


def test_text_of_comments_and_notices_is_not_the_pages_own() -> None:
    notice = f"<div class=cookie-notice>{paragraphs()}</div>"
    own = (
        "<div><p>A short introduction to what there is on this page, for all of you, written with "
    )
    own += "care by the people who look after these lists of stories, and who like them.</p></div>"
    html = page(f"<ul>{NAV * 3}</ul><ul>{RELATED * 2}</ul>{own}{notice}")
    assert judged(html, "https://news.test/town/").page_class == "nav"


def test_confidence_grows_with_the_evidence() -> None:
    clear = judged(news_page(f"<div>{paragraphs(PARAGRAPHS * 3)}</div>"))
    faint = judged(
        page(f"<nav>{NAV}</nav><p>{PARAGRAPHS[0]}{PARAGRAPHS[1]}</p>"), "https://a.test/x"
    )
    assert 0.5 <= faint.confidence < clear.confidence <= 1
    assert "characters" in clear.why


def test_a_page_without_an_address_is_not_taken_for_a_home_page() -> None:
    html = page(f"<nav>{NAV}</nav><div>{paragraphs(PARAGRAPHS[:3])}</div>")
    assert judged(html, "").page_class == "data"


@pytest.mark.parametrize("url", ["", "no url", "http://[", "https://news.test"])
def test_any_address_is_judged(url: str) -> None:
    assert judged(page(f"<ul>{NAV}</ul>"), url).page_class == "nav"


def kind_of(asked: Page) -> str | None:
    """Return what the maker of the demo web meant a page to be; None for neither."""
    links = [len(block.links) for block in asked.blocks if isinstance(block, LinkList)]
    prose = [block for block in asked.blocks if isinstance(block, Prose)]
    chars = sum(len(part) for block in prose for part in block.parts if isinstance(part, str))
    if asked.at.path == "/" or (not chars and any(links)):
        return "nav"
    return "data" if chars > 300 and max(links, default=0) < 8 else None


def test_pages_of_the_demo_web_are_told_apart() -> None:
    web = demo_web(pages=300).at_port(8000)
    right, wrong = 0, list[str]()
    for url in sorted(ground_truth(web).pages):
        target = web.target_of(url)
        assert target is not None
        asked = web.page(target)
        wanted = kind_of(asked)
        if wanted is None or asked.answer.media_type != "text/html" or asked.answer.body:
            continue
        _, text = read_text(encoded(web, asked), read_content_type("text/html"))
        if judge_class(parse_document(text), re.sub(r":8000", "", url)).page_class == wanted:
            right += 1
        else:
            wrong.append(url)
    assert right > 250
    assert len(wrong) <= 0.02 * right, wrong
