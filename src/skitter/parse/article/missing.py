"""Pages that come with status 200 and say that there is nothing."""

import re
from collections.abc import Iterable
from typing import Final

import re2

SHORT_CHARS: Final = 400
"""A page that says more than this has something to say, whatever its title."""
_SHARE: Final = 0.3
"""Of a title: "Missing hiker not found after a week" is news."""
_SAYS = re.compile(
    r"\b404\b|not[ -]found|no longer (?:available|exists?)|does(?: not|n't|n’t) exist"
    r"|page (?:is )?(?:missing|unavailable|cannot be found|can't be found)|access denied"
    r"|\b(?:403|500|502|503) (?:forbidden|internal|bad gateway|service)"
    r"|nicht gefunden|existiert nicht|introuvable|no encontrad[ao]|não encontrad[ao]"
    r"|不存在|未找到|找不到|已删除|已被删除|已下线|页面走丢|无法访问|访问出错|出错了",
    re.IGNORECASE,
)


def _quick() -> "re2.Set":
    """Return the same words for a look that costs next to nothing."""
    options = re2.Options()
    options.case_sensitive = False
    found = re2.Set.SearchSet(options)
    found.Add(_SAYS.pattern)
    found.Compile()
    return found


_MAY_SAY = _quick()


def beginning(texts: Iterable[str]) -> str:
    """Return as much of the texts of a page as says how long they are."""
    parts: list[str] = []
    size = 0
    for text in texts:
        part = " ".join(text.split())
        if part:
            parts.append(part)
            size += len(part) + 1
        if size > SHORT_CHARS + 1:
            break
    return " ".join(parts)


def says_missing(title: str | None, text: str) -> str | None:
    """Say why a page is none of its own, if it looks like an error page; else None."""
    if len(text) > SHORT_CHARS:
        return None
    said = _said(title or "")
    if said is None and len(text) <= SHORT_CHARS // 2:
        said = _said(text)
    return None if said is None else _words(said)


def title_says_missing(title: str | None) -> str | None:
    """Say the same of a page of which the title alone is at hand, as every page's is."""
    if not title or not _MAY_SAY.Match(title):
        return None
    said = _said(title)
    return None if said is None else _words(said)


def _words(said: str) -> str:
    return f'looks like an error page: it says "{said}"'


def _said(text: str) -> str | None:
    """Return the words of ``text`` that say so, if it says little else."""
    found = _SAYS.findall(text)
    return ", ".join(found) if sum(map(len, found)) > len(text) * _SHARE else None
