"""``skitter rule try``: rules on one page, before a crawl is let loose."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from crawling import command
from serving import SmallSite

pytestmark = pytest.mark.e2e

TEXT = "A sentence of the notice that goes on for a while, as notices do. " * 8
PAGES = {
    "/": "<table>"
    '<tr><td><a href="/n/1">One</a></td><td>2024-01-02</td></tr>'
    "<tr><td>Two</td><td>soon</td></tr></table>"
    '<main><a href="/n/2">2</a></main><a href="/out?x">x</a><a rel="next" href="/?p=2">2</a>',
    "/n/1": f"<h1>Notice 1</h1><p>{TEXT}</p><p>{TEXT}</p>",
    "/moved": "> /n/1",
    "/robots.txt": "User-agent: *\nDisallow: /secret",
    "/secret": "<h1>Secret</h1>",
}
JOB = """
entries = ["{site}"]
kind = "list"
polite = {{delay = 0}}

[[links]]
allow = ['/n/\\d+$']
restrict_css = ["main"]
class = "data"
priority = 7

[list]
from = "//tr"
detail_url = "td/a/@href"
next = "//a[@rel='next']/@href"

[list.fields]
date = {{xpath = "td[2]/text()", date = true, required = true}}

[detail.fields]
title = {{css = "h1", required = true}}
body = {{article = true}}
author = {{css = ".author", required = {required}}}
"""


@pytest.fixture
def site() -> Iterator[SmallSite]:
    with SmallSite(PAGES) as served:
        yield served


def job_of(site: SmallSite, folder: Path, *, required: bool = False) -> Path:
    file = folder / "job.toml"
    text = JOB.format(site=site.url(), required=str(required).lower())
    file.write_text(text, encoding="utf-8")
    return file


def tried(*words: str | Path, code: int = 0) -> dict[str, Any]:
    ended = command("rule", "try", *words, "--allow-private", "--json")
    assert ended.code == code, ended
    found: dict[str, Any] = json.loads(ended.out)
    return found


def test_a_page_is_fetched_and_shown_as_the_crawl_would_take_it(
    site: SmallSite, tmp_path: Path
) -> None:
    found = tried(job_of(site, tmp_path), site.url("/n/1"))
    assert (found["rule"], found["class"], found["missing"]) == ("detail", "data", [])
    assert found["fields"]["title"] == "Notice 1"
    assert found["fields"]["body"].startswith("A sentence of the notice")
    assert found["fields"]["author"] is None
    assert found["looks_like"].startswith("data: ")
    assert found["article"]["text"] == found["fields"]["body"]
    shown = command("rule", "try", tmp_path / "job.toml", site.url("/n/1"), "--allow-private").out
    assert "title   Notice 1" in shown
    assert "author  nothing found" in shown
    assert "\x1b[" not in shown


def test_what_is_shown_has_colours_where_they_can_be_seen(
    site: SmallSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    file = job_of(site, tmp_path, required=True)
    shown = command("rule", "try", file, site.url("/n/1"), "--allow-private").out
    bold_red, off = "\x1b[1;31m", "\x1b[0m"
    assert f"{bold_red}required and empty: author{off}" in shown
    assert f"\x1b[1m{site.url('/n/1')}{off}" in shown
    listed = command("rule", "try", file, site.url(), "--allow-private").out
    [problem] = [line for line in listed.splitlines() if "problem:" in line]
    assert problem.startswith("\x1b[33m")


def test_an_empty_required_field_ends_with_1(site: SmallSite, tmp_path: Path) -> None:
    file = job_of(site, tmp_path, required=True)
    found = tried(file, site.url("/n/1"), code=1)
    assert found["missing"] == ["author"]
    ended = command("rule", "try", file, site.url("/n/1"), "--allow-private")
    assert ended.code == 1
    assert ended.out.endswith("required and empty: author\n")


def test_a_list_has_items_and_every_link_the_rule_that_decided(
    site: SmallSite, tmp_path: Path
) -> None:
    found = tried(job_of(site, tmp_path), site.url(), code=1)
    assert found["rule"] == "list"
    assert found["items"] == [
        {"url": site.url("/n/1"), "fields": {"date": "2024-01-02"}},
        {"url": None, "fields": {"date": None}},
    ]
    assert found["next"] == [site.url("/?p=2")]
    assert found["problems"] == ["date: 'soon' is no date"]
    links = {link["url"].removeprefix(site.url("")): link for link in found["links"]}
    assert links["/n/1"]["follow"]
    assert links["/n/1"]["why"] == "list.detail_url"
    assert links["/?p=2"]["why"] == "list.next"
    assert links["/n/2"]["why"] == "links[0] fits: class data, priority 7"
    assert (links["/out?x"]["follow"], links["/out?x"]["why"]) == (False, "no link rule fits")


def test_a_saved_page_needs_no_network(site: SmallSite, tmp_path: Path) -> None:
    file, page = job_of(site, tmp_path), tmp_path / "saved.html"
    page.write_bytes("<meta charset=gb18030><h1>通知</h1>".encode("gb18030"))
    found = tried(file, page, "--rule", "detail")
    assert found["fields"]["title"] == "通知"


def test_what_cannot_be_tried_is_named(site: SmallSite, tmp_path: Path) -> None:
    file = job_of(site, tmp_path)
    for words, why in (
        ([file, site.url("/secret")], "robots.txt forbids it; save the page and name the file"),
        ([file, site.url("/gone")], "status 404; wanted a page that is there"),
        ([file, tmp_path / "none.html"], "No such file or directory; wanted a URL or a file"),
        ([tmp_path / "none.toml", site.url()], "none.toml"),
        ([file, site.url("/n/1"), "--rule", "x"], "rule 'x': there is none; wanted one of detail"),
    ):
        ended = command("rule", "try", *words, "--allow-private")
        assert (ended.code, ended.out) == (2, ""), ended
        assert why in ended.err
    ended = command("rule", "try", file, site.url())
    assert ended.code == 2
    assert "private" in ended.err or "loopback" in ended.err


def test_in_a_news_job_articles_lead_nowhere_and_jumps_lead_on(tmp_path: Path) -> None:
    prose = "<p>" + "The committee spoke of the bridge all winter. " * 20 + "</p>"
    pages = {
        "/": '<a href="/n/1">one</a><a href="/list">list</a><a href="/go?to=1">go</a>',
        "/n/1": f'<h1>One</h1>{prose}<a href="/n/2">two</a>',
    }
    with SmallSite(pages) as site:
        job = tmp_path / "job.toml"
        head = (
            f'entries = ["{site.url()}"]\nkind = "news"\njump = ["/go"]\npolite = {{delay = 0}}\n'
        )
        job.write_text(head)
        front = tried(job, site.url())
        article = tried(job, site.url("/n/1"))
        job.write_text(head + "article = ['/list']\n")
        said = tried(job, site.url())
        told = tried(job, site.url("/n/1"))
    assert front["class"] == "nav"
    links = {link["url"].removeprefix(site.url("")): link for link in front["links"]}
    assert links["/n/1"]["why"] == "told apart once it is fetched"
    assert "leads" in links["/go?to=1"]["why"]
    assert article["class"] == "data"
    assert [link["follow"] for link in article["links"]] == [False]
    links = {link["url"].removeprefix(site.url("")): link for link in said["links"]}
    assert (links["/list"]["page_class"], links["/n/1"]["page_class"]) == ("data", "nav")
    assert told["class"] == "nav"
