"""A master keeps the limits of its jobs, and tells what is left to do; so does a node."""

import asyncio
import json
import re
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from clusters import Background, ManyHosts
from crawling import command

from skitter.frontier.embedded.frontier import EmbeddedFrontier

pytestmark = pytest.mark.e2e

LEFT = re.compile(r"queue ([0-9,]+), .* left ([0-9,]+) pages")


class Up:
    """``skitter up`` on a directory, with a site it may reach."""

    def __init__(self, folder: Path, site: ManyHosts) -> None:
        self._folder = folder
        self._site = site
        self.data = folder / "state"
        self.hosts = folder / "hosts"
        self.hosts.write_text(site.hosts_file)

    def start(self, workers: int) -> Background:
        reach = ("--allow-private", "--hosts", self.hosts, "--workers", str(workers))
        up = Background(self._folder, "up", "--data", self.data, "--port", "0", *reach)
        up.until_told("listening on ")
        self.url = up.told.partition("listening on ")[2].split(";")[0]
        return up

    def add(self, job: str, **fields: Any) -> None:
        path = self._folder / f"{job}.json"
        given = {"id": job, "entries": [self._site.entry], "scope": "domain", "sitemaps": "no"}
        path.write_text(json.dumps({**given, **fields}))
        ended = command("job", "add", path, "--data", self.data)
        assert ended.code == 0, ended

    def has_worker(self) -> bool:
        """Tell whether a worker has come: the time of jobs runs without one, too."""
        told = command("nodes", "list", "--data", self.data, "--json").out
        return any(json.loads(line)["member"] for line in told.splitlines())

    def facts(self, job: str) -> dict[str, Any]:
        ended = command("job", "show", job, "--data", self.data, "--json")
        assert ended.code == 0, ended
        return dict(json.loads(ended.out))

    def standing(self, job: str) -> tuple[str, str]:
        facts = self.facts(job)
        return facts["state"], facts["stopped_by"]


def test_a_master_keeps_limits_of_time_bytes_and_pages_and_says_which(tmp_path: Path) -> None:
    with ManyHosts(4, 60) as site, ExitStack() as stack:
        master = Up(tmp_path, site)
        up = stack.enter_context(master.start(workers=1))
        up.until("a worker", master.has_worker)
        slow = {"delay": 0.2}
        master.add("timed", polite=slow, limits={"time": 4})
        master.add("sized", polite=slow, limits={"bytes": 400})
        master.add("paged", polite={"delay": 0}, limits={"pages": 30})
        up.until("the end of its time", lambda: master.facts("timed")["stopped_by"] != "")
        assert master.standing("timed") == ("paused", "time limit")
        up.until("enough bytes", lambda: master.facts("sized")["stopped_by"] != "")
        assert master.standing("sized") == ("paused", "bytes limit")
        up.until("enough pages", lambda: master.facts("paged")["stopped_by"] != "")
        assert master.facts("paged")["pages"] == 30
        assert master.standing("paged") == ("finished", "pages limit")

        table = command("job", "list", "--data", master.data).out.splitlines()
        [timed] = [line for line in table if line.startswith("timed")]
        assert "paused (time limit)" in timed

        up.until("what was under way", lambda: not master.facts("timed")["leased"])
        before = master.facts("timed")["pages"]
        assert 0 < before < 200
        assert master.facts("timed")["queued"] > 0

        # The same job again runs for its time once more.
        master.add("timed", polite=slow, limits={"time": 4})
        assert master.standing("timed") == ("running", "")
        up.until("more of it", lambda: master.facts("timed")["pages"] > before)
        up.until("its end again", lambda: master.facts("timed")["stopped_by"] != "")
        assert master.standing("timed") == ("paused", "time limit")
        assert up.interrupted() == 130

        again = stack.enter_context(master.start(workers=0))
        assert master.standing("timed") == ("paused", "time limit"), "a restart changes nothing"
        again.until_told(" left ")
        line = next(line for line in again.told.splitlines() if " left " in line)
        assert re.match(r"[0-9]{2,} pages, 0\.0/s, ", line), "the pages of runs before are no speed"
        assert again.interrupted() == 130
    told = asyncio.run(told_of_jobs(master.data))
    assert [words for job, words in told if job == "paged"] == ["added", "stopped: pages limit"]
    assert ("timed", "paused: time limit") in told


async def told_of_jobs(data: Path) -> list[tuple[str, str]]:
    store = EmbeddedFrontier(data / "frontier")
    await store.open()
    try:
        events = [json.loads(event) for _, event in await store.events("", 10_000)]
    finally:
        await store.close()
    return [(event["job"], event["message"]) for event in events if event["type"] == "job"]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_master_and_a_node_show_what_is_left(tmp_path: Path, workers: str) -> None:
    with ManyHosts(3, 120) as site, ExitStack() as stack:
        master = Up(tmp_path, site)
        up = stack.enter_context(master.start(workers=0))
        token = {"SKITTER_TOKEN": (master.data / "token").read_text().strip()}
        reach = ("--allow-private", "--hosts", master.hosts, "--data", tmp_path / "node")
        words = ("node", "--control", master.url, "--workers", workers, *reach)
        node = stack.enter_context(Background(tmp_path, *words, env=token))
        master.add("many", polite={"delay": 0.4}, limits={"pages": 250})
        for one in (up, node):
            one.until_told(" pages, about ")
            found = LEFT.findall(one.told)
            assert found, one.told
            for queue, left in found:
                assert 0 < int(left.replace(",", "")) <= min(250, int(queue.replace(",", "")))
