"""The page index of a shared store in PostgreSQL: written by every member, read by everyone."""

import json
import secrets
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import postgres
import pytest
from clusters import Background, ManyHosts, each_once, node
from crawling import command, hurry, summary
from service import Up
from stores import members_in, own_store

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def web() -> Iterator[ManyHosts]:
    with ManyHosts(6, 8) as made:
        yield made


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@cache
def database() -> str:
    """Make a database for records alone: what else tests keep in a page index is no JSON."""
    name = f"pages_{secrets.token_hex(6)}"
    postgres.shared_postgres().sql(f"CREATE DATABASE {name}")
    return name


def index_url() -> str:
    return postgres.shared_postgres().url_of(database=database())


def shown() -> str:
    return f"postgresql://127.0.0.1:{postgres.shared_postgres().port}/{database()}"


def test_members_write_it_and_everyone_reads_it(web: ManyHosts, tmp_path: Path) -> None:
    store, index = own_store(), index_url()
    place = ("--store", store, "--index", index)
    run = web.run(tmp_path, *place)
    with node(tmp_path / "node", run, *place, "--workers", "2") as helper:
        helper.until_told(f"page index: in PostgreSQL, {shown()}")
        helper.until("two members", lambda: members_in(store) == 2)
        done = run.finish()
        assert summary(done)["queued"] == 0
        assert helper.interrupted() == 130
    each_once(web, run.out)
    records = {record["url"]: record for record in run.records()}

    exported = command("job", "export", *place)
    assert {json.loads(line)["url"] for line in exported.out.splitlines()} == set(records)
    page = json.loads(command("page", web.entry, *place, "--json").out)
    assert page["record"]["title"] == records[web.entry]["title"]
    job = records[web.entry]["job"]
    [(rows, oldest)] = postgres.shared_postgres().sql(
        f"SELECT count(*), min(fetched_at) > now() - interval '1 hour'"
        f" FROM skitter_page_records WHERE job = '{job}' AND outcome = 'ok'",
        database(),
    )
    assert (rows, oldest) == (len(records), True)


def test_a_service_says_at_its_start_where_the_page_index_is(tmp_path: Path) -> None:
    place = Up(tmp_path, "--store", own_store(), "--index", index_url(), "--workers", "0")
    with place.start() as up:
        up.until_told(f"page index: in PostgreSQL, {shown()}\n")
        assert postgres.PASSWORD not in up.told


def test_a_store_with_a_page_index_elsewhere_is_joined_by_who_names_it(
    web: ManyHosts, tmp_path: Path
) -> None:
    store, index = own_store(), index_url()
    run = web.run(tmp_path, "--store", store, "--pages", "3")
    began = command(*run.command("--index", index)[1:], "--no-quiet")
    assert began.code == 0, began
    assert f"page index: in PostgreSQL, {shown()}" in began.err
    crawl = ("crawl", web.entry, "--allow-private", "--data", tmp_path / "x")
    for ended in (
        command("node", "--store", store, "--workers", "1", "--idle-exit", "1"),
        command(*crawl, "--store", store),
        command("page", web.entry, "--store", store),
        command("job", "export", "--store", store),
    ):
        assert (ended.code, ended.out) == (2, ""), ended
        [line] = [line for line in ended.err.splitlines() if "append-only" not in line]
        assert f"name it with --index {shown()} (or SKITTER_INDEX)" in line
    assert command("job", "list", "--store", store).code == 0

    bad = postgres.shared_postgres().url_of(password="hunter2", database=database())
    other = postgres.shared_postgres().url_of(database="template1")
    for words, said in (
        (("node", "--workers", "1"), "does not know this user and password"),
        (crawl, "does not know this user and password"),
        (("page", web.entry), "does not know this user and password"),
    ):
        ended = command(*words, "--store", store, "--index", bad)
        assert ended.code == 2
        assert said in ended.err
        assert "hunter2" not in ended.err
    ended = command("page", web.entry, "--store", store, "--index", other)
    assert ended.code == 2
    assert "has nothing of this store" in ended.err


def test_a_crawl_waits_for_a_database_that_is_away_and_loses_nothing(
    web: ManyHosts, tmp_path: Path
) -> None:
    with postgres.start_postgres(tmp_path / "postgres") as server:
        store = own_store()
        run = web.run(tmp_path, "--store", store, "--index", server.url, "--delay", "1")
        words = [*run.command()[1:], "--no-quiet"]
        with Background(tmp_path / "crawl", *words) as crawl:
            crawl.until_told("page index: in PostgreSQL")
            crawl.until(
                "a page", lambda: server.sql("SELECT count(*) > 3 FROM skitter_pages")[0][0]
            )
            server.kill()
            crawl.until_told("page index postgresql://postgres@127.0.0.1")
            server.start()
            hurry("--store", store)
            assert crawl.ended() == 0
            assert postgres.PASSWORD not in crawl.told
        each_once(web, run.out)
        [(pages,)] = server.sql("SELECT count(*) FROM skitter_page_records")
        assert pages == len(run.records())


def test_a_page_index_without_a_store_is_named(tmp_path: Path) -> None:
    index = "postgresql://me:hunter2@127.0.0.1/pages"
    for words in (
        ("crawl", "http://127.0.0.1:9/", "--data", tmp_path / "d"),
        ("node", "--control", "http://127.0.0.1:9"),
        ("up", "--data", tmp_path / "up", "--port", "0"),
    ):
        ended = command(*words, "--index", index)
        assert ended.code == 2
        assert "--index: without --store the page index is in the state directory" in ended.err
        assert "hunter2" not in ended.err
