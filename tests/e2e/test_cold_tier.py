"""Long queues: their tails go to PostgreSQL and come back, and nobody sees it in the results."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import postgres
import pytest
from clusters import node
from crawling import command, summary
from serving import SmallSite
from stores import members_in, own_store

pytestmark = pytest.mark.e2e

PAGES = 1_500
"""More than stay in Redis of one queue, so that two chunks leave."""


@pytest.fixture(scope="module")
def site() -> Iterator[SmallSite]:
    links = "".join(f'<a href="/{number}">{number}</a>' for number in range(PAGES))
    pages = {f"/{number}": f"<title>Page {number}</title>" for number in range(PAGES)}
    with SmallSite({"/": f"<title>All</title>{links}", **pages}) as served:
        yield served


def chunks(site: SmallSite, *, used: bool) -> int:
    host = site.url().split("/")[2]
    word = "IS NOT NULL" if used else "IS NULL"
    [(count,)] = postgres.shared_postgres().sql(
        f"SELECT count(*) FROM skitter_cold WHERE host = '{host}' AND used {word}"
    )
    return int(count)


def test_a_long_queue_is_in_postgresql_for_a_while_and_every_page_comes_once(
    site: SmallSite, tmp_path: Path
) -> None:
    store, cold = own_store(), postgres.shared_postgres().url
    run = site.run(tmp_path, "/", "--store", store, "--cold", cold)
    with node(tmp_path / "node", run, "--store", store, "--cold", cold, "--workers", "2") as helper:
        helper.until("two members", lambda: members_in(store) == 2)
        ended = summary(run.finish("--per-host", "16"))
        assert helper.interrupted() == 130

    urls = Counter(record["url"] for record in run.records())
    assert urls == Counter([site.url("/"), *(site.url(f"/{n}") for n in range(PAGES))])
    assert (ended["queued"], ended["ok"]) == (0, PAGES + 1)
    assert (chunks(site, used=False), chunks(site, used=True)) == (0, 2)


def test_who_joins_a_store_with_tails_elsewhere_has_to_name_the_place(
    site: SmallSite, tmp_path: Path
) -> None:
    store, cold = own_store(), postgres.shared_postgres().url
    run = site.run(tmp_path, "/", "--store", store, "--pages", "3")
    summary(run.finish("--cold", cold))

    for ended in (
        command("node", "--store", store, "--workers", "1", "--idle-exit", "1"),
        command("crawl", site.url(), "--store", store, "--allow-private", "--data", tmp_path / "x"),
        command("aliases", "undo", "a.test", "--store", store),
    ):
        assert ended.code == 2
        assert "name it with --cold URL" in ended.err
    named = command("aliases", "undo", "a.test", "--store", store, "--cold", cold)
    assert "a.test: is no alias in job" in named.err


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_cold_store_that_cannot_be_used_is_refused_in_one_line(
    site: SmallSite, tmp_path: Path, workers: str
) -> None:
    bad = postgres.shared_postgres().url_of(password="hunter2")
    store = own_store()
    crawl = ("crawl", site.url(), "--allow-private", "--quiet", "--data", tmp_path / "d")

    for ended in (
        command("node", "--store", store, "--cold", bad, "--workers", workers),
        command(*crawl, "--store", store, "--cold", bad),
    ):
        assert ended.code == 2
        [line] = [line for line in ended.err.splitlines() if "append-only" not in line]
        assert line.startswith("skitter: cold store postgresql://postgres@127.0.0.1:")
        assert "hunter2" not in ended.err


def test_a_cold_store_without_a_store_is_named(tmp_path: Path) -> None:
    cold = "postgresql://me:hunter2@127.0.0.1/tails"
    for words in (
        ("crawl", "http://127.0.0.1:9/", "--data", tmp_path / "d"),
        ("node", "--control", "http://127.0.0.1:9"),
        ("up", "--data", tmp_path / "up", "--port", "0"),
    ):
        ended = command(*words, "--cold", cold)
        assert ended.code == 2
        assert "--cold: without --store" in ended.err
        assert "hunter2" not in ended.err
