"""Records in databases, from whole crawls: every page once, whatever is killed or away meanwhile.

MongoDB is played by nx-27017, which speaks its protocol; PostgreSQL is the real one.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from clusters import Background, ManyHosts, node, urls_in
from crawling import command, hurry, refusal, summary, wait_until
from databases import KINDS, VARIABLE, Place, all_of, job_run, numbered_site, place
from mongo import start_mongo
from postgres import start_postgres
from stores import RedisServer, members_in, own_store, shared_store

pytestmark = pytest.mark.e2e

each_kind = pytest.mark.parametrize("kind", list(KINDS))
PAGES = 40


@each_kind
def test_a_crawl_writes_every_page_once_beside_its_files_and_leaves_it_alone(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, file = place(kind), tmp_path / "pages.jsonl"
    monkeypatch.setenv(VARIABLE, kept.url)
    files = f'[[sinks]]\ntype = "jsonl"\npath = "{file}"\n'
    with numbered_site(PAGES) as site:
        run = job_run(tmp_path, site.url(), kept.toml(f"env:{VARIABLE}"), files)
        told = run.told()
        assert kept.titles() == all_of(site, PAGES)
        before = kept.rows()
        assert summary(run.finish())["pages"] == PAGES + 1

    assert kept.rows() == before
    assert f"env:{VARIABLE} {kept.name}" in told
    lines = [json.loads(line) for line in file.read_bytes().splitlines()]
    assert {line["url"]: line["digest"] for line in lines} == {
        row["url"]: row["digest"] for row in before
    }


@each_kind
def test_a_crawl_that_is_killed_and_run_again_has_every_page_once(
    kind: str, tmp_path: Path
) -> None:
    kept = place(kind)
    with numbered_site(PAGES) as site:
        run = job_run(tmp_path, site.url(), kept.toml(), delay=0.3)
        process = run.start()
        try:
            wait_until(process, lambda: len(kept.rows()) >= 5)
        finally:
            process.kill()
            process.communicate()
        assert 5 <= len(kept.rows()) < PAGES
        summary(run.finish("--delay", "0"))
        assert kept.titles() == all_of(site, PAGES)
    assert not list(tmp_path.glob("*.jsonl"))
    assert not Path("numbered.jsonl").exists()


def _own_server(kind: str, folder: Path) -> Any:
    return start_postgres(folder) if kind == "postgresql" else start_mongo()


@each_kind
def test_a_server_that_is_away_for_a_while_loses_nothing(kind: str, tmp_path: Path) -> None:
    with _own_server(kind, tmp_path / "server") as server, numbered_site(PAGES) as site:
        kept = Place(kind, server)
        run = job_run(tmp_path, site.url(), kept.toml(), delay=0.3)
        with run.aloud() as crawl:
            crawl.until("records", lambda: len(kept.rows()) >= 3)
            server.kill()
            crawl.until_told("records wait for it")
            hurry("--data", run.data)  # an operator is heard meanwhile
            server.start()
            assert crawl.ended() == 0, crawl.told
        assert json.loads(crawl.output.splitlines()[-1])["queued"] == 0
        assert kept.titles() == all_of(site, PAGES)
    assert crawl.told.count("records wait for it") == 1
    assert "opensesame" not in crawl.told


def test_a_crawl_ends_when_it_is_told_to_while_its_database_is_away(tmp_path: Path) -> None:
    with start_postgres(tmp_path / "server") as server, numbered_site(PAGES) as site:
        kept = Place("postgresql", server)
        run = job_run(tmp_path, site.url(), kept.toml(), delay=0.3)
        with run.aloud() as crawl:
            crawl.until("records", lambda: len(kept.rows()) >= 3)
            server.kill()
            crawl.until_told("records wait for it")
            assert crawl.interrupted() == 130
        server.start()
        summary(run.finish("--delay", "0"))
        assert kept.titles() == all_of(site, PAGES)


def test_a_record_that_is_refused_is_set_aside_and_the_rest_is_written(tmp_path: Path) -> None:
    kept = place("postgresql")
    kept.server.sql(
        f"CREATE TABLE {kept.name} (url varchar CHECK (url NOT LIKE '%/7'), mine int DEFAULT 1)"
    )
    with numbered_site(PAGES) as site:
        run = job_run(tmp_path, site.url(), kept.toml())
        warned = run.said()
        wanted = [pair for pair in all_of(site, PAGES) if pair[1] != "Page 7"]
        assert kept.titles() == wanted
        assert warned.count(f"the record of {site.url('/7')} was refused") == 1
        told = command("job", "rejects", "--data", run.data, "--json")
    [line] = map(json.loads, told.out.splitlines())
    assert (line["url"], line["rule"], line["job"]) == (site.url("/7"), "sinks", "numbered")
    assert "check constraint" in line["reason"]
    assert {row["mine"] for row in kept.rows()} == {1}


def test_what_cannot_be_used_is_refused_in_one_line_without_a_password(tmp_path: Path) -> None:
    kept = place("postgresql")
    server = kept.server
    kept.server.sql(f"CREATE TABLE {kept.name} (status text)")
    port = server.port
    wrong = {
        server.url_of(password="guessed-word"): "check both in the URL",
        server.url_of(database="nothere"): 'has no "nothere"',
        f"postgresql://ann:guessed-word@127.0.0.1:{port + 1}/x": "does not answer",
        server.url: f"table {kept.name}: column status is text, wanted bigint",
    }
    with numbered_site(1) as site:
        for url, why in wrong.items():
            run = job_run(tmp_path, site.url(), kept.toml(url))
            said = refusal(run)
            assert said.startswith("skitter: sinks[0] postgresql://"), said
            assert why in said
            assert "guessed-word" not in said
            assert "opensesame" not in said
        away = Place("mongodb", None, "pages").toml(
            f"mongodb://ann:guessed-word@127.0.0.1:{port + 1}/x?connectTimeoutMS=500"
            "&serverSelectionTimeoutMS=500"
        )
        said = refusal(job_run(tmp_path, site.url(), away))
        assert "sinks[0] mongodb://ann@127.0.0.1" in said
        assert "does not answer" in said
        assert "guessed-word" not in said
        unset = job_run(tmp_path, site.url(), kept.toml("env:SURELY_NOT_SET"))
        assert "sinks[0].url: environment variable SURELY_NOT_SET is not set" in refusal(unset)
    assert not (tmp_path / "state").exists()


def _streams(store: str) -> list[bytes]:
    """Return the streams in which records wait, or have waited, for the writer of files."""
    namespace = store.partition("?namespace=")[2]
    server = shared_store("redis")
    assert isinstance(server, RedisServer)
    found: list[bytes] = server.cli("KEYS", f"{{{namespace}:???}}:s:*")
    return found


@pytest.mark.parametrize(
    ("kind", "with_file"), [("postgresql", True), ("postgresql", False), ("mongodb", False)]
)
def test_members_of_a_shared_store_write_a_database_themselves(
    kind: str, with_file: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, store, file = place(kind), own_store(), tmp_path / "pages.jsonl"
    monkeypatch.setenv(VARIABLE, kept.url)
    files = [f'[[sinks]]\ntype = "jsonl"\npath = "{file}"\n'] if with_file else []
    with ManyHosts(6, 3) as site:
        flags = site.run(tmp_path, "--store", store).flags
        run = job_run(tmp_path, site.entry, kept.toml(f"env:{VARIABLE}"), *files, flags=flags)
        with node(tmp_path / "node", run, "--store", store, "--workers", "1") as helper:
            helper.until("a member", lambda: members_in(store) == 1)
            assert summary(run.finish("--delay", "0.3"))["queued"] == 0
            # What the crawl had open is closed by now; the node waits for more.
            assert kind == "mongodb" or kept.writers() == 1
            assert helper.interrupted() == 130
    urls = Counter(row["url"] for row in kept.rows())
    assert urls == Counter({*site.urls, site.entry})
    assert bool(_streams(store)) == with_file
    assert not with_file or urls_in(file) == urls
    assert not Path("numbered.jsonl").exists()


def test_a_password_in_the_file_is_refused_where_other_processes_need_it(tmp_path: Path) -> None:
    kept = place("postgresql")
    with numbered_site(1) as site:
        said = refusal(job_run(tmp_path, site.url(), kept.toml(), flags=("--store", own_store())))
    assert said.startswith("skitter: sinks[0].url: ")
    assert "env:NAME" in said
    assert "opensesame" not in said


def test_a_master_writes_for_its_workers_and_shows_where(tmp_path: Path) -> None:
    kept, state = place("postgresql"), tmp_path / "state"
    with numbered_site(9) as site:
        file = job_run(tmp_path, site.url(), kept.toml(f"env:{VARIABLE}")).directory / "job.toml"
        words = ("up", "--data", state, "--port", "0", "--allow-private", "--workers", "1")
        with Background(tmp_path / "up", *words, env={VARIABLE: kept.url}) as master:
            master.until("its socket", (state / "skitter.sock").exists)
            assert command("job", "add", file, "--data", state).code == 0
            master.until("all records", lambda: len(kept.rows()) == 10)
            shown = json.loads(command("job", "show", "numbered", "--data", state, "--json").out)
            assert shown["records"] == [f"env:{VARIABLE} {kept.name}"]
            said = file.read_text().replace('"numbered"', '"other"')
            file.write_text(said.replace(f"env:{VARIABLE}", kept.url))
            refused = command("job", "add", file, "--data", state)
            assert master.interrupted() == 130
        assert kept.titles() == all_of(site, 9)
    assert (refused.code, "env:NAME" in refused.err) == (2, True)
    assert "opensesame" not in refused.err + master.told
