"""What commands load at their start: no more than they need."""

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    "skitter.crawl.engine",
    "skitter.frontier.embedded.frontier",
    "turbohtml",
    "aiohttp",
    "rich",
)
"""What visits pages, keeps a store in files or draws on a screen."""


def loaded(program: str, where: Path) -> set[str]:
    """Run a program in a fresh interpreter; answers what of the heavy parts it has loaded."""
    told = f"import sys\n{program}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", told], check=False, capture_output=True, text=True, cwd=where
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split()) & set(HEAVY)


@pytest.mark.parametrize("module", ["skitter.cli.main", "skitter.cli.node_run"])
def test_what_a_command_line_and_a_manager_are_made_of_is_light(
    module: str, tmp_path: Path
) -> None:
    assert loaded(f"import {module}", tmp_path) == set()


def test_a_manager_joins_a_store_without_what_its_members_need(tmp_path: Path) -> None:
    joining = """
from pathlib import Path
from skitter.cli.node_run import run_node
from skitter.errors import StoreUnavailable
from skitter.wiring.node_options import NodeOptions
try:
    run_node(NodeOptions(store="redis://127.0.0.1:1", data=Path("node"), quiet=True))
except StoreUnavailable:
    assert "skitter.frontier.redis.frontier" in sys.modules
else:
    raise AssertionError("there is a store")
"""
    assert loaded(joining, tmp_path) == set()


def test_a_member_loads_what_visits_pages(tmp_path: Path) -> None:
    """Or the others would say nothing."""
    assert "skitter.crawl.engine" in loaded("import skitter.wiring.node", tmp_path)
