"""Which text of a page is its article."""

import pytest
from article_pages import CHINESE, NAV, PARAGRAPHS, RELATED, article_of, news_page, page, paragraphs

BODY = "\n\n".join(PARAGRAPHS)


@pytest.mark.parametrize(
    "inner",
    [
        f'<article><div class="article-body">{paragraphs()}</div></article>',
        f"<div><div>{paragraphs()}</div></div>",
        f'<table><tr><td width="160">{NAV}</td><td>{paragraphs()}</td></tr></table>',
        "<div>" + "".join(f"<div>{text}</div>" for text in PARAGRAPHS) + "</div>",
        "<div>" + "<br><br>".join(PARAGRAPHS) + "</div>",
        "<section>"
        + "".join(
            f'<div class="chunk"><p>{text}</p></div><div class=ad>Ad</div>' for text in PARAGRAPHS
        )
        + "</section>",
    ],
    ids=["named", "nameless", "table", "divs", "breaks", "chunks"],
)
def test_the_paragraphs_are_the_text_whatever_the_markup(inner: str) -> None:
    assert article_of(news_page(inner)).text == BODY


def test_menus_comments_and_related_pages_are_left_out_without_any_names() -> None:
    html = page(
        f"<ul>{NAV}</ul><div><h1>Bridge reopens</h1>{paragraphs()}</div>"
        f"<h3>Related stories</h3><ul>{RELATED}</ul>"
    )
    assert article_of(html).text == BODY


def test_comments_longer_than_the_article_are_not_taken_for_it() -> None:
    comments = "".join(f"<div class=comment><p>{text}</p></div>" for text in PARAGRAPHS * 5)
    html = page(
        f"<h1>Bridge reopens</h1><div class=story>{paragraphs()}</div>"
        f"<div id=comments>{comments}</div>"
    )
    assert article_of(html).text == BODY


def test_the_heading_of_nameless_comments_ends_the_article() -> None:
    comments = "".join(f"<div><b>A reader</b><div>{text}</div></div>" for text in PARAGRAPHS[:2])
    html = page(f"<div><h1>Bridge reopens</h1>{paragraphs()}<h3>Comments (2)</h3>{comments}</div>")
    assert article_of(html).text == BODY


def test_a_name_that_misleads_does_not_hide_the_article() -> None:
    html = page(f'<div class="layout-sidebar widget"><h1>Bridge</h1>{paragraphs()}</div>')
    assert article_of(html).text == BODY


def test_headings_lists_tables_and_code_of_the_article_are_kept() -> None:
    first, second, third, fourth = PARAGRAPHS
    inner = (
        f"<p>{first}</p><h2>What it took</h2><p>{second}</p>"
        "<ul><li>forty tons of steel</li><li>nine months</li></ul>"
        "<table><tr><th>Year</th><th>Toll</th></tr><tr><td>1911</td><td>2 d</td></tr></table>"
        f"<p>{third}</p><pre>a  b\n  c</pre><blockquote>{fourth}</blockquote>"
    )
    assert article_of(news_page(f"<article>{inner}</article>")).text == (
        f"{first}\n\nWhat it took\n\n{second}\n\nforty tons of steel\nnine months\n\n"
        f"Year | Toll\n1911 | 2 d\n\n{third}\n\na  b\n  c\n\n{fourth}"
    )


@pytest.mark.parametrize(
    "junk",
    [
        "<p>Advertisement</p>",
        "<p>Read more: <a href=/x>The flood that took the wooden bridge</a></p>",
        "<figure><img src=a.jpg><figcaption>The bridge on Tuesday morning.</figcaption></figure>",
        '<div class="share-bar"><a href=/f>Facebook</a> <a href=/t>Twitter</a></div>',
        '<div class="newsletter-signup"><p>Get the best of the town in your inbox, every morning '
        "before breakfast, and unsubscribe whenever you feel like it.</p></div>",
        f"<ul>{RELATED}</ul>",
        "<p>By Ann Lee</p>",
        "<div style='display: none'><p>This sentence is there for machines alone.</p></div>",
        "<aside><p>The Lorn is forty miles long and has eleven bridges, most of them.</p></aside>",
        "<h2>Related stories</h2>",
    ],
)
@pytest.mark.parametrize("at", [0, 2, 4])
def test_what_is_set_into_an_article_is_left_out(junk: str, at: int) -> None:
    inner = paragraphs(PARAGRAPHS[:at]) + junk + paragraphs(PARAGRAPHS[at:])
    text = article_of(news_page(f'<div class="entry-content">{inner}</div>')).text
    assert text.replace("Related stories\n\n", "") == BODY


def test_the_line_with_date_and_author_above_the_text_is_left_out() -> None:
    inner = f"<div><p>20 November 2019, 10:05 | City desk</p>{paragraphs()}</div>"
    assert article_of(news_page(inner)).text == BODY


def test_a_text_in_parts_of_the_same_name_is_whole() -> None:
    def part(texts: tuple[str, ...]) -> str:
        return (
            f'<div class="grid"><div class="body-part">{paragraphs(texts)}</div>'
            '<div class="rail"><p>An advertisement that goes on for a while.</p></div></div>'
        )

    html = page(f"<h1>Bridge reopens</h1><div>{part(PARAGRAPHS[:2])}{part(PARAGRAPHS[2:])}</div>")
    assert article_of(html).text == BODY


def test_of_several_articles_on_a_page_the_one_under_the_title_counts() -> None:
    others = "".join(
        f"<article class=more><h2><a href=/{n}>Story {n}</a></h2><p>{text}</p></article>"
        for n, text in enumerate(PARAGRAPHS[2:] * 4)
    )
    html = page(
        f"<div><article><h1>Bridge reopens</h1>{paragraphs(PARAGRAPHS[:2])}</article>{others}</div>"
    )
    assert article_of(html).text == "\n\n".join(PARAGRAPHS[:2])


def test_chinese_is_read_as_well() -> None:
    html = page(
        f"<div class=nav>{NAV}</div><h1>铁桥重新开放</h1>"
        "<div class=info>2024-03-05 来源：河报</div>"
        f'<div class="TRS_Editor">{paragraphs(CHINESE)}<p>责任编辑：王小明</p></div>'
        "<div><h3>相关阅读</h3><ul><li><a href=/1>洪水冲走木桥三十年</a></li></ul></div>",
        "<title>铁桥重新开放_河报网</title>",
        "zh-CN",
    )
    assert article_of(html).text == "\n\n".join(CHINESE)


def test_short_paragraphs_in_a_cell_are_paragraphs() -> None:
    texts = ("各区县人民政府：", *CHINESE, "一、总体要求", "附件：任务分工表", "河边市人民政府")
    html = page(
        "<table><tr><td>关于铁桥重新开放的通知</td></tr>"
        "<tr><td>发布日期：2021-03-05 来源：市政府</td></tr>"
        f"<tr><td>{paragraphs(texts)}</td></tr></table><p>版权所有：河边市人民政府</p>",
        "<title>关于铁桥重新开放的通知_河边市人民政府</title>",
    )
    found = article_of(html)
    assert (found.text, found.published) == ("\n\n".join(texts), "2021-03-05")


def test_a_page_that_draws_itself_by_script_has_the_text_it_states() -> None:
    stated = "\\n".join(PARAGRAPHS)
    head = (
        '<script type="application/ld+json">{"@context": "https://schema.org", '
        f'"@type": "NewsArticle", "articleBody": "{stated}"}}</script>'
    )
    found = article_of(page("<div id=app><p>Please enable JavaScript.</p></div>", head))
    assert (found.text, found.method) == (BODY, "stated")


SENTENCES = [
    f"This is sentence number {n} of a text whose markup makes no sense." for n in range(40)
]


def test_where_the_tree_has_next_to_nothing_the_lines_are_read() -> None:
    # Every sentence at the bottom of a tower of its own: no element holds much of the text.
    html = "".join(f"{'<div>' * 14}<p>{text}</p>{'</div>' * 14}" for text in SENTENCES)
    found = article_of(page(f"<h1>Bridge</h1>{html}"))
    assert (found.text, found.method) == ("\n\n".join(SENTENCES), "lines")


def test_markup_that_only_makes_little_sense_is_left_to_the_tree() -> None:
    # Deeper and deeper, every sentence in an element of its own kind.
    html = "".join(f"<div class=a{n}><b></b><div>{text}</div>" for n, text in enumerate(SENTENCES))
    found = article_of(page(f"<h1>Bridge</h1>{html}"))
    assert sum(sentence in found.text for sentence in SENTENCES) > 30
    assert found.method == "tree"


def test_what_neither_has_is_left_to_the_library() -> None:
    # The names of its elements speak against all the text there is.
    html = "".join(f"<p>{text}</p>" for text in SENTENCES)
    found = article_of(page(f"<h1>Bridge</h1><footer>{html}</footer>"))
    assert found.method == "library"
    assert all(sentence in found.text for sentence in SENTENCES)


@pytest.mark.parametrize(
    "html", ["", "   ", "<p>", "<title>x</title>", "<nav><a href=/>Home</a></nav>"]
)
def test_a_page_without_text_has_no_article(html: str) -> None:
    assert article_of(html).text == ""
