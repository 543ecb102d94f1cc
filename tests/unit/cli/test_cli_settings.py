"""``skitter config show``."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from skitter.cli.main import app
from skitter.config import Settings


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    return tmp_path


def test_every_setting_is_shown_with_who_said_it(here: Path) -> None:
    (here / "skitter.toml").write_text('delay = 0.5\ninclude = ["/a/", "/b/"]\nfast = true\n')
    shown = CliRunner().invoke(app, ["config", "show"], env={"SKITTER_DEPTH": "3"})
    assert shown.exit_code == 0
    rows = {line.split()[0]: line.split()[1:] for line in shown.stdout.splitlines()}
    assert list(rows)[1:] == list(Settings.model_fields)
    assert rows["delay"] == ["0.5", str(here / "skitter.toml")]
    assert rows["include"] == ["/a/", "/b/", str(here / "skitter.toml")]
    assert rows["fast"][0] == "true"
    assert rows["depth"] == ["3", "SKITTER_DEPTH"]
    assert rows["per_host"] == ["1", "default"]
    assert rows["pages"] == ["-", "default"]


def test_programs_get_one_document(here: Path) -> None:
    shown = CliRunner().invoke(app, ["config", "show", "--json"], env={"SKITTER_DELAY": "2"})
    document = json.loads(shown.stdout)
    assert document["delay"] == {"value": 2.0, "source": "SKITTER_DELAY"}
    assert document["data"] == {"value": ".skitter/<job id>", "source": "default"}
    assert document["include"] == {"value": [], "source": "default"}


def test_no_password_of_a_store_is_shown() -> None:
    env = {
        "SKITTER_STORE": "redis://me:hunter2@host:6379",
        "SKITTER_COLD": "postgresql://me:hunter2@host/tails",
        "SKITTER_INDEX": "postgresql://me:hunter2@host/pages",
        "SKITTER_TOKEN": "hunter2",
    }
    for words in (["config", "show"], ["config", "show", "--json"]):
        shown = CliRunner().invoke(app, words, env=env)
        assert shown.exit_code == 0
        assert "hunter2" not in shown.stdout
        assert "postgresql://me@host/pages" in shown.stdout
