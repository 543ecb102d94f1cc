"""``skitter probe article``: the article of a page, and whether it is one."""

from skitter.cli.probes.links import read_html
from skitter.errors import ConfigError
from skitter.parse.article.extract import extract_article
from skitter.parse.article.kind import judge_class
from skitter.parse.document import parse_document
from skitter.parse.encoding import read_text
from skitter.parse.media import read_content_type


def answer(question: dict[str, object]) -> dict[str, object]:
    """Answer ``{"html" | "path", "url"}``; raises ``ConfigError`` naming a bad field."""
    url = question.get("url")
    if not isinstance(url, str | None):
        raise ConfigError(f"url: {url!r}; wanted a string or null")
    html = read_html(question)
    if isinstance(html, bytes):
        _, html = read_text(html, read_content_type("text/html"))
    document = parse_document(html)
    article = extract_article(document, url or "")
    return {
        "title": article.title,
        "text": article.text,
        "author": article.author,
        "published": article.published,
        "description": article.description,
        "image": article.image,
        "language": article.language,
        "class": judge_class(document, url or "").page_class,
    }
