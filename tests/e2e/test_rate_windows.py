"""Rates by kind and by address hold over all members, as the server's log shows."""

import signal
import time
from contextlib import ExitStack
from pathlib import Path

import pytest
from clusters import Background, node
from crawling import command, summary, wait_until
from logged_site import LoggedSite, most_within
from stores import members_in, own_store

pytestmark = pytest.mark.e2e

LATE_S = 0.5
"""How much later than another a request may come to be noted, on a busy machine."""
HEARD_S = 8.0
"""How long a change may take to reach every member, there."""


def test_three_members_keep_the_rates_by_kind_and_by_address(tmp_path: Path) -> None:
    store = own_store()
    with LoggedSite("window.test", 20, 1) as site, ExitStack() as stack:
        polite = 'rate = "20/4s"\nrate_ip = "8/4s"\ndelay = 0\nper_host = 4'
        run = site.run(tmp_path, polite, "--store", store)
        helpers = [
            stack.enter_context(
                node(tmp_path / name, run, "--store", store, "--workers", "1", "--egress", address)
            )
            for name, address in (("two", "127.0.0.2"), ("three", "127.0.0.3"))
        ]
        helpers[1].until("two members", lambda: members_in(store) == 2)
        ended = summary(run.finish())
        assert (ended["queued"], ended["failed"]) == (0, 0)
        assert ended["ok"] == site.pages
    times = [asked.at for asked in site.log]
    peers = {asked.peer for asked in site.log}
    assert len(times) == site.requests, "robots.txt and redirects are requests"
    assert len(peers) >= 2, "others help"
    assert peers <= {"127.0.0.1", "127.0.0.2", "127.0.0.3"}
    assert most_within(times, 4.0 - LATE_S) <= 20
    for peer in peers:
        mine = [asked.at for asked in site.log if asked.peer == peer]
        assert most_within(mine, 4.0 - LATE_S) <= 8
    busy_s = max(times) - min(times)
    assert busy_s < 2.5 * 4.0 * len(times) / 20, "what is allowed is used"


def test_a_crawl_that_is_killed_keeps_its_rate_when_it_goes_on(tmp_path: Path) -> None:
    with LoggedSite("window.test", 2, 8) as site:
        run = site.run(tmp_path, 'rate = "5/3s"\ndelay = 0\nper_host = 4')
        process = run.start()
        wait_until(process, lambda: len(site.log) >= 7)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        summary(run.finish("--pages", "12"))
    assert most_within([asked.at for asked in site.log], 3.0 - LATE_S) <= 5


def test_workers_of_one_machine_share_a_rate(tmp_path: Path) -> None:
    with LoggedSite("window.test", 6, 2) as site:
        run = site.run(tmp_path, 'rate = "8/2s"\ndelay = 0', "--workers", "2")
        assert summary(run.finish())["ok"] == site.pages
    assert most_within([asked.at for asked in site.log], 2.0 - LATE_S) <= 8


@pytest.mark.parametrize(
    ("polite", "complaint"),
    [
        ('rate = "0/0s"', "polite.rate"),
        ('rate_ip = "10/60"', "polite.rate_ip"),
        ('ip_exempt = ["10.0.0.0/99"]', "polite.ip_exempt[0]"),
    ],
)
def test_an_impossible_rate_is_refused_and_nothing_is_asked(
    polite: str, complaint: str, tmp_path: Path
) -> None:
    with LoggedSite("window.test", 1, 1) as site:
        run = site.run(tmp_path, polite)
        ended = command(*run.command()[1:])
        assert (ended.code, ended.out) == (2, "")
        [line] = ended.err.splitlines()
        assert complaint in line
        assert "wanted" in line
        assert site.log == []


@pytest.mark.parametrize("address", ["eth0", "192.0.2.1"])
def test_an_address_that_is_not_this_machines_is_refused(address: str, tmp_path: Path) -> None:
    ended = command("node", "--store", own_store(), "--data", tmp_path, "--egress", address)
    assert (ended.code, ended.out) == (2, "")
    assert f"--egress {address}" in ended.err
    assert "address of this machine" in ended.err


def test_a_rate_that_is_set_counts_for_all_members_within_two_seconds(tmp_path: Path) -> None:
    store = own_store()

    def set_rate(rate: str) -> float:
        ended = command("settings", "set", ".window.test", f"rate={rate}", "--store", store)
        assert ended.code == 0, ended.err
        return time.monotonic()

    def asked(since: float, until: float = float("inf")) -> int:
        return sum(since < one.at < until for one in list(site.log))

    with LoggedSite("window.test", 6, 200) as site, ExitStack() as stack:
        run = site.run(tmp_path, 'rate = "3/60s"\ndelay = 0.05', "--store", store)
        crawl = stack.enter_context(Background(tmp_path, *run.command()[1:]))
        stack.enter_context(node(tmp_path / "node", run, "--store", store, "--workers", "1"))
        crawl.until("the rate is used up", lambda: len(site.log) == 3)
        crawl.until("two members", lambda: members_in(store) == 2)
        time.sleep(1)
        assert len(site.log) == 3
        wider = set_rate("500/1s")
        crawl.until("more", lambda: len(site.log) > 10, 60)
        assert site.log[10].at - wider < HEARD_S
        time.sleep(1)
        narrower = set_rate("1/60s")
        crawl.until("quiet", lambda: time.monotonic() - max(narrower, site.log[-1].at) > 2)
        assert asked(wider, narrower) > 10
        assert asked(narrower + HEARD_S) == 0
