"""The picture that stands for an article."""

import re
from collections.abc import Callable, Iterable, Iterator

from turbohtml import Element

from skitter.errors import UrlError
from skitter.parse.article.stated import Stated
from skitter.url.parse import Base

MAX_CHARS = 2_000
_SMALL = 150
"""Pictures of fewer pixels are icons."""
_ICON = re.compile(
    r"logo|icon|sprite|avatar|gravatar|blank|spacer|pixel|placeholder|loading|button|badge|emoji"
    r"|1x1|qr-?code|\.gif(?:\?|\Z)|\.svg(?:\?|\Z)|^data:",
    re.IGNORECASE,
)
_SOURCES = ("data-src", "data-original", "data-lazy-src", "data-url", "src")
_NUMBER = re.compile(r"\d{1,5}")


def find_image(stated: Stated, pictures: Iterable[Element], url: str) -> str | None:
    """Return the address of the picture that is stated, else of the first large one."""
    join = _joiner(url, stated.head.base)
    for href in (*_stated(stated), *_large(pictures)):
        if len(href) <= MAX_CHARS and (joined := join(href)):
            return joined
    return None


def _joiner(url: str, stated: str | None) -> Callable[[str], str | None]:
    """Return what joins addresses to the document's base; to none where that is no URL."""
    try:
        base = Base(url)
        return Base(base.join(stated) or url).join if stated else base.join
    except UrlError:
        return _whole


def _whole(href: str) -> str | None:
    try:
        return Base(href).url
    except UrlError:
        return None


def _stated(stated: Stated) -> Iterator[str]:
    if image := stated.head.image:
        yield image.strip()
    value = stated.article.get("image") or stated.article.get("thumbnailUrl")
    for picture in value[:3] if isinstance(value, list) else [value]:
        href = picture.get("url") if isinstance(picture, dict) else picture
        if isinstance(href, str) and href.strip():
            yield href.strip()
    if named := stated.meta("image", "thumbnail"):
        yield named


def _large(pictures: Iterable[Element]) -> Iterator[str]:
    for picture in pictures:
        href = next(filter(None, map(picture.attr, _SOURCES)), None)
        if href and not _ICON.search(href) and _is_large(picture):
            yield href


def _is_large(picture: Element) -> bool:
    for name in ("width", "height"):
        match = _NUMBER.match(picture.attr(name) or "")
        if match and int(match[0]) < _SMALL:
            return False
    return True
