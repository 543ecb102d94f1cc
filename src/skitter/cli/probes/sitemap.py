"""``skitter probe sitemap``: what a sitemap or a feed lists."""

from msgspec import to_builtins

from skitter.cli.probes.encoding import read_body
from skitter.errors import ConfigError, UrlError
from skitter.parse.sitemap.reader import read_sitemap


def answer(question: dict[str, object]) -> dict[str, object]:
    """Answer ``{"b64" | "path", "url"}``; raises ``ConfigError`` naming a bad field."""
    url = question.get("url")
    if not isinstance(url, str):
        raise ConfigError(f"url: {url!r}; wanted a string")
    try:
        entries, sitemaps, end = read_sitemap(read_body(question), url)
    except UrlError as exc:
        raise ConfigError(f"url: {exc}; wanted an http or https URL") from exc
    return {
        "urls": [to_builtins(entry) for entry in entries],
        "sitemaps": sitemaps,
        "kind": end.kind,
        "problem": end.problem,
        "skipped": end.skipped,
    }
