"""The demo keeps to its own directory, and crawls the web it serves."""

import json
from pathlib import Path

import pytest
from cli_fakes import FakeCrawl, summary

from skitter.cli import demo_run
from skitter.cli.demo_run import MARKER, demo_directory, run_demo
from skitter.cli.report import OK
from skitter.errors import ConfigError


def test_a_directory_the_demo_did_not_make_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    with pytest.raises(ConfigError, match="not made by the demo"), demo_directory(tmp_path):
        pass
    assert (tmp_path / "precious").exists()


def test_the_demo_empties_its_own_directory_but_follows_no_links(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "precious").touch()
    directory = tmp_path / "demo"
    with demo_directory(directory):
        (directory / "state").mkdir()
        (directory / "state" / "x").touch()
        (directory / "pages.jsonl").touch()
        (directory / "link").symlink_to(tmp_path / "elsewhere")
    with demo_directory(directory):
        assert [path.name for path in directory.iterdir()] == [MARKER]
    assert (tmp_path / "elsewhere" / "precious").exists()


def test_two_demos_do_not_share_a_directory(tmp_path: Path) -> None:
    directory = tmp_path / "demo"
    with demo_directory(directory):
        (directory / "kept").touch()
        with pytest.raises(ConfigError, match="another demo"), demo_directory(directory):
            pass
        assert (directory / "kept").exists()


def test_the_demo_crawls_its_own_web_and_says_what_to_try_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    crawl = FakeCrawl(summary())
    monkeypatch.setattr(demo_run, "open_crawl", crawl.open)
    directory = tmp_path / "demo"
    assert run_demo(directory, quiet=False, json=False) == OK
    assert crawl.job is not None
    assert crawl.options is not None
    [entry] = crawl.job.entries
    assert entry.startswith("http://")
    assert crawl.options.allow_private
    assert crawl.options.hosts is not None
    assert "127.0.0.1" in crawl.options.hosts.read_text()
    shown = capsys.readouterr().out
    assert f"skitter page {entry} --data {directory}/state" in shown


def test_the_demo_speaks_json_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(demo_run, "open_crawl", FakeCrawl(summary()).open)
    assert run_demo(tmp_path / "demo", quiet=True, json=True) == OK
    assert json.loads(capsys.readouterr().out)["ok"] == 8
