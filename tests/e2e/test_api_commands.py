"""Commands with --api say and do what they do with --data and --store, beside ``skitter up``."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from clusters import ManyHosts
from crawling import SKITTER, Ended, command
from service import ADMIN, TOKENS, Up
from stores import own_store, wait_until

from skitter import Client
from skitter.client.jobs import JobChange
from skitter.errors import ApiError

pytestmark = pytest.mark.e2e


class Place:
    """A service, and a finished job in it that was added over its API."""

    def __init__(self, up: Up, site: ManyHosts, *direct: str) -> None:
        self.up = up
        self.site = site
        self.api = ("--api", up.url, "--token", ADMIN)
        self.direct = direct
        """Flags that name what the service itself goes by."""

    def both(self, *words: str | Path) -> Ended:
        """Run a command on the directory and over the API; both have to end alike."""
        here, there = command(*words, *self.direct), command(*words, *self.api)
        assert (there.code, there.out) == (here.code, here.out)
        return there

    def job(self, name: str, **fields: object) -> Path:
        given = {"id": name, "entries": [self.site.entry], "scope": "domain", "sitemaps": "no"}
        path = self.up.folder / f"{name}.json"
        path.write_text(json.dumps({**given, "polite": {"delay": 0}, **fields}))
        return path


@pytest.fixture(scope="module", params=["embedded", "redis"])
def place(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Place]:
    folder = tmp_path_factory.mktemp("service")
    store = ("--store", own_store()) if request.param == "redis" else ()
    with ManyHosts(hosts=3, pages=4) as site:
        (folder / "hosts").write_text(site.hosts_file)
        reach = ("--allow-private", "--hosts", folder / "hosts")
        up = Up(folder, "--workers", "1", "--warc", folder / "warc", *reach, *store)
        with up.start():
            place = Place(up, site, *(store or ("--data", str(up.data))))
            rules = {"links": [{"allow": ["/"]}], "jump": ["/leads-on/"], "article": ["/x"]}
            added = command("job", "add", place.job("many", **rules), *place.api)
            assert (added.code, added.out) == (0, "many\n"), added.err
            assert "job many: added; " in added.err
            assert "warning: article: only kind news uses it, not site" in added.err
            with Client(up.url, ADMIN) as client:
                wait_until("the job ends", lambda: client.job("many").state == "finished", 60)
            yield place


@pytest.mark.parametrize("how", [(), ("--json",)])
class TestTheSame:
    def test_jobs(self, place: Place, how: tuple[str, ...]) -> None:
        assert "many" in place.both("job", "list", *how).out
        shown = place.both("job", "show", "many", *how).out
        assert "finished" in shown
        assert "rule jump fits no link of " in shown
        assert "rule links[0]" not in shown
        assert place.both("job", "rejects", "many", *how).code == 0

    def test_a_page_and_why(self, place: Place, how: tuple[str, ...]) -> None:
        known = place.both("page", place.site.entry, *how)
        assert "fetched" in known.out
        assert place.both("page", f"{place.site.entry}nowhere", "--job", "many", *how).code == 0

    def test_aliases(self, place: Place, how: tuple[str, ...]) -> None:
        assert place.both("aliases", "list", *how).code == 0

    def test_settings(self, place: Place, how: tuple[str, ...]) -> None:
        words = ("settings", "set", "*.slow.test", "delay=5", "rate=20/60s", "types=text/*")
        told = command(*words, *place.api, *how)
        assert told.code == 0, told.err
        assert "no known host is covered by *.slow.test" in told.err
        for verb in (("list",), ("get", "www.slow.test")):
            assert "20/60s" in place.both("settings", *verb, *how).out
        assert command("settings", "unset", "*.slow.test", "delay", *place.api, *how).code == 0
        assert "delay=5" not in place.both("settings", "list").out
        assert command("settings", "unset", "*.slow.test", *place.api, *how).code == 0


def test_records_come_out_byte_for_byte(place: Place, tmp_path: Path) -> None:
    lines = place.both("job", "export", "many").out.splitlines()
    assert len(lines) == len(place.site.urls) + 1
    out = tmp_path / "pages.csv"
    ended = command("job", "export", "--out", out, *place.api)
    assert (ended.code, out.exists()) == (0, True), ended.err


def test_a_reader_that_leaves_early_is_no_reason_to_complain(place: Place) -> None:
    for how in (place.direct, place.api):
        reading, writing = os.pipe()
        os.close(reading)
        try:
            ended = subprocess.run(
                [SKITTER, "job", "export", "many", *how],
                stdout=writing,
                stderr=subprocess.PIPE,
                text=True,
                # Each line goes out by itself, and so the first one already has no reader.
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
                check=False,
                timeout=60,
            )
        finally:
            os.close(writing)
        assert (ended.returncode, ended.stderr) == (141, "")


def test_seeds_come_out_the_same(place: Place) -> None:
    # Workers write down what they have counted every now and then, so there may be none yet.
    for how in ((), ("--json",)):
        assert place.both("job", "export", "many", "--seeds", "3", *how).code == 0


def test_an_archived_page_is_read_over_the_api(place: Place) -> None:
    file = place.job("kept", archive={}, depth=0)
    assert command("job", "add", file, *place.api).code == 0
    with Client(place.up.url, ADMIN) as client:
        wait_until("the job ends", lambda: client.job("kept").state == "finished", 60)
        page = ("page", place.site.entry, "--job", "kept")
        assert place.both(*page, "--headers").out.startswith("HTTP/1.1 200")
        assert "<title>" in place.both(*page, "--body").out
        unkept = command("page", place.site.entry, "--job", "many", "--body", *place.api)
        assert (unkept.code, "keeps no archive" in unkept.err) == (2, True)
        client.delete_job("kept")


def test_nodes_are_listed_shown_and_given_orders(place: Place) -> None:
    rows, here = (
        list(map(json.loads, command("nodes", "list", *flags, "--json").out.splitlines()))
        for flags in (place.api, place.direct)
    )
    node = rows[0]["node"]
    assert [set(row) for row in rows] == [set(row) for row in here]
    shown = json.loads(command("nodes", "show", node, *place.api, "--json").out)
    alike = json.loads(command("nodes", "show", node, *place.direct, "--json").out)
    assert list(shown) == list(alike)
    assert set(shown["workers"][0]) == set(alike["workers"][0])
    started = command("nodes", "start", node, "--count", "1", *place.api)
    assert (started.code, started.out[:7]) == (0, "worker "), started.err
    number = started.out.split()[1]
    stopped = command("nodes", "stop", node, number, *place.api)
    assert stopped.code == 0, stopped.err
    assert command("nodes", "logs", node, "0", *place.api).out
    assert command("nodes", "logs", node, *place.api, "--json").code == 0


def test_a_job_is_governed(place: Place) -> None:
    file = place.job("slow", polite={"delay": 30})
    assert command("job", "add", file, *place.api).code == 0
    with Client(place.up.url, ADMIN) as client:
        wait_until("URLs wait", lambda: client.job("slow").queued > 1, 60)
        assert command("job", "pause", "slow", *place.api).code == 0
        wait_until("nothing is under way", lambda: client.job("slow").leased == 0, 60)
        queued = client.job("slow").queued
        cleared = command("job", "clear", "slow", "--class", "data", *place.api)
        assert cleared.code == 0, cleared.err
        assert cleared.out == f"job slow: {queued} data URLs forgotten\n"
        assert client.job("slow").queued == 0
        words = ("job", "clear", "slow", "--class", "nav", "--restart", "--json")
        assert json.loads(command(*words, *place.api).out)["restarted"] == 1
        assert client.job("slow").queued == 1
    for verb, state in (("pause", "paused"), ("resume", "running"), ("cancel", "cancelled")):
        ended = command("job", verb, "slow", *place.api, "--json")
        assert ended.code == 0, ended.err
        if verb != "resume":
            assert json.loads(ended.out)["state"] == state
    cleared = command("job", "clear", "slow", "--class", "nav", *place.api)
    assert (cleared.code, cleared.out) == (2, "")
    assert "was cancelled; it cannot be cleared" in cleared.err
    with Client(place.up.url, ADMIN) as client:
        client.delete_job("slow")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("job", "show", "mony"), "did you mean many?"),
        (("job", "pause", "none"), "there is none of that id"),
        (("nodes", "show", "nowhere"), "nowhere"),
        (("job", "export", "none"), "there is none of that id"),
        (("job", "export", "many", "--seeds", "1001"), "--seeds 1001: a service tells 1000"),
        (("page", "https://a.test/", "--job", "none"), "none"),
        (("aliases", "undo", "a.test", "--job", "many"), "a.test"),
    ],
)
def test_what_the_service_refuses_is_one_line_and_bad_input(
    place: Place, words: tuple[str, ...], said: str
) -> None:
    ended = command(*words, *place.api)
    assert (ended.code, ended.out) == (2, "")
    [line] = ended.err.splitlines()
    assert line.startswith("skitter: ")
    assert said in line


def test_a_bad_job_file_is_told_by_its_field(place: Place) -> None:
    ended = command("job", "add", place.job("bad", depth=-1), *place.api)
    assert (ended.code, ended.out) == (2, "")
    assert "depth" in ended.err


def test_tokens_are_wanted_and_have_their_rights(place: Place) -> None:
    url = place.up.url
    for flags, said in (
        (("--token", "wrong"), "not its token; wanted --token T or SKITTER_TOKEN"),
        (("--token", TOKENS["reader"]), "this needs the token of an operator"),
    ):
        ended = command("job", "pause", "many", "--api", url, *flags)
        assert (ended.code, ended.out) == (2, "")
        assert said in ended.err
    assert command("job", "list", "--api", url, "--token", TOKENS["reader"]).code == 0


@pytest.mark.parametrize("how", [(), ("--json",)])
def test_rules_are_tried_by_the_service(place: Place, tmp_path: Path, how: tuple[str, ...]) -> None:
    rules = {"title": {"css": "title::text", "required": True}, "code": "//em/text()"}
    file = place.job("rules", detail={"fields": rules})
    page = tmp_path / "saved.html"
    page.write_text("<title>Grüße</title><p>text<a href='/next'>next</a>")
    reach = ("--allow-private", "--hosts", place.up.folder / "hosts")
    url = place.site.url("h1.many.test", "/h1.many.test/2")
    for target in (url, page):
        here = command("rule", "try", file, target, *reach, *how)
        assert command("rule", "try", file, target, *place.api, *how) == here
        assert here.code == 0


def test_nobody_there_is_a_trouble_of_the_environment() -> None:
    ended = command("job", "list", "--api", "http://127.0.0.1:9", "--token", "t")
    assert (ended.code, ended.out) == (3, "")
    assert "http://127.0.0.1:9/v1/jobs?limit=1000: nobody answers" in ended.err


def test_the_client_itself(place: Place) -> None:
    with Client(place.up.url, ADMIN) as client:
        assert client.health().status == "ok"
        assert client.me().role == "admin"
        job = client.job("many")
        assert job.etag
        with pytest.raises(ApiError, match="changed meanwhile"):
            client.change_job("many", JobChange(owner="bo"), etag='"other"')
        assert client.change_job("many", JobChange(owner="bo"), etag=job.etag).owner == "bo"
        urls = [page.url for page in client.job_pages("many", limit=3)]
        assert len(urls) == len(set(urls)) == len(place.site.urls) + 1
        assert [page.found for page in client.lookup([urls[0], "http://no.test/"]).pages] == [
            True, False,
        ]  # fmt: skip
        assert client.explain(urls[0]).known
        assert client.stats().jobs == 1
        assert client.series("pages", step="minute").series
        resolved = client.resolve([urls[0]], wait=5)
        assert [one.state for one in resolved.results] == ["done"]
        assert client.resolved(resolved.ticket).done
        hook = client.add_webhook("http://127.0.0.1:9/hook", job="many")
        assert [one.id for one in client.webhooks().webhooks] == [hook.id]
        client.delete_webhook(hook.id)
        events = client.events(types=["job"], after="0-0")
        heard = next(events)
        assert (heard.type, heard.job) == ("job", "many")
        again = client.events(types=["job"], job="many", after=heard.id)
        assert next(again).id > heard.id
        events.close()
        again.close()
