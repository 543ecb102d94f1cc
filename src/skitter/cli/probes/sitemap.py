"""``skitter probe sitemap``: what a sitemap or a feed lists."""

import base64

from msgspec import to_builtins

from skitter.cli.probes.encoding import read_path
from skitter.errors import ConfigError, UrlError
from skitter.parse.sitemap.reader import read_sitemap


def answer(question: dict[str, object]) -> dict[str, object]:
    """Answer ``{"b64" | "path", "url"}``; raises ``ConfigError`` naming a bad field."""
    url = question.get("url")
    if not isinstance(url, str):
        raise ConfigError(f"url: {url!r}; wanted a string")
    try:
        entries, sitemaps, end = read_sitemap(_body(question), url)
    except UrlError as exc:
        raise ConfigError(f"url: {exc}; wanted an http or https URL") from exc
    return {
        "urls": [to_builtins(entry) for entry in entries],
        "sitemaps": sitemaps,
        "kind": end.kind,
        "problem": end.problem,
        "skipped": end.skipped,
    }


def _body(question: dict[str, object]) -> bytes:
    text = question.get("b64")
    if text is None:
        if question.get("path") is None:
            raise ConfigError("b64: missing; wanted base64 text, or a path")
        return read_path(question["path"])
    if not isinstance(text, str):
        raise ConfigError(f"b64: {text!r}; wanted a string")
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as exc:
        raise ConfigError(f"b64: {text[:40]!r}; wanted base64 text ({exc})") from exc
