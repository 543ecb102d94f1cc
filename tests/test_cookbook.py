"""The recipes of the cookbook are cooked, and what they bring is tasted.

Every recipe is typed in a directory of its own, block by block. Its sites are those of the demo
web: ``https://shop.example.com`` is the site ``shop``, ``https://example.com`` the home page; in
what is printed they are named as in the recipe again. The environment says where they are
(``SKITTER_HOSTS``, ``SKITTER_ALLOW_PRIVATE``) and that they need little rest (``SKITTER_DELAY``).
A Redis server and a free port of this machine take the place of 10.0.0.5; a block that runs until
it is stopped runs beside those that follow it, and is stopped with Ctrl-C at the end.
What a recipe shows as its answer has to be printed; ``…`` in it stands for anything.
"""

import csv
import http.server
import json
import os
import queue
import re
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from clusters import essence
from replaying import HOME as PYWB
from replaying import ask, install
from stores import HOST, RedisServer, free_port, start_redis, wait_until

from skitter.demo.child import DemoProcess
from skitter.demo.ferry import ferry_lines
from skitter.demo.topics import is_about
from skitter.demo.web import Web

pytestmark = pytest.mark.e2e

COOKBOOK = Path(__file__).resolve().parent.parent / "docs" / "cookbook.md"
SITE = re.compile(r"https://(?:(\w+)\.)?example\.com")
SETTINGS = {"SKITTER_ALLOW_PRIVATE": "true", "SKITTER_DELAY": "0.02"}
MEMBERS = "members"
MEMBERS_PAGES = {
    "/": ("Members", '<a href="/minutes">Minutes</a> <a href="/logout">Leave</a>'),
    "/minutes": ("Minutes of the meeting", '<a href="/">Back</a>'),
}
SECRET = "session=open-sesame"
ANYTHING = "…"
EVERY_URL = "SELECT url FROM pages ORDER BY id"
PATIENCE_S = 120
MACHINE = "10.0.0.5"
STAYS = re.compile(r"(?:\w+=\S+ )?skitter (?:up|node) (?!.*--idle-exit)")
"""Commands that run until they are stopped."""
INTERRUPTED = 130


@dataclass(frozen=True)
class Recipe:
    """One recipe: its text and its fenced blocks, in order, each with its kind."""

    title: str
    text: str

    @property
    def blocks(self) -> list[tuple[str, str]]:
        return re.findall(r"^```(\w+)\n(.*?)^```$", self.text, re.MULTILINE | re.DOTALL)


def recipes() -> dict[str, Recipe]:
    text = COOKBOOK.read_text(encoding="utf-8")
    parts = re.split(r"^### (.*)\n", text, flags=re.MULTILINE)[1:]
    pairs = zip(parts[::2], parts[1::2], strict=True)
    ends = re.compile(r"^## ", re.MULTILINE)
    return {title: Recipe(title, ends.split(body)[0]) for title, body in pairs}


RECIPES = recipes()


@dataclass
class Kitchen:
    """Where the recipes are cooked: sites under the names they have in the cookbook."""

    places: dict[str, str]
    """Host and port by the short name of a site."""
    environment: dict[str, str]
    web: Web
    store: RedisServer
    port: int
    """Where a master listens."""

    def there(self, text: str) -> str:
        """Return ``text`` with the addresses of the sites and servers that are here."""
        text = text.replace(f"{MACHINE}:6379", f"{HOST}:{self.store.port}")
        text = text.replace(f"{MACHINE}:8440", f"{HOST}:{self.port}")
        text = text.replace(f"--host {MACHINE}", f"--host {HOST} --port {self.port}")
        return SITE.sub(lambda found: f"http://{self.places[found[1] or 'www']}", text)

    def back(self, text: str) -> str:
        """Return ``text`` with the addresses of the cookbook."""
        for name, place in self.places.items():
            host = "example.com" if name == "www" else f"{name}.example.com"
            text = text.replace(f"http://{place}", f"https://{host}").replace(place, host)
            text = text.replace(place.partition(":")[0], host)
        return text

    def start(self, script: str, directory: Path) -> subprocess.Popen[str]:
        return subprocess.Popen(
            ["bash", "-c", f"set -euo pipefail\n{self.there(script)}"],
            cwd=directory,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def type(self, script: str, directory: Path) -> str:
        """Run one block to its end and return what it prints, as the cookbook would say it."""
        with self.start(script, directory) as process:
            printed, _ = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, (script, printed)
        return self.back(printed)

    @contextmanager
    def running(self, script: str, directory: Path) -> Iterator[None]:
        """Let a command run beside others once it is at work, and stop it at the end."""
        with self.start(script.replace("skitter", "exec skitter", 1), directory) as process:
            lines = Lines(process)
            try:
                if "skitter up" in script:
                    lines.until("listening on")
                else:
                    wait_until("a member", lambda: self.store.cli("HLEN", "{skitter}:members") > 0)
                yield
                process.send_signal(signal.SIGINT)
                assert process.wait(PATIENCE_S) == INTERRUPTED
            finally:
                process.kill()
                lines.thread.join()

    def put(self, file: str, directory: Path) -> None:
        """Write a file that a recipe shows, by the name in its first line."""
        name = file.partition("\n")[0].removeprefix("# ")
        (directory / name).write_text(self.there(file))


@dataclass
class Meal:
    """What came of a recipe."""

    directory: Path
    kitchen: Kitchen
    printed: str = ""
    expected: list[str] = field(default_factory=list)

    def records(self, name: str) -> list[dict[str, Any]]:
        lines = (self.directory / name).read_bytes().splitlines()
        return [json.loads(self.kitchen.back(line.decode())) for line in lines]

    def rows(self, name: str, sql: str) -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.directory / name)) as connection:
            return connection.execute(sql).fetchall()

    def urls(self, name: str) -> list[str]:
        return [self.kitchen.back(url) for (url,) in self.rows(name, EVERY_URL)]


class Members(http.server.BaseHTTPRequestHandler):
    """A site that shows strangers the door."""

    def do_GET(self) -> None:
        title, body = MEMBERS_PAGES.get(self.path, ("Nothing here", ""))
        if self.headers.get("Cookie") != SECRET:
            title, body = "Please log in", ""
        page = f"<html><title>{title}</title><body>{body}</body></html>".encode()
        self.send_response(200 if self.path in MEMBERS_PAGES else 404)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        self.wfile.write(page)

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def members_site() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Members) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def kitchen(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kitchen]:
    home = tmp_path_factory.mktemp("kitchen")
    kept = {k: v for k, v in os.environ.items() if not k.startswith("SKITTER_")}
    with ExitStack() as stack:
        demo = stack.enter_context(DemoProcess())
        port = stack.enter_context(members_site())
        store = start_redis(home / "redis", options={"appendonly": "yes"})
        stack.enter_context(store)
        places = {name: demo.web.host_key(name) for name in demo.web.sites}
        places[MEMBERS] = f"{MEMBERS}.demo.test:{port}"
        (home / "hosts").write_text(f"{demo.hosts}127.0.0.1 {MEMBERS}.demo.test\n")
        yield Kitchen(
            places,
            {
                **kept,
                **SETTINGS,
                "PATH": f"{sys.prefix}/bin:{PYWB}/bin:{os.environ['PATH']}",
                "XDG_CONFIG_HOME": str(home),
                "SKITTER_HOSTS": str(home / "hosts"),
            },
            demo.web,
            store,
            free_port(),
        )


def shown(expected: str, printed: str) -> bool:
    """Tell whether an answer is in what was printed; how wide columns are makes no difference."""
    wanted, found = (re.sub(r"[ ─]+", " ", text) for text in (expected.strip("\n"), printed))
    pattern = re.escape(wanted).replace(re.escape(ANYTHING), "(?s:.*?)")
    return re.search(rf"^ ?{pattern}", found, re.MULTILINE) is not None


def cook(title: str, kitchen: Kitchen, directory: Path) -> Meal:
    """Do what a recipe says, in order; each answer shown is that of the block before it."""
    meal = Meal(directory, kitchen)
    with ExitStack() as beside:
        for kind, body in RECIPES[title].blocks:
            match kind:
                case "sh" if STAYS.match(body):
                    beside.enter_context(kitchen.running(body, directory))
                case "sh":
                    meal.printed = kitchen.type(body, directory)
                case "text":
                    assert shown(body, meal.printed), f"{body}\nis not in\n{meal.printed}"
                    meal.expected.append(body)
                case _:
                    kitchen.put(body, directory)
    assert meal.expected, "a recipe shows what one gets"
    return meal


SQL = "A site into SQLite, and a question in SQL"
FRESH = "Only what sitemaps list, the freshest first"
SUBJECT = "The pages on a subject first"
WHY = "Why was this page not fetched?"
SCRIPTS = "Pages that scripts make"
PIPE = "A list of URLs from a pipe, into Parquet"
PART = "Only a part of a site"
STOP = "Stop, and go on later"
EXPORT = "Another format while it runs"
REPLAY = "Archive a site and replay it"
BACK = "Read one page back from the archive"
LARGE = "A large crawl on a small machine"
SEEDS = "Seeds from an earlier crawl"
WORKERS = "More processes for one crawl"
REDIS = "Two machines and Redis"
GUARDED = "A node in a guarded zone"
SERVICE = "A service, and a script that uses it"
SCRAPY = "A Scrapy project as a job file"
LOGIN = "Behind a login"
TITLES = [SQL, FRESH, SUBJECT, WHY, SCRIPTS, PIPE, PART, STOP, EXPORT, REPLAY, BACK, LARGE]
TITLES += [SEEDS, WORKERS, REDIS, GUARDED, SERVICE, SCRAPY, LOGIN]


def test_every_recipe_is_cooked_here_and_has_the_same_parts() -> None:
    assert list(RECIPES) == TITLES
    for recipe in RECIPES.values():
        kinds = [kind for kind, _ in recipe.blocks]
        assert kinds[-1] == "text" or recipe.title == REPLAY
        assert {"sh", "text"} <= set(kinds) <= {"sh", "text", "toml", "yaml"}
        parts = re.findall(r"^\*\*(\w+)\.\*\*", recipe.text, re.MULTILINE)
        assert parts == ["When", "Pitfall"], recipe.title


def test_the_contents_name_every_recipe() -> None:
    text = COOKBOOK.read_text(encoding="utf-8")
    named = re.findall(r"\]\(#([a-z0-9-]+)\)", text.partition("## For")[0])
    slugs = [re.sub(r"[^a-z0-9 ]", "", title.lower()).replace(" ", "-") for title in TITLES]
    assert named == slugs


def test_a_site_in_sqlite_answers_questions(kitchen: Kitchen, tmp_path: Path) -> None:
    meal = cook(SQL, kitchen, tmp_path)
    asked = "SELECT count(*), count(DISTINCT url) FROM pages WHERE outcome = 'ok'"
    [(rows, urls)] = meal.rows("shop.sqlite", asked)
    assert rows == urls > 30
    again = "SELECT count(*) FROM pages WHERE outcome = 'ok' AND duplicate_of IS NOT NULL"
    assert meal.rows("shop.sqlite", again) > [(0,)]


def test_sitemaps_alone_bring_the_freshest_pages(kitchen: Kitchen, tmp_path: Path) -> None:
    meal = cook(FRESH, kitchen, tmp_path)
    referrers = meal.rows("fresh.sqlite", "SELECT referrer FROM pages WHERE depth > 0")
    assert len(referrers) == 3
    assert all(referrer.endswith("/sitemap.xml") for (referrer,) in referrers)


def test_the_pages_on_a_subject_come_first(kitchen: Kitchen, tmp_path: Path) -> None:
    meal = cook(SUBJECT, kitchen, tmp_path)
    targets = [kitchen.web.target_of(url) for (url,) in meal.rows("subject.sqlite", EVERY_URL)]
    about = [target and is_about(kitchen.web.page(target), "solar energy") for target in targets]
    assert len(about) == 30
    assert sum(map(bool, about)) > 15


def test_each_page_that_is_missing_has_its_own_reason(kitchen: Kitchen, tmp_path: Path) -> None:
    meal = cook(WHY, kitchen, tmp_path)
    assert len([line for line in meal.printed.splitlines() if line.startswith("why")]) == 4
    found = {record["url"]: record["outcome"] for record in meal.records("shop.jsonl")}
    assert found["https://shop.example.com/cart"] == "refused"
    assert not any("/outlet/" in url or "docs." in url for url in found)


def test_pages_that_scripts_make_have_titles_and_links(kitchen: Kitchen, tmp_path: Path) -> None:
    meal = cook(SCRIPTS, kitchen, tmp_path)
    lines = {f"https://ferry.example.com{line.path}": line for line in ferry_lines(seed=1)}
    found = dict(meal.rows("shown.sqlite", "SELECT url, title FROM pages"))
    shown_titles = {url: found[kitchen.there(url)] for url in lines}
    assert shown_titles == {url: line.title for url, line in lines.items()}
    fields = {record["url"]: record["fields"] for record in meal.records("ferries.jsonl")}
    assert fields == {url: {"minutes": lines[url].minutes} for url in fields}


def test_a_piped_list_becomes_a_table(kitchen: Kitchen, tmp_path: Path) -> None:
    meal = cook(PIPE, kitchen, tmp_path)
    listed = (tmp_path / "urls.txt").read_text().split()
    table = pq.read_table(tmp_path / "batch-1.parquet").to_pylist()
    assert sorted(row["url"] for row in table) == sorted(listed)
    assert "404" in meal.printed


def test_two_lists_from_a_pipe_without_a_directory_are_one_job(
    kitchen: Kitchen, tmp_path: Path
) -> None:
    for path in ("about", "map"):
        kitchen.type(
            f"echo https://example.com/{path} | skitter crawl --seeds - --depth 0", tmp_path
        )
    meal = Meal(tmp_path, kitchen)
    found = [record["url"] for record in meal.records("stdin.jsonl")]
    assert found == ["https://example.com/about", "https://example.com/map"]


def test_only_a_part_of_a_site_is_fetched(kitchen: Kitchen, tmp_path: Path) -> None:
    meal = cook(PART, kitchen, tmp_path)
    urls = [record["url"] for record in meal.records("manual.jsonl")]
    assert all("/stable/" in url and "/annex/" not in url for url in urls)


def test_a_crawl_that_was_stopped_three_times_has_every_page_once(
    kitchen: Kitchen, tmp_path: Path
) -> None:
    meal = cook(STOP, kitchen, tmp_path)
    first, second, third = (
        json.loads(line) for line in meal.printed.splitlines() if line.startswith("{")
    )
    assert first["pages"] < second["pages"] < third["pages"]
    urls = [record["url"] for record in meal.records("news.jsonl")]
    assert len(urls) == len(set(urls)) == third["pages"]


def test_an_export_of_a_running_crawl_is_a_whole_table(kitchen: Kitchen, tmp_path: Path) -> None:
    (_, crawl), (_, export), (_, answer) = RECIPES[EXPORT].blocks
    with kitchen.start(crawl, tmp_path) as process:
        try:
            assert process.stdout is not None
            assert " pages, " in process.stdout.readline()
            printed = kitchen.type(export, tmp_path)
            assert process.poll() is None
        finally:
            os.killpg(process.pid, signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
    assert shown(answer, printed)
    with (tmp_path / "so-far.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, strict=True))
    written = Meal(tmp_path, kitchen).records("library.jsonl")
    assert len(rows) == int(printed.split()[0])
    assert {kitchen.back(row["url"]) for row in rows} <= {record["url"] for record in written}


class Lines:
    """What a process prints, line by line, with an end to patience."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._said: queue.Queue[str] = queue.Queue()
        self.thread = threading.Thread(target=self._listen)
        self.thread.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._said.put(line)
        self._said.put("")

    def until(self, words: str) -> None:
        """Wait for a line with these words."""
        while line := self._said.get(timeout=PATIENCE_S):
            if words in line:
                return
        raise AssertionError(f"never said: {words}")

    def ports(self) -> Iterator[int]:
        """Yield the ports that pywb opens, as its debug log names them."""
        while line := self._said.get(timeout=PATIENCE_S):
            yield from map(int, re.findall(r"starting server on ([0-9]+)", line))


def test_an_archived_site_can_be_replayed(kitchen: Kitchen, tmp_path: Path) -> None:
    install()
    recipe = RECIPES[REPLAY]
    (_, crawl), (_, answer), (_, config), (_, serve) = recipe.blocks
    assert shown(answer, kitchen.type(crawl, tmp_path))
    kitchen.put(config, tmp_path)
    shown_at = re.search(r"http://localhost:(\d+)(/\S+/)(https://\S+)", recipe.text)
    assert shown_at is not None
    assert f"--port {shown_at[1]}" in serve
    # Port 0 finds a free one; only the debug log says which.
    line = f"exec {serve.replace(shown_at[1], '0').strip()} --bind 127.0.0.1 --debug"
    with kitchen.start(line, tmp_path) as process:
        lines = Lines(process)
        try:
            ports = lines.ports()
            both = [next(ports), next(ports)]
            [port] = [one for one in both if ask(one, shown_at[2]).status == 200]
            moved = ask(port, kitchen.there(f"{shown_at[2]}mp_/{shown_at[3]}"))
            page = ask(port, moved.location.partition(f":{port}")[2])
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            lines.thread.join()
    assert page.status == 200
    assert b"Tidewater documentation" in page.body


def test_a_page_is_read_back_as_the_server_sent_it(kitchen: Kitchen, tmp_path: Path) -> None:
    meal = cook(BACK, kitchen, tmp_path)
    length = re.search(r"^Content-Length: (\d+)", meal.printed, re.MULTILINE)
    assert length is not None
    assert (tmp_path / "api.html").stat().st_size == int(length[1])
    with (tmp_path / "again.csv").open(encoding="utf-8", newline="") as file:
        archived = {kitchen.back(row["url"]) for row in csv.DictReader(file, strict=True)}
    [missing] = [one for one in meal.records("docs.jsonl") if one["url"] not in archived]
    assert missing["outcome"] == "refused"


def test_a_large_crawl_needs_little_for_the_urls_it_knows(kitchen: Kitchen, tmp_path: Path) -> None:
    cook(LARGE, kitchen, tmp_path)
    assert (tmp_path / "wide" / "frontier" / "seen.bloom").stat().st_size < 5 * 1_000_000
    assert pq.read_table(tmp_path / "wide.parquet").num_rows == 300


def test_seeds_of_one_crawl_start_another(kitchen: Kitchen, tmp_path: Path) -> None:
    meal = cook(SEEDS, kitchen, tmp_path)
    lines = kitchen.back((tmp_path / "seeds.txt").read_text()).splitlines()
    seeds = [line for line in lines if not line.startswith("#")]
    starts = [one["url"] for one in meal.records("again.jsonl") if one["depth"] == 0]
    assert set(starts) == set(seeds)
    assert len(seeds) == 3


def test_worker_processes_keep_the_limit_and_one_process_goes_on(
    kitchen: Kitchen, tmp_path: Path
) -> None:
    meal = cook(WORKERS, kitchen, tmp_path)
    (_, crawl), _ = RECIPES[WORKERS].blocks
    alone = crawl.replace(" --workers 3", "").replace("--pages 200", "--pages 210")
    assert "210|210" in kitchen.type(alone, tmp_path)
    assert len(set(meal.urls("wide.sqlite"))) == 210


def test_machines_that_meet_in_redis_bring_every_page_once(
    kitchen: Kitchen, tmp_path: Path
) -> None:
    meal = cook(REDIS, kitchen, tmp_path)
    found = [record["url"] for record in meal.records("sites.jsonl")]
    assert len(found) == len(set(found))
    assert sorted(meal.urls("export.sqlite")) == sorted(found)
    kitchen.type("skitter crawl --seeds sites.txt --data one --out one.jsonl", tmp_path)
    assert essence(meal.records("sites.jsonl")) == essence(meal.records("one.jsonl"))


def test_a_node_in_a_guarded_zone_fetches_for_a_master_that_asks_nobody(
    kitchen: Kitchen, tmp_path: Path
) -> None:
    meal = cook(GUARDED, kitchen, tmp_path)
    found = [record["url"] for record in meal.records("state/out/docs.jsonl")]
    assert len(found) == len(set(found)) == 47
    managed = json.loads((tmp_path / "state/workers/manager/workers.json").read_bytes())
    assert managed["roster"]["workers"] == []


def test_a_service_is_given_work_and_asked_by_others(kitchen: Kitchen, tmp_path: Path) -> None:
    cook(SERVICE, kitchen, tmp_path)
    with (tmp_path / "docs.csv").open(newline="") as file:
        found = [kitchen.back(row["url"]) for row in csv.DictReader(file)]
    assert len(found) == len(set(found)) == 47
    assert "https://docs.example.com/" in found


def test_a_scrapy_project_fits_into_a_job_file(kitchen: Kitchen, tmp_path: Path) -> None:
    cook(SCRAPY, kitchen, tmp_path)
    with (tmp_path / "news.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, strict=True))
    assert len(rows) == 25
    assert {json.loads(row["labels"])["desk"] for row in rows} == {"harbour"}
    assert not any("/print/" in row["url"] for row in rows)
    assert max(int(row["depth"]) for row in rows) <= 3


def test_a_cookie_opens_the_door_and_stays_out_of_the_archive(
    kitchen: Kitchen, tmp_path: Path
) -> None:
    meal = cook(LOGIN, kitchen, tmp_path)
    found = [url.partition("example.com")[2] for url in meal.urls("members.sqlite")]
    assert found == ["/", "/minutes"]
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and path.name != "hosts"]
    assert kept
    assert not any(SECRET.encode() in path.read_bytes() for path in kept)
