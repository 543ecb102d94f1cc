"""Settings: who wins, and what a fault looks like."""

from pathlib import Path

import pytest

from skitter.config import (
    Layer,
    Resolved,
    RunOptions,
    Settings,
    config_file,
    default_of,
    env_name,
    flag_name,
    resolve,
    run_options,
)
from skitter.errors import ConfigError
from skitter.job.load import PLACES, JobSettings
from skitter.job.spec import Job


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    (tmp_path / "xdg" / "skitter").mkdir(parents=True)
    return tmp_path


def settled(
    home: Path, *, file: str = "", environ: dict[str, str] | None = None, **flags: object
) -> Resolved:
    if file:
        (home / "here" / "skitter.toml").write_text(file)
    return resolve(flags, {"XDG_CONFIG_HOME": str(home / "xdg"), **(environ or {})}, home / "here")


def test_command_line_wins_over_environment_over_file_over_default(home: Path) -> None:
    resolved = settled(
        home,
        file="concurrency = 1\ndelay = 1.5\nper_host = 2\n",
        environ={"SKITTER_CONCURRENCY": "2", "SKITTER_DELAY": "2.5"},
        concurrency=3,
    )
    said = {name: (one.value, one.layer) for name, one in resolved.said.items()}
    assert said == {
        "concurrency": (3, Layer.COMMAND_LINE),
        "delay": (2.5, Layer.ENVIRONMENT),
        "per_host": (2, Layer.FILE),
    }
    assert resolved.said["concurrency"].place == "--concurrency"
    assert resolved.said["delay"].place == "SKITTER_DELAY"
    assert resolved.said["per_host"].place.endswith("skitter.toml")


def test_what_is_said_of_jobs_stands_on_both_sides_of_a_job_file(home: Path) -> None:
    resolved = settled(home, file="delay = 3.0", environ={"SKITTER_DEPTH": "4"}, pages=5)
    assert resolved.job_defaults() == JobSettings(delay=3.0, depth=4)
    assert resolved.job_flags() == JobSettings(pages=5)


def test_every_type_can_be_said_in_the_environment(home: Path) -> None:
    environ = {
        "SKITTER_SCOPE": "domain",
        "SKITTER_ROBOTS": "no",
        "SKITTER_FAST": "1",
        "SKITTER_INCLUDE": "/a/\n/b c/\n",
        "SKITTER_OUT": "~/x.jsonl",
        "SKITTER_PAGES": "",
    }
    settings = settled(home, environ=environ).settings
    assert (settings.scope, settings.robots, settings.fast) == ("domain", False, True)
    assert settings.include == ("/a/", "/b c/")
    assert settings.out == (Path.home() / "x.jsonl",)
    assert settings.pages is None


@pytest.mark.parametrize(
    ("file", "complaint"),
    [
        ("dely = 1", 'skitter.toml: dely: unknown key; did you mean "delay"?'),
        ("per-host = 1", 'skitter.toml: per-host: unknown key; did you mean "per_host"?'),
        ('delay = "1"', 'skitter.toml: delay: "1": wanted a number'),
        ("concurrency = 0", "skitter.toml: concurrency: 0: wanted 1 or more"),
        ('out = "x.txt"', 'skitter.toml: out[0]: "x.txt": wanted a file that ends in .jsonl'),
        ('out = ["a.csv", "b"]', 'skitter.toml: out[1]: "b": wanted a file that ends in .jsonl'),
        ("delay 1", "skitter.toml: not valid TOML"),
        ("fresh = true", "skitter.toml: fresh: unknown key"),
    ],
)
def test_a_bad_file_is_one_clear_line(home: Path, file: str, complaint: str) -> None:
    with pytest.raises(ConfigError) as caught:
        settled(home, file=file)
    assert complaint in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("environ", "complaint"),
    [
        ({"SKITTER_DELAY": "fast"}, 'SKITTER_DELAY: "fast": wanted a number'),
        ({"SKITTER_ROBOTS": "maybe"}, 'SKITTER_ROBOTS: "maybe": wanted true or false'),
        ({"SKITTER_INCLUDE": "ok\n("}, 'SKITTER_INCLUDE: "(": not an RE2 regular expression'),
        ({"SKITTER_DELAYS": "1"}, "SKITTER_DELAYS: unknown setting.*did you mean SKITTER_DELAY"),
        ({"SKITTER_CONFIG": "/none.toml"}, "/none.toml: cannot be read: No such file"),
    ],
)
def test_a_bad_environment_is_one_clear_line(
    home: Path, environ: dict[str, str], complaint: str
) -> None:
    pattern = complaint.replace("(", r"\(")
    with pytest.raises(ConfigError, match=f"^{pattern}"):
        settled(home, environ=environ)


def test_a_bad_flag_is_named_as_it_was_typed(home: Path) -> None:
    with pytest.raises(ConfigError, match=r"^--per-host: 0: wanted 1 or more$"):
        settled(home, per_host=0)


def test_the_file_here_wins_over_the_file_at_home(home: Path) -> None:
    own = home / "xdg" / "skitter" / "config.toml"
    own.write_text("delay = 7.0")
    environ = {"XDG_CONFIG_HOME": str(home / "xdg")}
    assert config_file(environ, home / "here") == own
    assert settled(home).settings.delay == 7.0
    assert settled(home, file="delay = 8.0").settings.delay == 8.0
    named = home / "named.toml"
    named.write_text("delay = 9.0")
    assert settled(home, environ={"SKITTER_CONFIG": str(named)}).settings.delay == 9.0


def test_without_any_file_there_are_only_defaults(home: Path) -> None:
    assert dict(settled(home).said) == {}


def test_state_and_results_are_named_after_the_job(home: Path) -> None:
    options = run_options(settled(home), Job(id="j"))
    assert options == RunOptions(data=Path(".skitter/j"), out=(Path("j.jsonl"),))


def test_options_carry_what_was_said(home: Path) -> None:
    resolved = settled(home, data=Path("d"), out=Path("o.jsonl"), hosts=Path("h"), quiet=True)
    options = run_options(resolved, Job(id="j"), fresh=True, json=True)
    assert (options.data, options.out, options.hosts) == (Path("d"), (Path("o.jsonl"),), Path("h"))
    assert (options.fresh, options.quiet, options.json, options.fast) == (True, True, True, False)


OF_A_CLUSTER = {
    "api",
    "store",
    "cold",
    "index",
    "picker",
    "egress",
    "control",
    "token",
    "workers",
    "max_workers",
    "name",
    "idle_exit",
    "host",
    "port",
}
"""Where these have defaults, each command has its own."""
NO_DEFAULT = {"depth", "pages", "time", "total_bytes", "warc", "hosts", "contact"} | OF_A_CLUSTER


def test_every_setting_has_names_a_default_and_a_place() -> None:
    assert set(PLACES) == set(JobSettings.model_fields)
    for name in Settings.model_fields:
        assert flag_name(name).removeprefix("--").replace("-", "_") == name
        assert env_name(name) == "SKITTER_" + name.upper()
        if name not in NO_DEFAULT:
            assert default_of(name) is not None
