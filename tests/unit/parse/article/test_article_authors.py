"""Who wrote an article."""

import pytest
from article_pages import CHINESE, article_of, news_page, page, paragraphs

BODY = f"<div>{paragraphs()}</div>"


def stated(author: str) -> str:
    script = f'{{"@type": "Article", "author": {author}}}'
    return f'<title>Bridge</title><script type="application/ld+json">{script}</script>'


def meta(name: str, content: str) -> str:
    return f'<title>Bridge</title><meta name="{name}" content="{content}">'


@pytest.mark.parametrize(
    ("head", "author"),
    [
        (stated('"Ann Lee"'), "Ann Lee"),
        (stated('{"@type": "Person", "name": "By Ann Lee"}'), "Ann Lee"),
        (stated('[{"name": "Ann Lee"}, {"name": "Bo Ek"}]'), "Ann Lee, Bo Ek"),
        (stated('{"name": ["Ann Lee", "Bo Ek"]}'), "Ann Lee, Bo Ek"),
        (stated('{"name": null}') + meta("author", "Bo Ek"), "Bo Ek"),
        (stated("17"), None),
        (meta("author", "by Ann Lee and Bo Ek"), "Ann Lee, Bo Ek"),
        (meta("author", "Ann Lee, Staff Writer"), "Ann Lee"),
        (meta("article:author", "https://social.test/ann"), None),
        (meta("author", "admin"), None),
        (meta("author", "ann@news.test"), None),
        (meta("dc.creator", "Ann Lee"), "Ann Lee"),
    ],
)
def test_statements_name_the_author(head: str, author: str | None) -> None:
    assert article_of(news_page(BODY, head)).author == author


@pytest.mark.parametrize(
    ("line", "author"),
    [
        ('<a rel="author" href=/ann>Ann Lee</a>', "Ann Lee"),
        ('<p class="byline">By Ann Lee | 20 November 2019</p>', "Ann Lee"),
        (
            '<div itemprop="author"><span itemprop="name">Ann Lee</span> writes on rivers</div>',
            "Ann Lee",
        ),
        ('<span class="author">Von Ann Lee</span>', "Ann Lee"),
        ('<span class="author">' + "a long text about nothing " * 20 + "</span>", None),
    ],
)
def test_marked_lines_name_the_author(line: str, author: str | None) -> None:
    assert article_of(news_page(line + BODY)).author == author


@pytest.mark.parametrize(
    ("line", "author"),
    [
        ("作者：王小明 来源：河报", "王小明"),
        ("2020-01-02 10:00 来源：河报 作者：王小明、李大海", "王小明, 李大海"),
        ("（记者 李大海）", "李大海"),
        ("文/王小明", "王小明"),
        ("责任编辑：王小明", "王小明"),
        ("来源：河报网 字号：大 中 小", "河报网"),
        ("作者：未知 责任编辑：王小明", "王小明"),
        ("他对记者表示，桥很好。", None),
    ],
)
def test_chinese_lines_name_the_author_else_the_editor_else_the_source(
    line: str, author: str | None
) -> None:
    body = f"<h1>铁桥重新开放</h1><p>{line}</p><div>{paragraphs(CHINESE)}</div>"
    assert article_of(page(body, "<title>铁桥重新开放</title>", "zh")).author == author


def test_a_site_that_signs_every_page_is_not_the_author() -> None:
    head = '<title>铁桥重新开放_河报网</title><meta name="author" content="河报">'
    body = f"<h1>铁桥重新开放</h1><p>责任编辑：王小明</p><div>{paragraphs(CHINESE)}</div>"
    assert article_of(page(body, head, "zh")).author == "王小明"
