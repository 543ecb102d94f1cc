"""A whole crawl of the demo web equals the generator's own ground truth."""

import signal
from pathlib import Path

import pytest
from crawling import demo_run, lines_in, summary, wait_until

from skitter.demo.child import DemoProcess
from skitter.demo.truth import Plan, ground_truth
from skitter.demo.verify import problems

pytestmark = pytest.mark.e2e


def test_a_crawl_of_the_demo_web_equals_its_ground_truth(tmp_path: Path) -> None:
    with DemoProcess(log=tmp_path / "hits") as demo:
        run = demo_run(tmp_path, demo, "--delay", "0", "--per-host", "8", "--timeout", "5")
        ended = summary(run.finish())
        truth = ground_truth(demo.web, Plan(tries=4))
        assert problems(truth, run.records(), demo.hits()) == []
    assert ended["queued"] == 0
    assert ended["pages"] == len(run.records())
    assert ended["pages"] == ended["ok"] + ended["failed"] + ended["refused"] + sum(
        record["outcome"] == "duplicate" for record in run.records()
    )


def test_running_a_finished_crawl_again_fetches_nothing_and_keeps_the_file(
    tmp_path: Path,
) -> None:
    with DemoProcess(log=tmp_path / "hits", pages=60) as demo:
        flags = ["--delay", "0", "--per-host", "8", "--timeout", "3"]
        run = demo_run(tmp_path, demo, *flags, tries=1)
        first = summary(run.finish())
        kept, asked = run.out.read_bytes(), len(demo.hits())
        second = summary(run.finish())
        assert len(demo.hits()) == asked
    assert run.out.read_bytes() == kept
    assert {**second, "seconds": 0} == {**first, "seconds": 0}


def test_depth_first_and_breadth_first_bring_the_same_pages(tmp_path: Path) -> None:
    found = []
    with DemoProcess(pages=120) as demo:
        for order in ("bfs", "dfs"):
            place = tmp_path / order
            place.mkdir()
            flags = ["--order", order, "--delay", "0", "--timeout", "3"]
            run = demo_run(place, demo, *flags, tries=2)
            summary(run.finish())
            found.append({r["final_url"] for r in run.records() if r["outcome"] == "ok"})
    assert found[0] == found[1]


def test_ctrl_c_drains_keeps_state_and_the_same_command_goes_on(tmp_path: Path) -> None:
    with DemoProcess(log=tmp_path / "hits", pages=300) as demo:
        run = demo_run(tmp_path, demo, "--delay", "0.05", "--timeout", "3", tries=2)
        process = run.start()
        wait_until(process, lambda: lines_in(run.out) > 20)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 130, errors
        partial = run.records()
        assert partial
        ended = summary(run.finish("--delay", "0", "--per-host", "8"))
        truth = ground_truth(demo.web, Plan(tries=2))
        assert [p for p in problems(truth, run.records(), demo.hits()) if "times" not in p] == []
    assert ended["queued"] == 0
    assert run.records()[: len(partial)] == partial
