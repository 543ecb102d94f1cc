"""Hosts at one address share a gate over processes, also when one of them is killed."""

import sys
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest
from killable import Command
from logged_site import LoggedSite
from stores import KINDS, own_store, wait_until

pytestmark = pytest.mark.fault

CHILD = Path(__file__).parent / "gate_child.py"
MOST = 8
HOSTS = 10


def asking(stack: ExitStack, folder: Path, site: LoggedSite, store: str, letter: str) -> Command:
    """Start a process that asks ten hosts of its own; it ends with the test."""
    port = site.url("").rsplit(":", 1)[1].strip("/")
    child = Command(letter, folder, [sys.executable, CHILD, store, port, letter, str(HOSTS)])
    child.start()
    stack.callback(child.kill)
    return child


def asked_since(site: LoggedSite, since: float) -> Counter[str]:
    """Return how many requests came of each process."""
    return Counter(asked.host[0] for asked in list(site.log) if asked.at >= since)


@pytest.mark.parametrize("kind", KINDS)
def test_twenty_hosts_of_two_processes_have_eight_requests_in_flight(
    kind: str, tmp_path: Path
) -> None:
    store = own_store(kind)
    with LoggedSite("gate.test", 1, 1, takes_s=0.1) as site, ExitStack() as stack:
        children = [asking(stack, tmp_path, site, store, letter) for letter in "ab"]
        wait_until("both ask", lambda: set(asked_since(site, 0)) == {"a", "b"}, 60)
        wait_until("all places are used", lambda: site.most >= MOST, 60)
        began = time.monotonic()
        time.sleep(3)
        shares = asked_since(site, began)
        assert site.most == MOST, "and no more than there are"
        assert min(shares.values()) > 0.2 * sum(shares.values()), "both have their part"

        children[0].kill()
        wait_until("places are free", lambda: site.now <= MOST // 2 + 1, 30)
        killed = time.monotonic()
        site.most = 0
        # What the dead one held ends by itself, after some 6 s.
        wait_until("the other has them all", lambda: site.most == MOST, 30)
        time.sleep(1)
        assert site.most == MOST
        assert set(asked_since(site, killed + 3)) == {"b"}
    assert all(child.told.count("Traceback") == 0 for child in children)
