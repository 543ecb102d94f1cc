"""Pages made to take long, or to break what reads them."""

import time

import pytest
from article_pages import NOW, PARAGRAPHS, article_of, page, paragraphs
from hypothesis import given
from hypothesis import strategies as st

from skitter.parse.article.extract import extract_article
from skitter.parse.article.kind import judge_class
from skitter.parse.document import parse_document

P = f"<p>{PARAGRAPHS[0]}</p>"
WITHIN_S = 5.0
"""Ten times what the slowest takes: a busy machine is no failure, a quadratic step is."""
LD = '<script type="application/ld+json">'

DOCUMENTS = {
    "nested divs": "<div>" * 200_000 + P,
    "nested divs with text": f"<div class=a>{PARAGRAPHS[0]}" * 30_000,
    "nested articles": "<article>" * 30_000 + P,
    "nested lists": "<ul><li>x" * 50_000,
    "nested tables": "<table><tr><td>" * 20_000,
    "nested links": "<object><a href=/x>w " * 50_000,
    "nested authors": '<span class=author itemprop="author">' * 50_000 + "x",
    "nested comments": "<div class=comments>" * 50_000 + P,
    "many attributes": "<div " + " ".join(f"a{n}=1" for n in range(200_000)) + f">{P}</div>",
    "one text": "<p>" + "word " * 3_300_000,
    "one word": "<p>" + "x" * 16_000_000,
    "many paragraphs": f"{P}\n" * 80_000,
    "many breaks": "some words<br>" * 1_000_000,
    "many links": "<a href=/x>some link text here</a>" * 200_000,
    "many names": "".join(f'<div class="c{n}">some text of a kind</div>' for n in range(60_000)),
    "equal names": f'<div class="post-content">{P}</div>' * 15_000,
    "many headings": f"<h1>title</h1><div class=b>{P}</div>" * 15_000,
    "many metas": "<meta name=author content=x>" * 100_000,
    "a long name": '<div class="' + "related-a " * 500_000 + f'">{P}',
    "a long style": '<div style="' + "x" * 10_000_000 + f'">{P}',
    "a long title": "<title>" + "a " * 2_000_000 + "</title>" + P,
    "deep JSON": LD + '{"a":[' * 100_000,
    "wide JSON": LD + '{"@type":"X","a":[' + '{"b":1},' * 200_000 + "1]}</script>",
    "half dates": "<p>" + "2019-" * 500_000,
    "spaces": "<p>" + " " * 5_000_000 + "x",
    "Chinese": "<p>河边的柳树都绿了，孩子们在放风筝。</p>" * 100_000,
    "binary": bytes(range(256)).decode("latin-1") * 20_000,
    "long names": "".join(
        f'<div class="{"a-b_c " * 60}{n}">some text</div>' for n in range(20_000)
    ),
    "a line by many": (f"<p>by A{'b' * 250}!</p><p>by A{'b.' * 125}!</p>") * 1_000,
    "a date and spaces": f'<time datetime="2019-01-01{" " * 390}x">{P}',
    "a line of dots": f"<h1>{'· ' * 140}</h1><p>comments {'!' * 50}x</p>{P}" * 1_000,
    "titles of one letter": f"<title>{'河-' * 2_000}</title>{P}",
    "endless comments": f"<div><h3>Comments</h3>{P}" + f"<h3>Comments</h3>{P}" * 20_000,
    "junk lines": ("<p>read more " + "a" * 280 + "</p>") * 20_000,
}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_hostile_documents_are_read_in_time(name: str) -> None:
    document = parse_document(DOCUMENTS[name])
    started = time.process_time()
    article = extract_article(document, "https://a.test/x", now=NOW)
    judged = judge_class(document, "https://a.test/x")
    assert time.process_time() - started < WITHIN_S
    assert judged.page_class in ("nav", "data")
    assert len(article.text) < 600_000


def test_text_behind_many_attributes_is_found() -> None:
    assert article_of(DOCUMENTS["many attributes"]).text == PARAGRAPHS[0]


def test_a_very_long_article_is_cut() -> None:
    texts = tuple(f"{number}. {PARAGRAPHS[number % 4]}" for number in range(20_000))
    text = article_of(page(paragraphs(texts))).text
    assert text.startswith(f"{texts[0]}\n\n{texts[1]}\n\n")
    assert 400_000 < len(text) < 600_000


_MARKUP = (
    "<div>|</div>|<p>|</p>|<article>|<a href=x>|</a>|<ul>|<li>|</ul>|<table>|<tr>|<td>|<br>|<h1>|"
    "<pre>|<nav>|<header>|<section class=related>|<div id=comments>|<time datetime=2019>|<meta>|"
    "<title>|</title>|<script>|</script>|<body>|</body>|<svg>|<img src=a.jpg>"
)
_PARTS = st.one_of(
    st.sampled_from(_MARKUP.split("|")), st.text(max_size=60), st.just(PARAGRAPHS[0])
)


@given(st.lists(_PARTS, max_size=40), st.text(max_size=20))
def test_nothing_raises(parts: list[str], url: str) -> None:
    document = parse_document("".join(parts))
    article = extract_article(document, url, now=NOW)
    judge_class(document, url)
    assert "\0" not in article.text
