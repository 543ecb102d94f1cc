"""Rules tried on a saved page: the same links and rule sets as in a crawl."""

from pathlib import Path
from typing import Any

from skitter.config import RunOptions
from skitter.job.spec import check_job
from skitter.wiring.trial import Trial, TriedLink, try_rules

ENTRY = "http://a.test/list"
LIST = {"from": "//li", "detail_url": "a/@href", "next": "//i/@href", "fields": {"t": "a"}}
PAGE = (
    "<nav><a href='/'>home</a></nav>"
    "<ul><li><a href='/n/1'>One</a></li><li><a href='http://b.test/2'>Two</a></li></ul>"
    "<i href='?p=2'>more</i><a href='?p=2'>2</a>"
)


async def tried(tmp_path: Path, html: str = PAGE, **job: Any) -> Trial:
    page = tmp_path / "page.html"
    page.write_text(html, encoding="utf-8")
    made = check_job({"entries": [ENTRY], **job}, "job")
    return await try_rules(made, str(page), RunOptions(data=tmp_path), None)


def by_path(trial: Trial) -> dict[str, TriedLink]:
    return {link.url.removeprefix("http://a.test"): link for link in trial.links}


async def test_a_list_job_follows_what_its_list_finds_and_nothing_else(tmp_path: Path) -> None:
    links = by_path(await tried(tmp_path, kind="list", list=LIST))
    told = {path: (link.follow, link.page_class) for path, link in links.items()}
    assert told == {
        "/n/1": (True, "data"),
        "http://b.test/2": (False, None),
        "/list?p=2": (True, "nav"),
        "/": (False, None),
    }
    assert links["/n/1"].why == "list.detail_url"
    assert links["/list?p=2"].why == "list.next"
    assert "only what [list] finds" in links["/"].why
    assert "scope" in links["http://b.test/2"].why


async def test_link_rules_add_to_what_a_list_finds(tmp_path: Path) -> None:
    links = by_path(await tried(tmp_path, kind="list", list=LIST, links=[{"allow": ["/$"]}]))
    assert (links["/"].follow, links["/"].why) == (True, "links[0] fits")
    assert links["/n/1"].follow


async def test_links_have_the_class_that_their_rule_says(tmp_path: Path) -> None:
    rules = [{"allow": ["/n/"], "class": "data"}, {"allow": ["p="], "class": "nav"}, {}]
    links = by_path(await tried(tmp_path, links=rules))
    told = [links[path].page_class for path in ("/n/1", "/list?p=2", "/")]
    assert told == ["data", "nav", "data"]


async def test_an_entry_that_is_looked_at_again_is_read_as_in_a_crawl(tmp_path: Path) -> None:
    detail = {"fields": {"first": {"css": "li"}}}
    for more in ({}, {"refresh": "1h"}, {"refresh": {"policy": "window", "days": 1}}):
        trial = await tried(tmp_path, detail=detail, **more)
        assert (trial.rule, trial.picked.fields) == ("detail", {"first": "One"})
    named = await tried(tmp_path, detail=detail, refresh="1h", links=[{"class": "nav"}])
    assert named.rule == "none"


async def test_an_expression_that_would_hold_up_the_service_is_not_evaluated(
    tmp_path: Path,
) -> None:
    slow = "//*[count(//*[count(//*)>0])>0]"
    links = [{"restrict_xpaths": [slow]}]
    fields = {"bad": {"xpath": slow}, "good": {"xpath": "//h1"}}
    html = "<h1>T</h1><a href=/x>x</a>" + "<p>x</p>" * 8_000
    trial = await tried(tmp_path, html, kind="site", detail={"fields": fields}, links=links)
    assert trial.picked.fields == {"bad": None, "good": "T"}
    assert trial.picked.problems == [
        "bad: not read, its expression would take too long on this page"
    ]
    assert not by_path(trial)["/x"].follow


async def test_a_page_that_says_there_is_nothing_is_told_to_look_like_it(tmp_path: Path) -> None:
    gone = await tried(tmp_path, "<title>Page not found</title><h1>Sorry</h1>")
    assert gone.looks_like == 'an error page: it says "not found"'
    assert (await tried(tmp_path)).looks_like.startswith("nav: ")
