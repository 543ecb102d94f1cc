"""A site under several names is crawled once, others beside it whole, and an operator decides."""

import json
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from clusters import Background, node
from crawling import Record, Run, command, facts, hurry, summary
from mirrors import EQUAL, KEPT, MIRRORS, NAMES, NOWHERE, OTHER, TURNING, MirrorWeb, paths
from stores import own_store

pytestmark = pytest.mark.e2e

FEW = 12
"""Pages of a mirror that may be fetched before it is known as one."""


@pytest.fixture
def web() -> Iterator[MirrorWeb]:
    with MirrorWeb() as made:
        yield made


@pytest.fixture
def store() -> str:
    return own_store("redis")


def listed(*words: str | Path) -> dict[str, dict[str, Any]]:
    """Return what ``skitter aliases list`` tells, by alias."""
    ended = command("aliases", "list", *words, "--json")
    assert ended.code == 0, ended.err
    rows = map(json.loads, ended.out.splitlines())
    return {row["alias"]: row for row in rows}


def fetched(records: list[Record]) -> set[str]:
    return {record["url"] for record in records if record["outcome"] == "ok"}


def whole_records(path: Path) -> list[Record]:
    """Return the records that a file has so far."""
    lines = path.read_bytes().split(b"\n")[:-1] if path.exists() else []
    return [json.loads(line) for line in lines]


def left_out(web: MirrorWeb, path: Path, name: str) -> list[Record]:
    """Return the records so far of URLs that were not fetched under a name."""
    site = web.url(name)
    found = whole_records(path)
    return [r for r in found if r["url"].startswith(site) and r["outcome"] == "duplicate"]


def check_crawled_once(web: MirrorWeb, records: list[Record]) -> None:
    """Check that everything was fetched, the mirrors' pages under one name."""
    found = fetched(records)
    for name in (KEPT, OTHER, TURNING):
        assert web.urls(name) <= found, name
        assert web.requests(name).most_common(1)[0][1] == 1
    for name in MIRRORS:
        assert 0 < web.requests(name).total() <= FEW, name


@pytest.mark.parametrize("own_address", [False, True])
def test_mirrors_are_crawled_once_and_come_back_when_that_is_undone(
    tmp_path: Path, *, own_address: bool
) -> None:
    with MirrorWeb(own_address=own_address) as web:
        run = web.run(tmp_path, "--delay", "0")
        told = summary(run.finish())
        check_crawled_once(web, run.records())
        assert told["queued"] == 0

        found = listed("--data", run.data)
        assert set(found) == {web.key(name) for name in MIRRORS}
        for row in found.values():
            assert (row["kept"], row["in_force"]) == (web.key(KEPT), True)
            assert row["equal"] >= 6
            assert {sample["path"] for sample in row["samples"]} <= set(paths())
        check_records_say_so(web, run)

        alias = web.key(MIRRORS[0])
        ended = command("aliases", "undo", alias, "--data", run.data)
        assert ended.code == 0, ended.err
        assert f"{alias} is no alias of {web.key(KEPT)} any more" in ended.out
        before = web.requests(MIRRORS[1])
        summary(run.finish())
        assert web.urls(MIRRORS[0]) <= fetched(run.records())
        assert web.requests(MIRRORS[0]).most_common(1)[0][1] == 1, "nothing is fetched twice"
        assert web.requests(MIRRORS[1]) == before, "the other one stays an alias"
        assert not listed("--data", run.data)[alias]["in_force"], "and is not merged again"


def check_records_say_so(web: MirrorWeb, run: Run) -> None:
    alias = MIRRORS[0]
    records = left_out(web, run.out, alias)
    assert records
    for record in records:
        assert record["error"].startswith(f"alias of {web.key(KEPT)}")
        assert record["duplicate_of"] == record["url"].replace(web.key(alias), web.key(KEPT))
        assert record["status"] is None
    why = facts(run.data, records[0]["url"])["why"]
    assert why.startswith(f"was not fetched: alias of {web.key(KEPT)}")
    never = facts(run.data, web.url(alias, "/never-linked"))["why"]
    assert never.startswith(f"never queued: alias of {web.key(KEPT)}")


def test_the_table_and_the_summary_name_the_aliases(web: MirrorWeb, tmp_path: Path) -> None:
    run = web.run(tmp_path, "--delay", "0")
    told = run.told()
    assert "2 hosts crawled under another name" in told
    lines = command("aliases", "list", "--data", run.data).out.splitlines()
    assert lines[0].split()[:3] == ["kept", "alias", "since"]
    assert [line.split()[1] for line in lines[1:]] == sorted(web.key(name) for name in MIRRORS)
    assert all("in force" in line for line in lines[1:])


def test_a_job_may_do_without(web: MirrorWeb, tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    entries = [web.url(name) for name in NAMES]
    job.write_text(f"entries = {json.dumps(entries)}\n[aliases]\nenabled = false\n")
    run = web.run(tmp_path, "--delay", "0", entries=["--job", str(job)])
    summary(run.finish())
    for name in NAMES:
        assert web.requests(name).total() == len(paths()) + 1, name
    assert command("aliases", "list", "--data", run.data).out == "no aliases\n"


def test_links_to_an_alias_lead_to_the_kept_host(web: MirrorWeb, tmp_path: Path) -> None:
    """Pages that are linked under the other name alone are not lost."""
    hidden = [f"/hidden/{number}" for number in range(20)]

    def extra(host: str, path: str) -> str | None:
        if path in hidden and host != OTHER:
            return f"<title>{path}</title><p>" + f"hidden away at {path} " * 10
        if host == OTHER and path == "/s3/p7":
            links = "".join(f'<a href="{web.url(MIRRORS[0], path)}">x</a>' for path in hidden)
            return f"<title>links</title>{links}"
        return None

    web.extra = extra
    run = web.run(tmp_path, "--delay", "0.02", "--concurrency", "8")
    summary(run.finish())
    assert {web.url(KEPT, path) for path in hidden} <= fetched(run.records())
    assert not set(hidden) & set(web.requests(MIRRORS[0]))
    assert listed("--data", run.data)[web.key(MIRRORS[0])]["links"] == len(hidden)


def test_a_page_that_redirects_to_the_alias_is_fetched_there(
    web: MirrorWeb, tmp_path: Path
) -> None:
    moved = "/s3/p7"

    def extra(host: str, path: str) -> str | None:
        return f"> {web.url(MIRRORS[0], path)}" if (host, path) == (KEPT, moved) else None

    web.extra = extra
    run = web.run(tmp_path, "--delay", "0.02")
    summary(run.finish())
    pages = [r for r in run.records() if r["final_url"] == web.url(MIRRORS[0], moved)]
    assert [record["outcome"] for record in pages if record["status"] == 200] == ["ok"]


@pytest.mark.parametrize("own_address", [False, True])
def test_a_cluster_goes_by_what_one_member_found_and_an_operator_undid(
    web: MirrorWeb, store: str, tmp_path: Path, *, own_address: bool
) -> None:
    web.own_address = own_address
    # What a member has fetched is known to the others a second later: a few pages, not dozens.
    run = web.run(tmp_path, "--delay", "0.35", "--store", store)
    alias = web.key(MIRRORS[0])
    with ExitStack() as stack:
        stack.enter_context(node(tmp_path / "node", run, "--store", store, "--workers", "1"))
        crawl = stack.enter_context(Background(tmp_path, *run.command()[1:]))
        crawl.until("a left out URL", lambda: bool(left_out(web, run.out, MIRRORS[0])))
        ended = command("aliases", "undo", alias, "--store", store, "--json")
        assert ended.code == 0, ended.err
        assert json.loads(ended.out)["queued"] > 0
        assert crawl.ended() == 0
    assert web.urls(MIRRORS[0]) <= fetched(run.records())
    for name in (KEPT, OTHER, TURNING):
        assert web.urls(name) <= fetched(run.records()), name
    assert web.requests(MIRRORS[1]).total() <= 2 * FEW, "two members learn more slowly than one"
    assert [row["in_force"] for _, row in sorted(listed("--store", store).items())] == [False, True]


def test_an_undo_reaches_a_crawl_that_runs(web: MirrorWeb, tmp_path: Path) -> None:
    run = web.run(tmp_path, "--delay", "0.3", "--workers", "1")
    alias = web.key(MIRRORS[1])

    def learned() -> bool:
        return all(left_out(web, run.out, name) for name in MIRRORS)

    with Background(tmp_path, *run.command()[1:]) as crawl:
        crawl.until("left out URLs", learned)
        ended = command("aliases", "undo", alias, "--data", run.data, "--json")
        assert json.loads(ended.out)["queued"] > 0, ended
        hurry("--data", run.data)
        assert crawl.ended() == 0
    assert web.urls(MIRRORS[1]) <= fetched(run.records())
    assert web.requests(MIRRORS[0]).total() <= FEW


def test_a_master_and_its_workers_go_by_it_as_well(web: MirrorWeb, tmp_path: Path) -> None:
    run, state, job = web.run(tmp_path), tmp_path / "up", tmp_path / "job.json"
    entries = [web.url(name) for name in NAMES]
    polite = {"delay": 0.1}
    job.write_text(
        json.dumps({"id": "names", "entries": entries, "sitemaps": "no", "polite": polite})
    )
    out = state / "out" / "names.jsonl"
    reach = ("--allow-private", "--hosts", run.directory / "hosts")
    with Background(tmp_path, "up", "--data", state, "--port", "0", "--workers", "2", *reach) as up:
        up.until_told("listening on ")
        assert command("job", "add", job, "--data", state).code == 0
        up.until("a left out URL", lambda: bool(left_out(web, out, MIRRORS[0])))
        alias = web.key(MIRRORS[0])
        assert listed("--data", state, "--job", "names")[alias]["in_force"]
        never = facts(state, web.url(MIRRORS[0], "/never-linked"))["why"]
        assert never.startswith(f"never queued: alias of {web.key(KEPT)}")
        [url] = re.findall(r"listening on (http://[\d.:]+)", up.told)
        api = ("--api", url, "--token", (state / "token").read_text().strip())
        assert listed(*api)[alias]["in_force"]
        ended = command("aliases", "undo", alias, *api)
        assert ended.code == 0, ended.err
        assert f"{alias} is no alias of {web.key(KEPT)} any more" in ended.out
        assert not listed(*api)[alias]["in_force"]
        up.until("its pages", lambda: web.urls(MIRRORS[0]) <= fetched(whole_records(out)))
        assert command("aliases", "undo", "nobody.test", "--data", state).code == 2


def test_what_cannot_be_undone_is_named(web: MirrorWeb, tmp_path: Path) -> None:
    run = web.run(tmp_path, "--delay", "0")
    summary(run.finish())
    known = ", ".join(sorted(web.key(name) for name in MIRRORS))
    for host in ("nobody.test", web.key(KEPT), web.key(OTHER)):
        ended = command("aliases", "undo", host, "--data", run.data)
        assert (ended.code, ended.out) == (2, "")
        [line] = ended.err.splitlines()
        assert f"{host}: is no alias in job" in line
        assert line.endswith(f"aliases there: {known}")
    assert set(listed("--data", run.data)) == {web.key(name) for name in MIRRORS}
    ended = command("aliases", "list", "--data", run.data, "--job", "another")
    assert ended.code == 2
    assert "name one of them" in ended.err
    assert command("aliases", "list", "--data", tmp_path / "nothing").code == 2


def test_the_equal_pages_are_as_equal_as_they_should_be(web: MirrorWeb) -> None:
    """The web is what the tests take it for."""
    for path in paths():
        one, two = web.body(KEPT, path), web.body(OTHER, path)
        assert (one == two) is (path in EQUAL)
        assert web.body(MIRRORS[0], path) == one
    assert web.body(KEPT, NOWHERE) is None
