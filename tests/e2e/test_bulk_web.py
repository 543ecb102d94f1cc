"""A crawl of the bench web, served live, equals the generator's ground truth."""

import asyncio
from pathlib import Path

import pytest
from crawling import Run

from skitter.demo.bulk import BulkPlan, bulk_web
from skitter.demo.server import DemoServer
from skitter.demo.truth import Plan, ground_truth
from skitter.demo.verify import problems

pytestmark = pytest.mark.e2e


@pytest.mark.parametrize("hosts", [1, 7])
async def test_every_page_of_the_bench_web_is_fetched_once_and_no_forbidden_one(
    tmp_path: Path, hosts: int
) -> None:
    names = [f"h{n}.bulk.test" for n in range(hosts)]
    web = bulk_web(BulkPlan(pages=700, hosts=hosts), names, 80)
    async with DemoServer(web) as server:
        (tmp_path / "hosts").write_text(server.hosts_file())
        reach = ["--hosts", str(tmp_path / "hosts"), "--allow-private", "--scope", "any"]
        run = Run(tmp_path, [server.web.entry], [*reach, "--delay", "0", "--per-host", "32"])
        process = await asyncio.create_subprocess_exec(
            *run.command(), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE
        )
        _, errors = await process.communicate()
        assert process.returncode == 0, errors.decode()
        truth = ground_truth(server.web, Plan(scope="any"))
        assert problems(truth, run.records(), server.log) == []
