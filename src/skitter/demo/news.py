"""The news site: sections with pagers, articles in English and Chinese, old addresses, authors."""

import random
import re
from dataclasses import replace
from datetime import date, timedelta

from skitter.demo.model import (
    UTF8,
    Answer,
    Block,
    Charset,
    Link,
    LinkList,
    Page,
    Prose,
    Spelling,
    Target,
)
from skitter.demo.pages import link_row, moved, steps
from skitter.demo.web import Robots
from skitter.demo.words import dice, headline, paragraph, sentence, slug

NAME = "news"
SECTIONS = {
    "world": "World",
    "business": "Business",
    "science": "Science",
    "culture": "Culture",
    "yaowen": "要闻",
    "keji": "科技",
}
CHINESE = frozenset({"yaowen", "keji"})
AUTHORS = ("Ines Duarte", "Tom Okafor", "Liu Wen", "Marta Kowalska", "Sam Reyes", "Yuki Arai")
PER_LIST = 12
_GBK = Charset(name="gbk", header=None, meta="gb2312")
_FIRST_DAY = date(2024, 1, 1)
_ARTICLE = re.compile(r"/(?:\d{4}/\d\d/\d\d/[a-z0-9-]+-|yaowen/\d{6}/t|keji/\d{6}/t)(\d+)\.s?html")
_LIST = re.compile(r"/([a-z]+)/(?:page/(\d+)/)?")
_NUMBERED = re.compile(r"/(print|comments)/(\d+)|/article\.php\?id=(\d+)")
_NAV = link_row(NAME, {"/": "Front page"} | {f"/{key}/": name for key, name in SECTIONS.items()})


class NewsSite:
    """``articles`` articles over six sections; article ``i`` belongs to section ``i % 6``."""

    robots = Robots(disallow=("/comments/", "/*?print="), extra="User-agent: badbot\nDisallow: /")

    def __init__(self, seed: int, articles: int) -> None:
        self._seed = seed
        self._articles = articles

    def page(self, path: str) -> Page | None:
        """Return the page at ``path``."""
        if path == "/":
            return self._front()
        if match := _ARTICLE.fullmatch(path):
            number = int(match[1])
            known = number < self._articles and self._path(number) == path
            return self._article(number) if known else None
        if match := _LIST.fullmatch(path):
            return self._list(match[1], int(match[2] or 1), path)
        if match := _NUMBERED.fullmatch(path):
            return self._numbered(path, match[1] or "old", int(match[2] or match[3]))
        return self._author(path)

    def _draw(self, *key: object) -> random.Random:
        return dice(self._seed, NAME, *key)

    def _section(self, number: int) -> str:
        return list(SECTIONS)[number % len(SECTIONS)]

    def _title(self, number: int) -> str:
        return headline(self._draw("title", number), self._section(number))

    def _path(self, number: int) -> str:
        day = _FIRST_DAY + timedelta(days=number % 700)
        section = self._section(number)
        if section in CHINESE:
            return f"/{section}/{day:%Y%m}/t{number:06d}.shtml"
        return f"/{day:%Y/%m/%d}/{slug(self._title(number))}-{number}.html"

    def _link(self, number: int, spelling: Spelling = Spelling.PLAIN) -> Link:
        return Link(Target(NAME, self._path(number)), self._title(number), spelling)

    def _front(self) -> Page:
        draw = self._draw("front")
        blocks: list[Block] = [Prose((paragraph(draw, sentences=2),))]
        for place, (key, name) in enumerate(SECTIONS.items()):
            latest = range(place, self._articles, len(SECTIONS))[:4]
            blocks.append(
                LinkList(
                    name,
                    (*map(self._link, latest), Link(Target(NAME, f"/{key}/"), f"More {name}")),
                )
            )
        popular = [
            self._link(draw.randrange(self._articles), Spelling.TRACKED) for _ in range(5)
        ] + [Link(_old(n), f"Read again: {self._title(n)}") for n in range(0, self._articles, 17)]
        blocks.append(LinkList("Most read", tuple(popular[:40])))
        blocks.append(LinkList("Writers", tuple(_author_link(name) for name in AUTHORS)))
        return Page(
            at=Target(NAME, "/"),
            title="The Harbour Courier · 港口新闻",
            summary="News from twenty-four towns and none of them real.",
            nav=_NAV,
            blocks=tuple(blocks),
        )

    def _list(self, section: str, number: int, path: str) -> Page | None:
        if section not in SECTIONS or path == f"/{section}/page/1/":
            return None
        members = range(list(SECTIONS).index(section), self._articles, len(SECTIONS))
        last = max(1, -(-len(members) // PER_LIST))
        if number > last:
            return None
        shown = members[(number - 1) * PER_LIST : number * PER_LIST]
        chinese = section in CHINESE
        pager = tuple(
            Link(Target(NAME, _list_path(section, n)), f"第{n}页" if chinese else f"Page {n}")
            for n in steps(number, last)
        )
        title = SECTIONS[section]
        if number > 1:
            title += f" · 第{number}页" if chinese else f", page {number}"
        return Page(
            at=Target(NAME, path),
            title=title,
            lang="zh-CN" if chinese else "en",
            nav=_NAV,
            charset=_GBK if section == "yaowen" else UTF8,
            blocks=(LinkList(SECTIONS[section], tuple(map(self._link, shown))),
                    LinkList("更多" if chinese else "More pages", pager)),
        )  # fmt: skip

    def _article(self, number: int) -> Page:
        section = self._section(number)
        chinese = section in CHINESE
        lang = "zh" if chinese else "en"
        draw = self._draw("body", number)
        author = AUTHORS[number % len(AUTHORS)]
        paragraphs = [Prose((paragraph(draw, lang),)) for _ in range(draw.randint(4, 9))]
        paragraphs[0] = Prose((*paragraphs[0].parts, " (", _author_link(author), ")"))
        return Page(
            at=Target(NAME, self._path(number)),
            title=self._title(number),
            lang="zh-CN" if chinese else "en",
            summary=sentence(self._draw("summary", number), lang),
            nav=_NAV,
            charset=_GBK if section == "yaowen" else UTF8,
            canonical=Target(NAME, self._path(number)),
            blocks=(*paragraphs, self._related(draw, number, chinese)),
        )

    def _related(self, draw: random.Random, number: int, chinese: bool) -> LinkList:
        spellings = (Spelling.PLAIN, Spelling.FRAGMENT, Spelling.QUESTION, Spelling.ABSOLUTE)
        links = [
            self._link(draw.randrange(self._articles), draw.choice(spellings)) for _ in range(4)
        ]
        if number % 9 == 0:
            links.append(Link(Target(NAME, f"/print/{number}"), "Print"))
        if number % 13 == 0:
            links.append(Link(Target(NAME, f"/comments/{number}"), "Comments"))
        return LinkList("相关新闻" if chinese else "Related", tuple(links))

    def _numbered(self, path: str, kind: str, number: int) -> Page | None:
        if number >= self._articles:
            return None
        at = Target(NAME, path)
        if kind == "old":
            return moved(at, Target(NAME, self._path(number)))
        article = self._article(number)
        if kind == "print":
            return replace(
                article, at=at, title=f"{article.title} · print", robots_header="noindex"
            )
        text = Prose((sentence(self._draw("comments", number)),))
        answers = Link(Target(NAME, f"/comments/{number}/answers"), "Answers")
        return Page(at=at, title=f"Comments {number}", blocks=(text, LinkList("More", (answers,))))

    def _author(self, path: str) -> Page | None:
        found = [name for name in AUTHORS if path == _author_path(name)]
        if not found:
            return None
        latest = range(AUTHORS.index(found[0]), self._articles, len(AUTHORS))[:10]
        return Page(
            at=Target(NAME, path),
            title=f"{found[0]}, correspondent",
            nav=_NAV,
            answer=Answer(coding="gzip"),
            blocks=(LinkList("Latest articles", tuple(map(self._link, latest))),),
        )


def _list_path(section: str, number: int) -> str:
    return f"/{section}/" if number == 1 else f"/{section}/page/{number}/"


def _author_path(name: str) -> str:
    return f"/author/{slug(name)}"


def _author_link(name: str) -> Link:
    return Link(Target(NAME, _author_path(name)), name)


def _old(number: int) -> Target:
    return Target(NAME, f"/article.php?id={number}")
