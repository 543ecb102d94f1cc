"""The demo keeps to its own directory, crawls the web it serves, and shows what came of it."""

import io
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from cli_fakes import FakeCrawl, summary
from typer.testing import CliRunner

from skitter.cli import demo_run
from skitter.cli.demo_run import BEST_PAGES, MARKER, demo_directory, run_demo
from skitter.cli.main import app
from skitter.cli.report import INTERRUPTED, OK
from skitter.cli.tour import INTRODUCTION, OUTPUTS, Stop, only_listed, query_command, show_tour
from skitter.config import RunOptions
from skitter.demo.child import DemoProcess
from skitter.errors import ConfigError
from skitter.job.spec import Job, Order
from skitter.pipeline.record import PageRecord

EXAMPLE = "https://example.com"
SERVED = "python -m skitter.demo --port 8480 --hosts-out demo.hosts"


def test_a_directory_the_demo_did_not_make_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    with pytest.raises(ConfigError, match="not made by the demo"), demo_directory(tmp_path):
        pass
    assert (tmp_path / "precious").exists()


def test_the_demo_empties_its_own_directory_but_follows_no_links(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "precious").touch()
    directory = tmp_path / "demo"
    with demo_directory(directory):
        (directory / "state").mkdir()
        (directory / "state" / "x").touch()
        (directory / "pages.jsonl").touch()
        (directory / "link").symlink_to(tmp_path / "elsewhere")
    with demo_directory(directory):
        assert [path.name for path in directory.iterdir()] == [MARKER]
    assert (tmp_path / "elsewhere" / "precious").exists()


def test_two_demos_do_not_share_a_directory(tmp_path: Path) -> None:
    directory = tmp_path / "demo"
    with demo_directory(directory):
        (directory / "kept").touch()
        with pytest.raises(ConfigError, match="another demo"), demo_directory(directory):
            pass
        assert (directory / "kept").exists()


class Crawls:
    """Stands for the opening of crawls, and remembers what was opened."""

    def __init__(self, *crawls: FakeCrawl) -> None:
        self.left = list(crawls)
        self.opened: list[tuple[Job, RunOptions]] = []

    @asynccontextmanager
    async def open(
        self, job: Job, options: RunOptions, seeds: Iterator[str] | None
    ) -> AsyncIterator[FakeCrawl]:
        self.opened.append((job, options))
        async with self.left.pop(0).open(job, options, seeds) as crawl:
            yield crawl


def test_the_demo_crawls_its_own_web_and_then_its_library_at_the_same_port(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crawls = Crawls(FakeCrawl(summary()), FakeCrawl(summary()))
    monkeypatch.setattr(demo_run, "open_crawl", crawls.open)
    assert run_demo(tmp_path / "demo", quiet=True, json=False) == OK
    (first, options), (second, best) = crawls.opened
    entries = [entry for job in (first, second) for entry in job.entries]
    [whole, shelves] = [re.fullmatch(r"http://(\w+)\.demo\.test:(\d+)/", one) for one in entries]
    assert whole is not None
    assert shelves is not None
    assert (whole[1], shelves[1]) == ("www", "library")
    assert whole[2] == shelves[2]
    assert (first.order, second.order) == (Order.BFS, Order.BEST)
    for one in (options, best):
        assert one.allow_private
        assert one.hosts is not None
        assert "127.0.0.1" in one.hosts.read_text()
    assert [path.name for path in options.out] == list(OUTPUTS)
    assert options.data != best.data


def test_the_demo_speaks_json_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    crawls = Crawls(FakeCrawl(summary()), FakeCrawl(summary(ok=1)))
    monkeypatch.setattr(demo_run, "open_crawl", crawls.open)
    assert run_demo(tmp_path / "demo", quiet=True, json=True) == OK
    assert json.loads(capsys.readouterr().out)["ok"] == 8


def test_nobody_is_shown_around_after_an_interruption(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    crawls = Crawls(FakeCrawl(summary(stopped_by="interrupted")))
    monkeypatch.setattr(demo_run, "open_crawl", crawls.open)
    assert run_demo(tmp_path / "demo", quiet=False, json=False) == INTERRUPTED
    assert "Interrupted" in capsys.readouterr().out


def record(url: str, referrer: str | None, outcome: str = "ok") -> PageRecord:
    return PageRecord(
        job="j",
        url=url,
        final_url=url,
        outcome=outcome,
        depth=1,
        page_class="data",
        referrer=referrer,
        fetched_at="2026-01-01T00:00:00.000Z",
        visit=1,
    )


def test_pages_are_only_listed_when_a_sitemap_led_there_and_no_page_does() -> None:
    home, sitemap = "http://a/", "http://a/sitemap.xml"
    records = [
        record(home, None),
        record("http://a/linked", home),
        record("http://a/both", sitemap),
        record("http://a/listed", sitemap),
        record("http://a/gone", sitemap, "http_error"),
    ]
    assert only_listed(records, {"http://a/linked", "http://a/both"}) == ["http://a/listed"]


@pytest.mark.parametrize("there", [True, False], ids=["with-its-tool", "without"])
def test_a_query_works_with_and_without_the_tool_of_sqlite(
    there: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = tmp_path / "it's here.sqlite"
    connection = sqlite3.connect(database)
    connection.execute("CREATE TABLE pages (url TEXT, status INTEGER)")
    connection.execute("INSERT INTO pages VALUES ('http://a/', 200)")
    connection.commit()
    connection.close()
    monkeypatch.setattr(shutil, "which", lambda _: "sqlite3" if there else None)
    command = query_command(database, "SELECT url, status FROM pages WHERE url LIKE 'http%'")
    ended = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert ended.stdout == "http://a/|200\n"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_commands_stay_whole_and_facts_are_wrapped_for_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    fact, command = "many words " * 9 + "end.", "skitter " + "x" * 90
    stop = Stop("Sights: what there is", (fact,), (command,))
    screen, pipe = Terminal(), io.StringIO()
    show_tour(iter([stop]), screen)
    show_tour(iter([stop]), pipe)
    assert "\x1b[" in screen.getvalue()
    assert fact not in screen.getvalue()
    assert command in screen.getvalue()
    plain = ["Sights: what there is", f"  {fact}", f"    {command}"]
    assert pipe.getvalue().splitlines()[-3:] == plain


class Tour(NamedTuple):
    """A demo as its visitor saw it, and what the commands it names have answered."""

    directory: Path
    said: dict[str, list[str]]
    """The facts by the title of the stop, up to the colon."""
    answers: dict[str, list[subprocess.CompletedProcess[str]]]

    def fact(self, title: str) -> str:
        return " ".join(self.said[title])

    def answer(self, title: str) -> str:
        [one] = self.answers[title]
        return one.stdout


def stops_of(shown: str) -> dict[str, list[str]]:
    """Return the lines of each stop by its name."""
    found: dict[str, list[str]] = {}
    for line in shown.partition(INTRODUCTION)[2].splitlines():
        if line and not line.startswith(" "):
            found[line.partition(":")[0]] = []
        elif line:
            found[list(found)[-1]].append(line)
    return found


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> Tour:
    """Run the demo as a person does, then paste every command it shows."""
    place = tmp_path_factory.mktemp("visitor")
    kept = {k: v for k, v in os.environ.items() if not k.startswith("SKITTER_")}
    home = {**kept, "PATH": f"{sys.prefix}/bin:{os.environ['PATH']}", "XDG_CONFIG_HOME": str(place)}

    def run(line: str, more: dict[str, str]) -> subprocess.CompletedProcess[str]:
        command = ["bash", "-c", f"set -o pipefail; {line}"]
        return subprocess.run(
            command, cwd=place, env={**home, **more}, capture_output=True, text=True, check=False
        )

    demo = run("skitter demo", {})
    assert demo.returncode == OK, demo.stderr
    stops = stops_of(demo.stdout)
    answers: dict[str, list[subprocess.CompletedProcess[str]]] = {title: [] for title in stops}
    with DemoProcess(pages=200) as elsewhere:
        # The site of one's own that nobody can name beforehand.
        (place / "hosts").write_text(elsewhere.hosts)
        reach = {"HOSTS": str(place / "hosts"), "ALLOW_PRIVATE": "true", "DELAY": "0"}
        more = {f"SKITTER_{name}": value for name, value in reach.items()}
        for title, lines in stops.items():
            for line in (line for line in lines if line.startswith("    ")):
                meant = line.replace(EXAMPLE, elsewhere.web.entry.rstrip("/"))
                answers[title].append(run(meant, more if EXAMPLE in line else {}))
    said = {
        title: [line.strip() for line in lines if not line.startswith("    ")]
        for title, lines in stops.items()
    }
    return Tour(place / "skitter-demo", said, answers)


def numbers(text: str) -> list[int]:
    return [int(found.replace(",", "")) for found in re.findall(r"\d[\d,]*", text)]


@pytest.mark.e2e
def test_every_command_of_the_tour_works_when_it_is_pasted(tour: Tour) -> None:
    assert list(tour.said) == [
        *("Outputs", "Archive", "Sitemaps", "Traps", "Duplicates", "Most linked pages"),
        *("Best first", "Bloom filter", "Try next"),
    ]
    for title, answers in tour.answers.items():
        assert answers, title
        assert all(tour.said[title]), title
        for one in answers:
            assert one.returncode == OK, (title, one.args, one.stderr)
            assert one.stdout, one.args


@pytest.mark.e2e
def test_the_tour_tells_what_the_outputs_and_the_archive_hold(tour: Tour) -> None:
    counted = tour.answer("Outputs").split()
    told = dict(line.split("|") for line in counted)
    assert f"{', '.join(f'{k} {v}' for k, v in told.items())}." in tour.fact("Outputs")
    lines = (tour.directory / "pages.jsonl").read_bytes().splitlines()
    assert sum(map(int, told.values())) == len(lines) == numbers(tour.fact("Outputs"))[0]
    assert {path.name for path in tour.directory.iterdir()} >= set(OUTPUTS)
    assert tour.answer("Archive").startswith("HTTP/1.1 200 OK\n")
    responses, revisits, *_ = numbers(tour.fact("Archive"))
    assert responses > 500
    assert revisits > 1


@pytest.mark.e2e
def test_the_tour_names_pages_of_sitemaps_and_links_into_traps(tour: Tour) -> None:
    sitemaps, _, pages, *_ = numbers(tour.fact("Sitemaps"))
    assert (sitemaps > 5, pages > 20) == (True, True)
    assert re.search(
        r"^record\.referrer +http\S+/sitemaps?\b", tour.answer("Sitemaps"), re.MULTILINE
    )
    links, templates, *_ = numbers(tour.fact("Traps"))
    assert links >= templates > 1
    assert "trap" in tour.answer("Traps")


@pytest.mark.e2e
def test_the_tour_counts_duplicates_and_links(tour: Tour) -> None:
    moved, same, *_ = numbers(tour.fact("Duplicates"))
    assert moved + same == len(tour.answer("Duplicates").splitlines())
    first = tour.answer("Most linked pages").splitlines()[1]
    assert tour.fact("Most linked pages").endswith(f" link to {first}.")


@pytest.mark.e2e
def test_the_tour_sets_best_first_beside_breadth_first(tour: Tour) -> None:
    told = tour.fact("Best first").rpartition("stopped after")[2]
    fetched, pages, best, wanted, breadth = numbers(told)
    assert fetched == BEST_PAGES == pages // 5
    assert best >= 0.6 * wanted
    assert breadth <= 0.35 * wanted
    assert "Solar energy" in tour.answer("Best first")
    assert "made for 100,000" in tour.fact("Bloom filter")


def test_how_to_serve_the_web_for_a_service_is_said_where_it_is_looked_for() -> None:
    shown = CliRunner().invoke(app, ["demo", "--help"], env={"COLUMNS": "200"}).stdout
    tour = Path(__file__).parents[3] / "docs" / "tour.md"
    for text in (shown, tour.read_text()):
        assert SERVED in " ".join(text.split())
        assert "up --hosts demo.hosts --allow-private" in " ".join(text.split())
