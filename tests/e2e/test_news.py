"""News jobs against a site that publishes while it is watched."""

import json
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest
from crawling import Record, Run, command
from newsroom import Newsroom
from serving import Answer, SmallSite
from stores import own_store

pytestmark = pytest.mark.e2e

PERIOD_S = 2.0
SLACK_S = 15.0
"""What a busy machine may add to a period."""


def run_of(entry: str, folder: Path, more: str = "", *flags: str) -> Run:
    folder.mkdir(exist_ok=True)
    job = folder / "job.toml"
    job.write_text(
        f'id = "gazette"\nkind = "news"\nentries = ["{entry}"]\nrefresh = "{PERIOD_S:g}s"\n{more}\n'
    )
    return Run(folder, ["--job", str(job)], ["--allow-private", "--delay", "0", *flags])


@contextmanager
def watching(run: Run) -> Iterator[subprocess.Popen[str]]:
    """Let a crawl run that does not end by itself; it is told to at the end."""
    process = run.start()
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=60)
        assert process.returncode in (130, -signal.SIGKILL), (out, err)


def wait_for(what: Callable[[], object], *, within_s: float = 90.0, why: str = "") -> None:
    ends = time.monotonic() + within_s
    while not what():
        assert time.monotonic() < ends, why
        time.sleep(0.05)


def articles(records: list[Record]) -> list[Record]:
    return [record for record in records if record["page_class"] == "data"]


def all_recorded(run: Run, room: Newsroom) -> bool:
    found = {record["url"] for record in articles(run.records_so_far())}
    return found == {room.url(one.path) for one in room.articles}


@pytest.mark.parametrize(
    ("where", "entry"), [("directory", "/moved"), ("redis", "/"), ("workers", "/")]
)
def test_every_article_is_recorded_once_within_a_period(
    tmp_path: Path, where: str, entry: str
) -> None:
    flags = {"redis": lambda: ["--store", own_store()], "workers": lambda: ["--workers", "2"]}
    with Newsroom() as room:
        run = run_of(room.url(entry), tmp_path, "", *flags.get(where, list)())
        with watching(run):
            wait_for(lambda: all_recorded(run, room), why="the first articles")
            for section in ("world", "sport"):
                new, at = room.publish(section), time.time()
                wait_for(lambda path=new.path: room.asked(path), why=new.path)  # type: ignore[misc]
                assert room.asked(new.path)[0].at - at < PERIOD_S + SLACK_S
            wait_for(lambda: all_recorded(run, room), why="the new articles")
            wait_for(lambda: len(room.asked("/culture/")) >= 3, why="a quiet section comes again")
        records = run.records()
    read = articles(records)
    assert Counter(record["url"] for record in read) == {
        room.url(one.path): 1 for one in room.articles
    }
    assert all(len(room.asked(one.path)) == 1 for one in room.articles)
    by_title = {record["title"]: record for record in read}
    assert by_title.keys() == {one.title for one in room.articles}
    for one in room.articles:
        record = by_title[one.title]
        assert record["author"] == "Ada Quill"
        assert record["published"] == "2026-11-16T08:00:00+01:00"
        assert record["text"].count("\n\n") == 5
        assert "Home" not in record["text"]
    culture = [record for record in records if record["url"] == room.url("/culture/")]
    assert [record["visit"] for record in culture] == list(range(1, len(culture) + 1))
    assert culture[0]["changed"] is None
    assert {record["changed"] for record in culture[1:]} == {False}
    assert {one.status for one in room.asked("/culture/")[1:]} == {304}
    assert {record["title"] for record in culture} == {"Culture"}
    sport = [record for record in records if record["url"] == room.url("/sport/")]
    assert Counter(record["changed"] for record in sport[1:])[True] == 1
    assert {record["status"] for record in sport} == {200}


def test_a_killed_watch_goes_on_where_it_was(tmp_path: Path) -> None:
    with Newsroom(articles=30) as room:
        run = run_of(room.url(), tmp_path, "[polite]\ndelay = 0.05\n")
        run.flags = ["--allow-private"]
        for share in (10, 25):
            process = run.start()
            wait_for(lambda share=share: len(room.log) >= share)  # type: ignore[misc]
            process.kill()
            process.communicate(timeout=60)
        seen = len(room.asked("/"))
        new = room.publish()
        with watching(run):
            wait_for(lambda: all_recorded(run, room), why="all articles")
            wait_for(lambda: len(room.asked("/")) > seen + 1, why="the entry comes again")
        counted = Counter(record["url"] for record in articles(run.records()))
    assert counted == {room.url(one.path): 1 for one in room.articles}
    assert new.path in {one.path for one in room.articles}
    # What was in flight at a kill is asked for again; nothing else is.
    again = [one.path for one in room.articles if len(room.asked(one.path)) > 1]
    assert len(again) <= 10, again


@pytest.mark.parametrize("entry", ["/feed.xml", "/sitemap.xml"])
def test_a_feed_or_a_sitemap_is_an_entry_and_is_read_again_on_condition(
    tmp_path: Path, entry: str
) -> None:
    with Newsroom() as room:
        run = run_of(room.url(entry), tmp_path)
        with watching(run):
            wait_for(lambda: all_recorded(run, room))
            room.publish("sport")
            wait_for(lambda: all_recorded(run, room), why="the new one")
            wait_for(lambda: room.asked(entry)[-1].status == 304, why="nothing new")
        assert {record["page_class"] for record in run.records()} == {"data"}
        assert all(len(room.asked(one.path)) == 1 for one in room.articles)
        page = command("page", room.url(entry), "--data", run.data, "--json")
    assert [visit["number"] for visit in json.loads(page.out)["visits"]][:2] == [1, 2]


def test_an_entry_that_fails_is_looked_at_again(tmp_path: Path) -> None:
    with SmallSite({"/": Answer(b"gone", status=404)}) as site:
        run = run_of(site.url(), tmp_path)
        with watching(run):
            wait_for(lambda: site.asked.count("/") >= 2)
            site.answers["/"] = Answer(b"<title>Back</title><a href='/x'>x</a>")
            wait_for(lambda: "/x" in site.asked)
    told = [(one["url"], one["status"]) for one in run.records()]
    assert told[:2] == [(site.url(), 404)] * 2
    assert (site.url(), 200) in told
    # What was only found, and is not there, does not come again.
    assert site.asked.count("/x") == 1


PROSE = "<p>" + "The committee spoke of the bridge for the whole of the winter. " * 12 + "</p>"


def test_patterns_tell_articles_jumps_lead_on_and_error_pages_are_set_aside(
    tmp_path: Path,
) -> None:
    pages = {
        "/": '<title>News</title><a href="/n/1">one</a><a href="/n/2">two</a>'
        '<a href="/go?to=3">3</a>'
        '<a href="/out?u=http%3A%2F%2F127.0.0.1%3A{port}%2Fn%2F4">4</a><a href="/about">us</a>',
        "/n/1": f"<title>First</title><h1>First</h1>{PROSE}",
        "/n/2": "<title>404 - page not found</title><p>Sorry.</p>",
        "/n/3": f"<title>Third</title>{PROSE}",
        "/n/4": f"<title>Fourth</title>{PROSE}",
        "/go?to=3": "<meta http-equiv=refresh content='0; url=/n/3'>",
        "/about": f"<title>About us</title>{PROSE}",
    }
    with SmallSite(pages) as site:
        port = site.url().rsplit(":", 1)[1].strip("/")
        site.answers["/"] = Answer(pages["/"].replace("{port}", port).encode())
        rules = "article = ['/n/\\d+$']\njump = ['/go\\?', '/out\\?']\n"
        run = run_of(site.url(), tmp_path, rules)
        with watching(run):
            wait_for(lambda: {"/n/1", "/n/2", "/n/3", "/n/4", "/about"} <= set(site.asked))
            wait_for(lambda: len(run.records_so_far()) >= 5)
        records = {one["url"].removeprefix(site.url("")): one for one in run.records()}
        asked = Counter(site.asked)
    assert {path for path, one in records.items() if one["page_class"] == "data"} == {
        "/n/1", "/n/3", "/n/4",
    }  # fmt: skip
    assert records["/about"]["page_class"] == "nav"
    assert records["/n/3"]["referrer"] == site.url()
    assert "/go?to=3" not in records
    assert asked["/go?to=3"] == 1
    assert not any(path.startswith("/out") for path in asked)
    rejects = command("job", "rejects", "gazette", "--data", run.data, "--json")
    [reject] = [json.loads(line) for line in rejects.out.splitlines()]
    assert reject["url"] == site.url("/n/2")
    assert "error page" in reject["reason"]


def test_a_window_lets_every_page_come_again_but_not_at_once(tmp_path: Path) -> None:
    with SmallSite({"/": '<title>A</title><a href="/b">b</a>', "/b": "<p>one</p>"}) as site:
        job = tmp_path / "job.toml"
        job.write_text(
            f'id = "w"\nentries = ["{site.url()}"]\nsitemaps = "no"\n'
            'refresh = {policy = "window", days = 0.00006}\n'
        )
        run = Run(tmp_path, ["--job", str(job)], ["--allow-private", "--delay", "0"])
        with watching(run):
            wait_for(lambda: len(run.records_so_far()) >= 2)
            site.answers["/b"] = Answer(b"<p>two</p>")
        with watching(run):
            wait_for(lambda: len(run.records_so_far()) >= 4)
        records = run.records()
    found = [(one["url"], one["visit"], one["changed"]) for one in records[:4]]
    assert found[2:] == [(site.url(), 2, False), (site.url("/b"), 2, True)]
    assert {one["page_class"] for one in records} == {"data"}
    first, second = (datetime.fromisoformat(one["fetched_at"]) for one in (records[1], records[3]))
    assert (second - first).total_seconds() > 5


def test_a_resolve_job_tells_what_its_entries_are_and_goes_no_further(tmp_path: Path) -> None:
    pages = {
        "/a": '<title>A</title><meta property="og:image" content="/a.png"><a href="/b">b</a>',
    }
    with SmallSite(pages) as site:
        job = tmp_path / "job.toml"
        entries = json.dumps([site.url("/a"), site.url("/gone")])
        job.write_text(f'id = "r"\nkind = "resolve"\nentries = {entries}\n')
        run = Run(tmp_path, ["--job", str(job)], ["--allow-private", "--delay", "0"])
        run.finish()
        found = {one["url"].removeprefix(site.url("")): one for one in run.records()}
    assert found.keys() == {"/a", "/gone"}
    assert (found["/a"]["title"], found["/a"]["image"]) == ("A", site.url("/a.png"))
    assert found["/gone"]["status"] == 404
    assert set(site.asked) == {"/robots.txt", "/a", "/gone"}


def test_a_rule_says_what_a_page_is_and_an_entry_comes_back_from_the_dead(tmp_path: Path) -> None:
    live = f"<title>Live</title>{PROSE}{PROSE}{PROSE}"
    pages: dict[str, Answer | str] = {
        "/": '<a href="/live/">live</a>',
        "/live/": live,
        "/down": Answer(b"", status=302, headers={"Location": "/later"}),
        "/later": Answer(b"not yet", status=404),
        "/next": f"<title>Next</title>{PROSE}",
    }
    with SmallSite(pages) as site:
        rules = '[[links]]\nallow = ["/live/"]\nclass = "nav"\n[[links]]\nallow = ["/next"]\n'
        run = run_of(f'{site.url()}", "{site.url("/down")}', tmp_path, rules)
        with watching(run):
            wait_for(lambda: site.asked.count("/later") >= 2, why="the target of the entry")
            site.answers["/later"] = Answer(b'<title>Now</title><a href="/next">next</a>')
            wait_for(lambda: "/next" in site.asked, why="what it leads to")
            wait_for(lambda: site.asked.count("/live/") >= 2, why="the ticker")
        found = [one for one in run.records() if one["url"] == site.url("/live/")]
    assert {one["page_class"] for one in found} == {"nav"}
