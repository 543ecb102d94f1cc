"""Jobs are added, paused, resumed, cleared and cancelled while members work on them."""

import json
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from clusters import Background, ManyHosts, each_once, node
from crawling import command, hurry, lines_in
from serving import SmallSite
from stores import own_store, wait_until

pytestmark = pytest.mark.e2e

SLOW = {"delay": 0.6}


class Place:
    """Where jobs are: flags that name it, and files for them."""

    def __init__(self, folder: Path, site: ManyHosts, *flags: str | Path) -> None:
        self.folder = folder
        self.site = site
        self.flags = flags
        (folder / "hosts").write_text(site.hosts_file)

    def file(self, job: str = "many", **fields: Any) -> Path:
        given = {
            "id": job,
            "owner": "ana",
            "entries": [self.site.entry],
            "scope": "domain",
            "sitemaps": "no",
            "polite": SLOW,
            **fields,
        }
        path = self.folder / f"{job}.json"
        path.write_text(json.dumps(given))
        return path

    def job(self, *words: str | Path) -> dict[str, Any]:
        ended = command("job", *words, *self.flags, "--json")
        assert ended.code == 0, ended
        [line] = ended.out.splitlines()
        return dict(json.loads(line))

    def said(self, *words: str | Path) -> str:
        ended = command("job", *words, *self.flags)
        assert ended.code == 0, ended
        return ended.out

    def refused(self, *words: str | Path) -> str:
        ended = command("job", *words, *self.flags)
        assert (ended.code, ended.out) == (2, ""), ended
        [line] = ended.err.splitlines()
        return line

    def state(self, job: str = "many") -> str:
        return str(self.job("show", job)["state"])

    def until_quiet(self) -> None:
        """Wait until the site is left alone for longer than the delay of the job."""

        def left_alone() -> bool:
            before = len(self.site.asked)
            time.sleep(2 * SLOW["delay"])
            return len(self.site.asked) == before

        wait_until("quiet", left_alone)


def up(stack: ExitStack, place: Place, data: Path, workers: int = 1) -> Background:
    reach = ("--allow-private", "--hosts", place.folder / "hosts", "--workers", str(workers))
    made = Background(place.folder, "up", "--data", data, "--port", "0", *reach)
    stack.enter_context(made)
    made.until_told("listening on ")
    return made


def pages(place: Place, least: int) -> Callable[[], bool]:
    return lambda: place.job("show", "many")["pages"] >= least


def paused_and_resumed(place: Place, member: Background) -> None:
    """Pause the job in the middle, see that nothing is asked, let it go on to its end."""
    member.until("pages", lambda: len(place.site.asked) > 10)
    assert place.state() == "running"
    assert place.said("pause", "many").startswith("job many: paused, ")
    place.until_quiet()
    assert place.job("pause", "many")["state"] == "paused", "twice is fine"
    facts = place.job("show", "many")
    assert (facts["state"], facts["leased"]) == ("paused", 0)
    assert facts["pages"] == len(place.site.asked), "what was under way is recorded"
    assert facts["pages"] < len(place.site.urls)
    hurry(*place.flags)
    assert place.job("resume", "many")["state"] == "running"
    member.until("the end", lambda: place.state() == "finished")


def test_a_master_is_given_a_job_that_is_paused_and_goes_on(tmp_path: Path) -> None:
    data = tmp_path / "state"
    with ManyHosts(6, 8) as site, ExitStack() as stack:
        place = Place(tmp_path, site, "--data", data)
        master = up(stack, place, data)
        file = place.file()
        assert place.said("add", file) == "many\n"
        paused_and_resumed(place, master)
        each_once(site, data / "out" / "many.jsonl")
        again = command("job", "add", file, *place.flags)
        assert again.out == "many\n"
        assert "is there already, nothing was added; finished" in again.err

        table = place.said("list").splitlines()
        assert table[0].split() == [
            *("id", "kind", "owner", "state", "priority", "pages", "queued", "rejected")
        ]
        assert table[1].split() == ["many", "site", "ana", "finished", "5", "55", "0", "0"]
        shown = place.said("show", "many")
        assert "limits.queue" in shown
        assert str(data / "out" / "many.jsonl") in shown

        for verb in ("pause", "resume", "cancel", "show"):
            assert "did you mean many?" in place.refused(verb, "mny")
        assert "known: many" in place.refused("clear", "zzz", "--class", "nav")
        assert "polite.delay is 0.6 there and 0.3 here" in place.refused(
            "add", place.file(polite={"delay": 0.3})
        )
        assert master.interrupted() == 130

        # The directory alone answers as well, and takes jobs for the next time.
        assert place.state() == "finished"
        idle = place.file("later", sinks=[{"type": "jsonl", "path": "own.jsonl"}])
        assert place.said("add", idle) == "later\n"
        assert place.state("later") == "waiting"
        assert place.job("cancel", "later")["state"] == "cancelled"
        assert (data / "out" / "own.jsonl").exists()
        assert "was cancelled" in place.refused("pause", "later")
        assert "was cancelled; give it another id" in place.refused("add", idle)


def test_nodes_take_up_a_job_that_is_added_to_their_store(tmp_path: Path) -> None:
    store = own_store()
    with ManyHosts(6, 8) as site, ExitStack() as stack:
        place = Place(tmp_path, site, "--store", store)
        assert place.said("list") == "no jobs\n"
        sinks = [{"type": "jsonl", "path": "x.jsonl"}]
        assert "sinks: nobody writes files" in place.refused("add", place.file(sinks=sinks))
        assert "limits.time: nobody minds" in place.refused("add", place.file(limits={"time": 9}))
        assert place.job("add", place.file())["added"]
        assert place.state() == "waiting", "nobody is there"
        assert place.job("clear", "many", "--class", "data")["cleared"] == 1
        assert place.job("clear", "many", "--class", "nav", "--restart")["restarted"] == 1
        run = site.run(tmp_path)
        member = stack.enter_context(node(tmp_path / "n", run, "--store", store, "--workers", "1"))
        paused_and_resumed(place, member)
        assert not place.job("add", place.file())["added"]
        exported = command("job", "export", "many", "--store", store)
        assert len(exported.out.splitlines()) == 55, exported
        crawl = command("crawl", "--job", place.file(), "--store", store, "--data", tmp_path / "c")
        assert crawl.code == 2
        assert "was added without files" in crawl.err


@pytest.mark.parametrize("shared", [False, True], ids=["directory", "store"])
def test_a_crawl_waits_while_its_job_is_paused_and_ends_when_it_is_cancelled(
    shared: bool, tmp_path: Path
) -> None:
    data, out = tmp_path / "state", tmp_path / "pages.jsonl"
    with ManyHosts(4, 30) as site, ExitStack() as stack:
        store = ("--store", own_store()) if shared else ()
        place = Place(tmp_path, site, *(store or ("--data", data)))
        words = ("--job", place.file(), "--data", data, "--out", out, *store)
        reach = ("--allow-private", "--hosts", tmp_path / "hosts")
        crawl = stack.enter_context(Background(tmp_path, "crawl", *words, *reach))
        crawl.until("pages", lambda: lines_in(out) > 10)
        place.job("pause", "many")
        place.until_quiet()
        crawl.until_told("paused; to go on: skitter job resume many")
        place.job("resume", "many")
        before = len(site.asked)
        crawl.until("more", lambda: len(site.asked) > before)
        facts = place.job("cancel", "many")
        assert (facts["state"], facts["queued"]) == ("cancelled", 0)
        assert crawl.ended() == 0
        assert "Cancelled, the records so far are kept: " in crawl.output
        assert lines_in(out) == place.job("show", "many")["pages"] > 10
        again = command("crawl", *words, *reach)
        assert again.code == 2
        assert "was cancelled; --fresh to start it over" in again.err


def test_a_master_cancels_one_job_and_goes_on_with_another(tmp_path: Path) -> None:
    data = tmp_path / "state"
    with ManyHosts(3, 20) as site, ManyHosts(2, 4) as other, ExitStack() as stack:
        place = Place(tmp_path, site, "--data", data)
        (tmp_path / "hosts").write_text(site.hosts_file)
        master = up(stack, place, data)
        place.said("add", place.file())
        master.until("pages", lambda: len(site.asked) > 8)
        assert place.job("cancel", "many")["state"] == "cancelled"
        kept = lines_in(data / "out" / "many.jsonl")
        assert kept > 0
        place.said("add", place.file("two", entries=[other.entry], polite={"delay": 0}))
        master.until("the other", lambda: place.state("two") == "finished")
        assert lines_in(data / "out" / "many.jsonl") == kept
        assert len(site.asked) <= kept + 5, "what was under way, and no more"
        states = [line.split()[3] for line in place.said("list").splitlines()[1:]]
        assert states == ["cancelled", "finished"]


def test_of_two_jobs_that_run_the_more_urgent_one_goes_first(tmp_path: Path) -> None:
    data = tmp_path / "state"
    pages = {f"/{job}/{n}": f"<p>{job} {n}</p>" for job in ("calm", "urgent") for n in range(20)}
    with SmallSite(pages) as site, ExitStack() as stack:
        words = ("up", "--data", data, "--port", "0", "--allow-private", "--workers")
        with Background(tmp_path, *words, "0") as idle:
            idle.until_told("listening on ")
        for job, priority in (("calm", 2), ("urgent", 8)):
            file = tmp_path / f"{job}.json"
            entries = [site.url(path) for path in pages if job in path]
            given = {"id": job, "entries": entries, "depth": 0, "priority": priority}
            polite = {"delay": 0, "per_host": 1, "robots": False}
            file.write_text(json.dumps({**given, "sitemaps": "no", "polite": polite}))
            assert command("job", "add", file, "--data", data).code == 0
        master = stack.enter_context(Background(tmp_path, *words, "1"))
        master.until("all pages", lambda: len(site.asked) == len(pages))
        asked = [path.split("/")[1] for path in site.asked]
    assert asked == ["urgent"] * 20 + ["calm"] * 20


def test_the_nav_queue_is_cleared_and_restarted_alone(tmp_path: Path) -> None:
    data = tmp_path / "state"
    with ManyHosts(4, 5) as site, ExitStack() as stack:
        place = Place(tmp_path, site, "--data", data)
        master = up(stack, place, data, workers=0)
        links = [
            {"allow": [r"/h\d+\.many\.test/$"], "class": "nav"},
            {"allow": [r"/\d+$"], "class": "data"},
        ]
        place.said("add", place.file(links=links, polite={"delay": 0}))
        assert place.said("clear", "many", "--class", "nav") == "job many: 0 nav URLs forgotten\n"
        assert place.job("clear", "many", "--class", "data")["cleared"] == 1
        assert "wanted --class nav" in place.refused(
            "clear", "many", "--class", "data", "--restart"
        )
        assert place.job("show", "many")["queued"] == 0
        said = place.said("clear", "many", "--class", "nav", "--restart")
        assert said == "job many: 0 nav URLs forgotten, 1 of its entries offered anew\n"
        assert master.interrupted() == 130
        master = up(stack, place, data)
        master.until("the end", lambda: place.state() == "finished")
        assert len(site.asked) == 25
        place.job("clear", "many", "--class", "nav", "--restart")
        master.until("the entry again", lambda: site.asked.count("/") == 2)
        wait_until("its end", lambda: place.state() == "finished")
        assert len(site.asked) == 26, "what is known already is not fetched again"
