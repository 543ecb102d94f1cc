"""``skitter probe links``: every link of a page, and what the page says about itself."""

from dataclasses import asdict

from skitter.cli.probes.encoding import read_path
from skitter.errors import ConfigError, UrlError
from skitter.parse.links import extract_links


def answer(question: dict[str, object]) -> dict[str, object]:
    """Answer ``{"html" | "path", "url"}``; raises ``ConfigError`` naming a bad field."""
    url = question.get("url")
    if not isinstance(url, str):
        raise ConfigError(f"url: {url!r}; wanted a string")
    try:
        return asdict(extract_links(read_html(question), url))
    except UrlError as exc:
        raise ConfigError(f"url: {exc}; wanted an http or https URL") from exc


def read_html(question: dict[str, object]) -> str | bytes:
    """Return the page a question gives as ``html`` or names by ``path``."""
    html = question.get("html")
    if html is None:
        if question.get("path") is None:
            raise ConfigError("html: missing; wanted a string, or a path")
        return read_path(question["path"])
    if not isinstance(html, str):
        raise ConfigError(f"html: {html!r}; wanted a string")
    return html
