"""``skitter node``: what flags, environment and file make of a machine that joins."""

import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from crawling import command

from skitter.cli.node_run import node_options
from skitter.cluster.crew import Worker
from skitter.config import resolve
from skitter.errors import ConfigError
from skitter.wiring.node_options import NodeOptions
from skitter.wiring.worker_words import node_crew

STORE = "redis://user:hunter2@10.0.0.5:6379"
MASTER = "http://10.0.0.5:8440"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    for name in [name for name in os.environ if name.startswith("SKITTER_")]:
        monkeypatch.delenv(name)
    return tmp_path


def options(env: Mapping[str, str] | None = None, **flags: Any) -> NodeOptions:
    return node_options(resolve(flags, env or {}, Path.cwd()))


def test_a_node_has_one_worker_a_core_and_a_place_of_its_own() -> None:
    made = options(store=STORE)
    assert made.workers == len(os.sched_getaffinity(0))
    assert made.data == Path(".skitter/node")
    assert (made.store, made.control, made.token, made.name) == (STORE, None, "", "")
    assert (made.idle_exit, made.allow_private, made.fast, made.quiet) == (
        None,
        False,
        False,
        False,
    )


def test_every_flag_arrives(here: Path) -> None:
    (here / "h").touch()
    made = options(
        control=MASTER,
        token="t",
        workers=3,
        max_workers=4,
        name="vega",
        idle_exit=5,
        data=Path("d"),
        concurrency=7,
        allow_private=True,
        hosts=Path("h"),
        fast=True,
        quiet=True,
    )
    assert made == NodeOptions(
        control=MASTER,
        token="t",
        workers=3,
        max_workers=4,
        name="vega",
        idle_exit=5,
        data=Path("d"),
        concurrency=7,
        allow_private=True,
        hosts=Path("h"),
        fast=True,
        quiet=True,
    )


def test_there_are_no_more_workers_from_the_start_than_may_be_unless_that_is_said() -> None:
    assert options(store=STORE, max_workers=1).workers == 1
    assert options(store=STORE, max_workers=1, workers=3).workers == 3, "two of them wait"
    assert options(store=STORE, workers=0).workers == 0


def test_the_environment_and_a_file_say_the_same_as_flags(here: Path) -> None:
    (here / "skitter.toml").write_text('name = "file"\nworkers = 5\n')
    made = options({"SKITTER_STORE": STORE, "SKITTER_WORKERS": "2"})
    assert (made.store, made.workers, made.name) == (STORE, 2, "file")


def test_a_node_without_a_place_to_join_is_refused() -> None:
    with pytest.raises(ConfigError, match="nowhere to join: wanted --store URL or --control URL"):
        options()


def test_two_places_said_in_one_breath_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"^--store and --control: wanted one of them$"):
        options(store=STORE, control=MASTER)
    with pytest.raises(ConfigError, match=r"^SKITTER_STORE and SKITTER_CONTROL: wanted one"):
        options({"SKITTER_STORE": STORE, "SKITTER_CONTROL": MASTER})


def test_a_flag_wins_over_what_is_always_set(here: Path) -> None:
    by_flag = options({"SKITTER_STORE": STORE}, control=MASTER)
    assert (by_flag.store, by_flag.control) == (None, MASTER)
    (here / "skitter.toml").write_text(f'control = "{MASTER}"\n')
    by_environment = options({"SKITTER_STORE": STORE})
    assert (by_environment.store, by_environment.control) == (STORE, None)


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--workers", "0", "--idle-exit", "1"], "--workers 0 and --idle-exit: the node would"),
        (["--workers", "-1"], "--workers: "),
        (["--max-workers", "0"], "--max-workers: "),
        (["--idle-exit", "0"], "--idle-exit: "),
        (["--concurrency", "0"], "--concurrency: "),
    ],
)
def test_numbers_that_make_no_sense_are_refused_in_one_line(flags: list[str], said: str) -> None:
    ended = command("node", "--store", STORE, *flags)
    assert (ended.code, ended.out) == (2, "")
    [line] = ended.err.splitlines()
    assert line.startswith(f"skitter: {said}")
    assert "hunter2" not in line


def commands(made: NodeOptions) -> list[Worker]:
    return node_crew(made).workers


def test_a_workers_command_line_holds_no_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKITTER_TOKEN", "of-another")
    monkeypatch.setenv("SKITTER_CONTROL", MASTER)
    index = "postgresql://me:opensesame@host/pages"
    made = NodeOptions(store=STORE, index=index, token="hush", workers=2, name="vega")
    [one, two] = commands(made)
    for place, worker in ((1, one), (2, two)):
        words = " ".join(worker._command)
        assert f"node --place {place} " in words
        assert "--name vega" in words
        assert "hunter2" not in words
        assert "hush" not in words
        assert "opensesame" not in words
        assert worker._env["SKITTER_STORE"] == STORE
        assert worker._env["SKITTER_INDEX"] == index
        assert worker._env["SKITTER_TOKEN"] == "hush"
        assert "SKITTER_CONTROL" not in worker._env, "two places to join would be refused"


def test_a_child_of_a_master_is_given_no_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKITTER_STORE", STORE)
    [worker] = commands(NodeOptions(control="/data/frontier.sock"))
    assert "SKITTER_STORE" not in worker._env
    assert "hunter2" not in " ".join(worker._env.values())
    assert worker._command[-2:] == ["--control", "/data/frontier.sock"]


def test_a_worker_is_told_everything_a_node_was_told() -> None:
    made = NodeOptions(
        store=STORE,
        idle_exit=4,
        hosts=Path("h"),
        allow_private=True,
        fast=True,
        concurrency=9,
        data=Path("d"),
    )
    words = " ".join(commands(made)[0]._command)
    for part in (
        "--idle-exit 4",
        "--hosts h",
        "--allow-private",
        "--fast",
        "--concurrency 9",
        "--data d",
    ):
        assert part in words


def test_a_store_that_cannot_be_used_is_told_once_whatever_the_number_of_workers(
    here: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    for workers in ("1", "3"):
        ended = command("node", "--store", "redis://127.0.0.1:1/", "--workers", workers)
        assert ended.code == 3
        [line] = ended.err.splitlines()
        assert line.startswith("skitter: store redis://127.0.0.1:1/ ")
        assert "start Redis there or check the address" in line
