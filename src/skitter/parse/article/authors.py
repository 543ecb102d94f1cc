"""Who wrote an article: names, cleaned of what stands around them."""

import re
from collections.abc import Iterable, Iterator

from skitter.parse.article.stated import Stated

MAX_AUTHORS = 10
_MAX_NAME = 60
_MAX_LINE = 200
_METAS = (
    "author", "article:author", "article:author_name", "dc.creator", "dcterms.creator", "byl",
    "parsely-author", "sailthru.author", "citation_author", "og:article:author", "creator",
)  # fmt: skip
_BEFORE = re.compile(
    r"\s*(?:(?:written|posted|published|reported|story|article|words?)\s+)?"
    r"(?:by|von|par|por|di|door|af|av|autor(?:es|en|a)?|author|auteur|yazan|автор|текст)\b[\s:：|]*"
    r"|\s*(?:本报记者|新华社记者|记者|作者|撰文|文)[\s:：/／丨|]+",
    re.IGNORECASE,
)
_AFTER = re.compile(
    r"\s*(?:[|•·–—@(（<\[]|\s-\s|\b(?:published|updated|posted|for the|staff|reporter|correspondent"
    r"|editor|senior|on|at|in)\b|\d).*\Z",
    re.IGNORECASE | re.DOTALL,
)
_SPLIT = re.compile(
    r"(?<=[\u3400-\u9fff])\s+(?=[\u3400-\u9fff])|\s*(?:,|;|、|，|；|/|&|\band\b|\bund\b|\bet\b|\by\b|\n)\s*",
    re.IGNORECASE,
)
_NO_NAME = re.compile(
    r"://|www\.|@|\.(?:com|net|org|cn)\b|\A(?:admin|administrator|editor|staff|guest|unknown"
    r"|webmaster|root|user\d*|name|e-?mail|none|null|undefined|n/?a|anonymous|未知|佚名|管理员|小编|举报|分享|关注|收藏|评论|打印|字体|登录|注册)\Z",
    re.IGNORECASE,
)
_SUFFIX = re.compile(
    r"[A-Z][A-Za-z.]{0,4}|.*(?:writer|reporter|correspondent|editor|press|columnist|contributor|staff)",
    re.IGNORECASE,
)
_LABEL = r"(?!责任编辑|责编|编辑|来源|时间|日期|作者|记者|发布|更新|浏览|字号|点击|摄影|摄)"
_NAME = (
    rf"{_LABEL}(?:[\u3400-\u9fff·]{{2,15}}|[A-Za-z][A-Za-z. ]{{1,30}})"
    rf"(?:[、，, ]{_LABEL}[\u3400-\u9fff·]{{2,4}}(?![\u3400-\u9fff:：])){{0,3}}"
)
_REPORTER = r"(?:(?:本报|新华社|通讯员|实习|首席|特约|见习)\s*)*记者"
_WRITERS = tuple(
    re.compile(pattern)
    for pattern in (
        rf"(?:作者|撰文|原作者)\s*[:：/丨|]\s*(?P<names>{_NAME})",
        rf"(?:\A|[(（【\s])文\s*[/／丨|]\s*(?P<names>{_NAME})",
        # In running text a reporter is somebody who is told something.
        rf"[(（【]\s*{_REPORTER}\s*[:：]?\s*(?P<names>{_NAME})",
        rf"\A\W*{_REPORTER}[\s:：]+(?P<names>{_NAME})\W*\Z",
    )
)
_OTHERS = tuple(
    re.compile(rf"(?:{labels})\s*[:：]\s*(?P<names>{_NAME})")
    for labels in ("责任编辑|责编|编辑", "来源|稿源|信息来源")
)
_SITE = re.compile(r"[_|\-–—](?!.*[_|\-–—])")


def find_author(stated: Stated, near: Iterable[str], *, chinese: bool) -> str | None:
    """Return the names of the authors, of the most trusted place that has any.

    ``near`` are the lines around the title and at the end of the text.
    """
    lines = [line[:_MAX_LINE] for line in near] if chinese else []
    return (
        _joined(_names_of(stated.article.get("author") or stated.article.get("creator")))
        or _from_lines(lines, _WRITERS)
        or _from_metas(stated)
        or _from_marks(stated)
        or _from_lines(lines, _OTHERS)
    )


def _from_metas(stated: Stated) -> str | None:
    site = _SITE.split(stated.head.title or "")[-1]
    for name in _METAS:
        found = _joined([stated.metas.get(name) or ""])
        # Some sites sign every page with their own name.
        if found and found not in site:
            return found
    return None


def _from_marks(stated: Stated) -> str | None:
    for element in stated.marked:
        if element.tag != "time":
            text = (element.find(itemprop="name") or element).text
            if len(text) <= _MAX_LINE and (found := _joined([text])):
                return found
    return None


def _names_of(value: object) -> Iterator[str]:
    """Yield the names of a JSON-LD author: a string, an object, or several."""
    for author in value[:MAX_AUTHORS] if isinstance(value, list) else [value]:
        name = author.get("name") if isinstance(author, dict) else author
        for text in name[:MAX_AUTHORS] if isinstance(name, list) else [name]:
            if isinstance(text, str):
                yield text


def _joined(texts: Iterable[str]) -> str | None:
    names: dict[str, None] = {}
    for text in texts:
        if "://" in text:
            continue
        for part in _SPLIT.split(_BEFORE.sub("", " ".join(text[:_MAX_LINE].split()), count=1)):
            name = clean_name(part)
            # Degrees and agencies stand after a name.
            if name and not (names and _SUFFIX.fullmatch(name)):
                names[name] = None
    return ", ".join(list(names)[:MAX_AUTHORS]) or None


def clean_name(text: str) -> str | None:
    """Return ``text`` as a name; None when it is none."""
    name = _BEFORE.sub("", text.strip(), count=1)
    name = _AFTER.sub("", name).strip(" ,.:;|-–—")
    if (
        "@" in text
        or not 2 <= len(name) <= _MAX_NAME
        or len(name.split()) > 6
        or _NO_NAME.search(name)
    ):
        return None
    return name


def _from_lines(lines: list[str], patterns: tuple[re.Pattern[str], ...]) -> str | None:
    for pattern in patterns:
        for line in lines:
            match = pattern.search(line)
            if match and (found := _joined([match["names"]])):
                return found
    return None
