"""URLs in free text, as people write it: glued to Chinese, in brackets, with a full stop behind.

What begins with ``http://`` or ``https://`` counts wherever it stands; a name without a scheme when
it begins with ``www.`` or ends in a public suffix and is no mail address. The text is walked once,
and what is found is bounded: whoever writes it may be a stranger.
"""

import re
from collections import Counter
from collections.abc import Iterator

from skitter.url.domain import public_suffix

MAX_FOUND = 300
MAX_LENGTH = 4_096
"""Characters of the longest URL that is taken."""
MAX_CANDIDATES = 5_000
"""Places of one text that are looked at, with URLs that are met again and those that are none."""

_WIDE = r"\u2e80-\u2fff\u3040-\u9fff\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
"""Scripts that are written without spaces: a URL may end where they begin."""
_ENDS = r"\s<>\"\\^`{|}\x00-\x20\x7f\u2013-\u201f\u2026\xab\xbb\u3000-\u303f\uff00-\uffef"
"""What is in no URL of a text: spaces, quotes, angles, the punctuation of Chinese."""
_ASCII = r"A-Za-z0-9"
_NARROW = rf"[^\W{_WIDE}]"

_START = re.compile(
    rf"(?P<scheme>https?://)"
    rf"|(?<![{_ASCII}_.@/~%=&#-])(?:[{_ASCII}][{_ASCII}-]{{0,62}}\.)+[A-Za-z][{_ASCII}-]{{1,62}}"
    rf"(?![{_ASCII}_@-])",
    re.IGNORECASE,
)
_HOST = re.compile(
    r"\[[0-9A-Fa-f:.]{2,45}\]"
    r"|(?:[\w.%-]{1,64}(?::[\w.%-]{0,64})?@)?"
    rf"(?:(?:www\.)?[{_WIDE}][\w-]*(?:\.[\w-]+)*"
    rf"|(?:{_NARROW}|-)+(?:\.(?:{_NARROW}|-)+)*\.?)"
)
# Wide characters belong to a URL where a part of it begins with them: "/wiki/北京", "?q=北京", but
# not right behind the host, where they are the next word of the sentence.
_TAIL = re.compile(
    rf"(?::\d{{1,5}}(?!\d))?"
    rf"(?:/(?=[{_WIDE}])"
    rf"|[/?#](?:(?!\]\(|(?<=[{_ASCII}])https?://)[^{_ENDS}{_WIDE}]|(?<=[/=_+-])[{_WIDE}]+)*)?",
    re.IGNORECASE,
)
_WWW = re.compile(r"www\.[^.]+\.", re.IGNORECASE)
_GLUED = re.compile(r"https?\Z", re.IGNORECASE)
_CLOSING = {")": "(", "]": "[", "）": "（"}
_PUNCTUATION = frozenset(".,;:!?'\"*_~…·")
_FILES = frozenset({"cc", "md", "ml", "mk", "pl", "pm", "ps", "py", "rs", "sh", "so", "st", "zip"})
"""Public suffixes that names of files end in: without a path behind them they are files."""


def find_urls(text: str, most: int = MAX_FOUND) -> list[str]:
    """Return the URLs in a text as they are written, each once, in the order of their places."""
    found: dict[str, None] = {}
    for url in _candidates(text):
        found.setdefault(url)
        if len(found) >= most:
            break
    return list(found)


def _candidates(text: str) -> Iterator[str]:
    at = 0
    for _ in range(MAX_CANDIDATES):
        start = _START.search(text, at)
        if start is None:
            return
        if start["scheme"]:
            url, at = _with_scheme(text, start)
        else:
            url, at = _without_scheme(text, start)
        if url and len(url) <= MAX_LENGTH:
            yield url


def _with_scheme(text: str, start: re.Match[str]) -> tuple[str, int]:
    """Return the URL behind a scheme, "" when there is none, and where to go on."""
    host = _HOST.match(text, start.end())
    if host is None:
        return "", start.end()
    end = host.end()
    if text.startswith("://", end) and (glued := _GLUED.search(text, host.start(), end)):
        # Two URLs without a space between them.
        return text[start.start() : glued.start()], glued.start()
    tail = _TAIL.match(text, end)
    end = tail.end() if tail is not None else end
    url = _trimmed(text[start.start() : end])
    return ("" if len(url) <= len(start[0]) else url), end


def _without_scheme(text: str, start: re.Match[str]) -> tuple[str, int]:
    """Return the URL that begins with a name, "" when that is none of the Internet."""
    tail = _TAIL.match(text, start.end())
    end = tail.end() if tail is not None else start.end()
    rest = _trimmed(text[start.start() : end])[len(start[0]) :]
    if not _is_name(start[0], has_path=rest.startswith("/")):
        return "", start.end()
    return start[0] + rest, end


def _is_name(name: str, *, has_path: bool) -> bool:
    if _WWW.match(name):
        # Also names of a company's own network, which end in what is no suffix of the Internet.
        return True
    suffix = public_suffix(name.lower())
    if suffix is None or len(suffix) == len(name) or (suffix in _FILES and not has_path):
        return False
    # "The end.Next we" lacks a space: nobody writes the last part of a name like that.
    return has_path or not name.rpartition(".")[2].istitle()


def _trimmed(url: str) -> str:
    """Return a URL without what belongs to its sentence: punctuation, brackets opened before it."""
    counts = Counter(char for char in url if char in "()[]（）")
    end = len(url)
    while end:
        last = url[end - 1]
        opening = _CLOSING.get(last)
        if opening is not None and counts[last] > counts[opening]:
            counts[last] -= 1
        elif last not in _PUNCTUATION:
            break
        end -= 1
    return url[:end]
