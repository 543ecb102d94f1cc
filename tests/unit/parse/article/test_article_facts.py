"""Title, description, picture and language of an article."""

import pytest
from article_pages import CHINESE, PARAGRAPHS, article_of, news_page, page, paragraphs

BODY = f"<div>{paragraphs()}</div>"


SIDEWAYS = "Up - down - and sideways, a long story of a bridge"


def titled(title: str) -> str:
    return f"<title>{title}</title>"


def meta(name: str, content: str) -> str:
    return f'<meta property="{name}" content="{content}">'


def stated(members: str) -> str:
    script = f'{{"@type": "Article", {members}}}'
    return f'<script type="application/ld+json">{script}</script>'


@pytest.mark.parametrize(
    ("head", "heading", "title"),
    [
        (titled("Bridge reopens - Town - News Test"), "<h1>Bridge reopens</h1>", "Bridge reopens"),
        (titled("铁桥重新开放_要闻_河报网"), "<h2>铁桥重新开放</h2>", "铁桥重新开放"),
        (titled("Bridge reopens after all | News Test"), "", "Bridge reopens after all"),
        (titled("铁桥周二上午重新开放_要闻_河报网"), "", "铁桥周二上午重新开放"),
        (meta("og:title", "It is open"), "<h1>News Test</h1><h1>x</h1>", "It is open"),
        (meta("og:site_name", "News") + titled("News: on air - News"), "", "News: on air"),
        (stated('"headline": "Open again"'), "", "Open again"),
        (titled(SIDEWAYS), "", SIDEWAYS),
        ("", "<h1>Only a heading</h1>", "Only a heading"),
        ("", "", None),
    ],
)
def test_the_title_has_no_site_name(head: str, heading: str, title: str | None) -> None:
    assert article_of(page(heading + BODY, head)).title == title


@pytest.mark.parametrize(
    ("head", "description"),
    [
        ('<meta name="description" content=" A\n bridge. ">', "A bridge."),
        (meta("og:description", "A bridge."), "A bridge."),
        (stated('"description": "It is open."'), "It is open."),
        ("", None),
    ],
)
def test_the_description_is_what_the_page_says(head: str, description: str | None) -> None:
    assert article_of(news_page(BODY, head)).description == description


SMALL = '<img src="/logo.png"><img src="/s.jpg" width=40 height=40>'


@pytest.mark.parametrize(
    ("head", "inner", "image"),
    [
        (meta("og:image", "/i/a.jpg"), '<img src="/b.jpg">', "https://news.test/i/a.jpg"),
        (meta("twitter:image", "//cdn.test/a.jpg"), "", "https://cdn.test/a.jpg"),
        (stated('"image": [{"url": "/ld.jpg"}]'), "", "https://news.test/ld.jpg"),
        ("", f'{SMALL}<img data-src="c.jpg" src="/blank.gif">', "https://news.test/town/c.jpg"),
        ('<base href="https://cdn.test/x/">', '<img src="c.jpg">', "https://cdn.test/x/c.jpg"),
        ("", '<img src="data:image/png;base64,AAAA">', None),
        (meta("og:image", "javascript:x"), "", None),
    ],
)
def test_the_picture_is_the_stated_one_else_the_first_large_one(
    head: str, inner: str, image: str | None
) -> None:
    assert article_of(news_page(f"<div>{inner}{paragraphs()}</div>", head)).image == image


def test_a_picture_outside_the_text_does_not_stand_for_it() -> None:
    html = page(f'<div><img src="/banner.jpg"></div><ul><li>x<li>y</ul><h1>Bridge</h1>{BODY}')
    assert article_of(html).image is None


def test_pages_without_an_address_still_have_a_picture() -> None:
    whole, part = meta("og:image", "https://news.test/a.jpg"), meta("og:image", "/a.jpg")
    assert article_of(news_page(BODY, whole), "").image == "https://news.test/a.jpg"
    assert article_of(news_page(BODY, part), "").image is None


GERMAN = (
    "Die alte Brücke über den Fluss ist am Dienstag nach neun Monaten wieder für den Verkehr "
    "geöffnet worden, und die Leute freuen sich sehr, dass der Umweg nicht mehr nötig ist. "
)
RUSSIAN = (
    "Старый мост через реку снова открыт для движения после девяти месяцев ремонта, сообщили в "
    "городском совете. "
)
JAPANESE = (
    "川に架かる古い鉄橋が火曜日の朝、九か月ぶりに通れるようになりました。町の人々は朝から橋の上に集まりました。"
    * 2
)
KOREAN = (
    "강 위의 오래된 철교가 화요일 아침 아홉 달 만에 다시 열렸다. 많은 시민이 다리를 걸어서 건넜다. "
    * 3
)


@pytest.mark.parametrize(
    ("lang", "text", "language"),
    [
        ("en-GB", PARAGRAPHS[0], "en"),
        ("pt_BR", PARAGRAPHS[0], "pt"),
        ("", PARAGRAPHS[0] + PARAGRAPHS[1], "en"),
        ("", GERMAN, "de"),
        ("", RUSSIAN, "ru"),
        ("bg", RUSSIAN, "bg"),
        ("", JAPANESE, "ja"),
        ("", KOREAN, "ko"),
        ("", "".join(CHINESE), "zh"),
        ("en", "".join(CHINESE), "zh"),
        ("zh-TW", "".join(CHINESE), "zh"),
        ("cn", PARAGRAPHS[0], "zh"),
        ("eng", PARAGRAPHS[0] + PARAGRAPHS[1], "en"),
        ("", "xyzzy plugh " * 20, None),
    ],
)  # fmt: skip
def test_the_language_is_the_stated_one_unless_the_letters_say_otherwise(
    lang: str, text: str, language: str | None
) -> None:
    assert (
        article_of(page(f"<div><p>{text}</p></div>", "<title>x</title>", lang)).language == language
    )
