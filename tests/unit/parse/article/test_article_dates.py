"""When an article was published: the dates pages write, and which of them counts."""

import pytest
from article_pages import NOW, article_of, news_page, page, paragraphs
from hypothesis import given
from hypothesis import strategies as st

from skitter.parse.article.dates import read_date, read_stated_date


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("2019-11-20T07:17:00Z", "2019-11-20T07:17:00Z"),
        ("2019-11-20T07:17:00.123+0800", "2019-11-20T07:17:00+08:00"),
        ("2019-11-20 07:17:30 -05:00", "2019-11-20T07:17:30-05:00"),
        ("2019-11-20T07:17", "2019-11-20T07:17:00"),
        ("2019-11-20", "2019-11-20"),
        ("20191120", "2019-11-20"),
        ("1574233020", "2019-11-20T06:57:00Z"),
        ("1574233020000", "2019-11-20T06:57:00Z"),
        ("Wed, 20 Nov 2019 07:17:00 GMT", "2019-11-20T07:17:00Z"),
        ("November 20, 2019 7:17 pm EST", "2019-11-20T19:17:00-05:00"),
        ("Posted Nov. 20, 2019 at 12:05 a.m.", "2019-11-20T00:05:00"),
        ("20 November 2019", "2019-11-20"),
        ("3rd March 2020 10:05 UTC+2", "2020-03-03T10:05:00+02:00"),
        ("20 de noviembre de 2019", "2019-11-20"),
        ("20. November 2019 um 12:30", "2019-11-20T12:30:00"),
        ("20.11.2019 12:30", "2019-11-20T12:30:00"),
        ("25/10/2018", "2018-10-25"),
        ("10/25/2018", "2018-10-25"),
        ("2016年10月14日 07:17", "2016-10-14T07:17:00"),
        ("2016年10月14日下午3时05分", "2016-10-14T15:05:00"),
        ("发布时间：2020-01-02 10:00", "2020-01-02T10:00:00"),
        ("2019년 11월 20일", "2019-11-20"),
        ("2019. 11. 20. 07:17", "2019-11-20T07:17:00"),
    ],
)
def test_dates_are_read_as_pages_write_them(text: str, date: str) -> None:
    assert read_stated_date(text, NOW) == date


@pytest.mark.parametrize(
    "text",
    [
        "", "no date", "04/05/2018", "2019-02-30", "2019-13-01", "1970-01-01", "1989-12-31",
        "2031-01-01", "0", "99999999999", "call 555-2019-11", "12:30", "Smarch 3, 2019",
    ],
)  # fmt: skip
def test_what_is_no_date_or_cannot_be_one_is_none(text: str) -> None:
    assert read_stated_date(text, NOW) is None


def test_a_date_later_than_now_is_none_in_whatever_zone() -> None:
    now = 1_574_233_020  # 2019-11-20T06:57Z
    assert read_date("2019-11-20T09:00:00+03:00", now) == "2019-11-20T09:00:00+03:00"
    assert read_date("2019-11-20T09:00:00Z", now) is None
    assert read_date("2019-11-20 20:00", now) == "2019-11-20T20:00:00"
    assert read_date("2019-11-20 23:00", now) is None
    assert read_date("2019-11-21", now) is None


@given(st.text(alphabet="0123456789-/.:年月日TZ+ apmNov,", max_size=40))
def test_nothing_that_looks_like_a_date_makes_trouble(text: str) -> None:
    found = read_stated_date(text, NOW)
    assert found is None or "1990" <= found[:4] <= "2026"


JSON_LD = (
    '<script type="application/ld+json">{"@graph": [{"@type": "WebPage"}, {"@type": "NewsArticle", '
    '"datePublished": "2019-11-20T07:17:00+01:00"}]}</script>'
)
META = '<meta property="article:published_time" content="2019-11-21T08:00:00Z">'
TIME = '<time datetime="2019-11-22T09:00Z">Friday</time>'
LINE = "<p>Published 23 November 2019 10:00</p>"
BODY = f"<div>{paragraphs()}</div>"


@pytest.mark.parametrize(
    ("html", "date"),
    [
        (news_page(TIME + LINE + BODY, JSON_LD + META), "2019-11-20T07:17:00+01:00"),
        (news_page(TIME + LINE + BODY, META), "2019-11-21T08:00:00Z"),
        (news_page(TIME + LINE + BODY), "2019-11-22T09:00:00Z"),
        (news_page(LINE + BODY), "2019-11-23T10:00:00"),
        (news_page(BODY), None),
        (news_page(f"<p>16 May 2018</p><p>Updated 17 May 2018</p>{BODY}"), "2018-05-17"),
        (news_page(BODY, '<meta name="pubdate" content="never">'), None),
    ],
    ids=["json-ld", "meta", "time", "line", "none", "labelled", "no date"],
)
def test_the_most_trusted_statement_counts(html: str, date: str | None) -> None:
    assert article_of(html).published == date


def test_a_day_in_the_address_counts_before_a_line_unless_the_line_knows_the_time() -> None:
    url = "https://news.test/2019/11/23/bridge"
    assert article_of(news_page(BODY), url).published == "2019-11-23"
    assert article_of(news_page(LINE + BODY), url).published == "2019-11-23T10:00:00"
    assert article_of(news_page(f"<p>1 May 2018 10:00</p>{BODY}"), url).published == "2019-11-23"


def test_a_date_far_from_the_title_is_not_that_of_the_article() -> None:
    html = page(f"<h1>Bridge reopens</h1>{BODY}" + "<p>More</p>" * 40 + "<p>1 May 2018 10:00</p>")
    assert article_of(html).published is None
