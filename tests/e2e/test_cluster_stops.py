"""A crawl on a shared store that is stopped, killed or begun again while others go on."""

import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from clusters import Background, ManyHosts, each_once, gone, node, urls_in
from crawling import command, hurry, lines_in, summary
from killable import family
from stores import members_in, own_store

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def many() -> Iterator[ManyHosts]:
    with ManyHosts(16, 6) as site:
        yield site


def test_ctrl_c_ends_soon_though_nodes_go_on_and_the_same_command_finishes(
    tmp_path: Path,
) -> None:
    url = own_store()
    with ManyHosts(12, 60) as site:
        run = site.run(tmp_path, "--store", url, "--delay", "0.3")
        with node(tmp_path / "node", run, "--store", url, "--workers", "1") as helper:
            helper.until("a member", lambda: members_in(url) == 1)
            with Background(tmp_path, *run.command()[1:]) as crawl:
                crawl.until("records", lambda: lines_in(run.out) > 40)
                began = time.monotonic()
                assert crawl.interrupted() == 130
                assert time.monotonic() - began < 25
            partial = run.records()
            assert 40 < len(partial) < len(site.urls)
            hurry("--store", url)
            ended = summary(run.finish())
            helper.interrupted()
        each_once(site, run.out)
        assert run.records()[: len(partial)] == partial
        assert ended["queued"] == 0
        assert max(Counter(site.asked).values()) == 1


def test_a_killed_crawl_goes_on_where_it_was_and_nodes_go_on_without_it(tmp_path: Path) -> None:
    url = own_store()
    with ManyHosts(12, 30) as site:
        run = site.run(tmp_path, "--store", url, "--delay", "0.3")
        with node(tmp_path / "node", run, "--store", url, "--workers", "1") as helper:
            helper.until("a member", lambda: members_in(url) == 1)
            with Background(tmp_path, *run.command()[1:]) as crawl:
                crawl.until("records", lambda: lines_in(run.out) > 20)
                crawl.kill()
            before = len(site.asked)
            helper.until("more requests", lambda: len(site.asked) > before + 10)
            hurry("--store", url)
            summary(run.finish())
            helper.interrupted()
        each_once(site, run.out)


def test_fresh_starts_over_in_the_store(many: ManyHosts, tmp_path: Path) -> None:
    url = own_store()
    run = many.run(tmp_path, "--store", url)
    before = len(many.asked)
    summary(run.finish())
    asked = len(many.asked) - before
    again = summary(run.finish())
    assert len(many.asked) == before + asked, "a finished crawl fetches nothing"
    assert again["pages"] == len(run.records())
    ended = summary(run.finish("--fresh"))
    assert len(many.asked) == before + 2 * asked
    assert ended["pages"] == len(run.records())
    each_once(many, run.out)
    exported = command("job", "export", "--store", url).out.splitlines()
    assert len(exported) == len(run.records()), "the job of before is gone"


def test_a_second_crawl_of_the_same_job_is_refused_and_harms_nothing(tmp_path: Path) -> None:
    url = own_store()
    with ManyHosts(6, 150) as site:
        first = site.run(tmp_path / "first", "--store", url, "--delay", "0.3")
        with Background(first.directory, *first.command()[1:]) as crawl, ExitStack() as stack:
            crawl.until("records", lambda: lines_in(first.out) > 5)
            same = stack.enter_context(Background(tmp_path / "same", *first.command()[1:]))
            others = [
                stack.enter_context(
                    Background(tmp_path, *site.run(tmp_path / name, *flags).command()[1:])
                )
                for name, flags in {
                    "other": ("--store", url, "--delay", "0.3"),
                    "fresh": ("--store", url, "--delay", "0.3", "--fresh"),
                }.items()
            ]
            assert same.ended() == 2
            assert "in use by another Skitter process" in same.told
            for other in others:
                assert other.ended() == 2, other.told
                assert "the records of this job are being written by" in other.told
                assert "help it with: skitter node" in other.told
                assert len([li for li in other.told.splitlines() if li.startswith("skitter:")]) == 1
            count = lines_in(first.out)
            crawl.until("more records", lambda: lines_in(first.out) > count + 5)
            assert crawl.interrupted() == 130
        assert max(Counter(site.asked).values()) == 1
        found = urls_in(first.out)
        assert set(found.values()) == {1}


def test_other_settings_under_the_same_id_are_refused(many: ManyHosts, tmp_path: Path) -> None:
    url = own_store()
    run = many.run(tmp_path / "one", "--store", url, "--pages", "2")
    summary(run.finish())
    assert "paused (pages limit)" in command("job", "list", "--store", url).out
    for more, said in (
        (["--depth", "1"], "with other settings (depth is"),
        (["--out", str(tmp_path / "more.csv")], "this crawl writes to"),
        (["--warc", str(tmp_path / "warc")], "this crawl has begun with"),
    ):
        ended = command(*run.command(*more)[1:])
        assert ended.code == 2, ended
        assert said in ended.err, ended
    embedded = many.run(tmp_path / "two", "--pages", "2")
    summary(embedded.finish())
    ended = command(*embedded.command("--store", url)[1:])
    assert (ended.code, "holds a crawl without --store" in ended.err) == (2, True)


def test_workers_do_not_outlive_a_crawl_that_is_killed(tmp_path: Path) -> None:
    with ManyHosts(4, 60) as site, ExitStack() as stack:
        runs = [
            site.run(tmp_path / "own", "--workers", "2", "--delay", "0.2"),
            site.run(
                tmp_path / "shared", "--workers", "1", "--delay", "0.2", "--store", own_store()
            ),
        ]
        pids: list[int] = []
        for run in runs:
            crawl = stack.enter_context(Background(run.directory, *run.command()[1:]))
            crawl.until("records", lambda out=run.out: lines_in(out) > 5)  # type: ignore[misc]
            pids += family(crawl.pid)[1:]
            crawl.send(signal.SIGKILL)
        assert len(pids) == 3
        assert gone(pids)
