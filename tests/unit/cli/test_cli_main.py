"""The command line as a whole: help, exit codes, one line per fault."""

import errno
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
from typer.testing import CliRunner

from skitter import __version__
from skitter.cli import crawl_flags
from skitter.cli.crawl import crawl
from skitter.cli.main import app, run
from skitter.cli.node import node
from skitter.cli.page import page
from skitter.cli.report import describe, exit_code, most_telling
from skitter.cli.up import up
from skitter.config import Settings
from skitter.errors import (
    ConfigError,
    DataDirError,
    InvalidUrl,
    SinkError,
    StoreUnavailable,
)
from skitter.job.spec import Order
from skitter.url.scope import ScopeKind

SKITTER = Path(sys.executable).with_name("skitter")
COMMANDS = ["crawl", "page", "probe", "config", "demo", "version"]


def skitter(
    *args: str, cwd: Path, stdin: str = "", **environ: str
) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("SKITTER_")}
    return subprocess.run(
        [SKITTER, *args],
        cwd=cwd,
        input=stdin,
        env={**clean, "XDG_CONFIG_HOME": str(cwd), **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path


def test_help_names_every_command_and_ends_with_examples() -> None:
    shown = CliRunner().invoke(app, ["--help"]).stdout
    assert all(f" {command} " in shown for command in COMMANDS)
    assert "$ skitter crawl https://example.com" in shown


@pytest.mark.parametrize("command", [*COMMANDS[:3], "config show", "demo", "version"])
def test_every_command_has_help_with_examples(command: str) -> None:
    result = CliRunner().invoke(app, [*command.split(), "--help"])
    assert result.exit_code == 0
    assert "Examples:" in result.stdout
    assert f"skitter {command}" in result.stdout


def test_no_command_shows_the_help() -> None:
    result = CliRunner().invoke(app, [])
    assert result.exit_code == 0
    assert "Usage: skitter" in result.stdout


OF_A_CLUSTER = {
    "api",
    "control",
    "egress",
    "host",
    "idle_exit",
    "max_workers",
    "name",
    "port",
    "token",
}
"""Settings of machines that serve crawls others have begun, and of who asks them."""


def test_every_setting_is_a_flag_and_every_flag_has_its_help() -> None:
    wide = {"COLUMNS": "200"}
    commands = {"crawl": crawl, "node": node, "up": up, "page": page}
    shown = {name: CliRunner().invoke(app, [name, "--help"], env=wide).stdout for name in commands}
    for name in Settings.model_fields:
        flagged = {key for key, command in commands.items() if name in get_type_hints(command)}
        assert flagged, name
        assert ("crawl" in flagged) is (name not in OF_A_CLUSTER), name
        for key in flagged:
            assert f"--{name.replace('_', '-')} " in shown[key]


@pytest.mark.parametrize(
    ("flag", "choices"), [(crawl_flags.Scope, ScopeKind), (crawl_flags.Order, Order)]
)
def test_the_choices_of_a_flag_are_those_of_the_job(
    flag: object, choices: type[ScopeKind] | type[Order]
) -> None:
    optional = get_args(flag)[0]
    assert set(get_args(get_args(optional)[0])) == {member.value for member in choices}


def test_the_version_is_printed_for_people_and_programs() -> None:
    assert CliRunner().invoke(app, ["version"]).stdout.startswith(f"skitter {__version__} ")
    assert CliRunner().invoke(app, ["--version"]).stdout.startswith(f"skitter {__version__} ")
    shown = CliRunner().invoke(app, ["version", "--json"]).stdout
    assert json.loads(shown)["skitter"] == __version__


def test_light_commands_do_not_load_the_crawler() -> None:
    code = (
        "import sys; from skitter.cli.main import run; run(['version']);"
        "heavy = ('rocksdict', 'publicsuffixlist', 'rich', 'turbohtml', 'uvloop', 'aiohttp');"
        "print([name for name in heavy if name in sys.modules])"
    )
    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert shown.splitlines()[1] == "[]"


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["crawl"], "nothing to crawl: wanted URL, --seeds FILE or --job FILE"),
        (["crawl", "htp://x"], "'htp://x': wanted an http or https URL"),
        (["crawl", "https://a.example", "--scope", "hosts"], "'hosts' is not one of 'host'"),
        (["crawl", "https://a.example", "--depth", "-1"], "--depth: -1: wanted 0 or more"),
        (["crawl", "https://a.example", "--depth", "x"], "--depth"),
        (["crawl", "https://a.example", "--include", "("], '--include: "(": not an RE2'),
        (["crawl", "https://a.example", "--out", "x.xlsx"], ".csv, .parquet or .sqlite"),
        (["crawl", "https://a.example", "--out", "none/x.jsonl"], "none: no such directory"),
        (["crawl", "https://a.example", "--hosts", "none"], "none: cannot be read"),
        (["crawl", "https://a.example", "--data", "skitter.toml"], "skitter.toml: not a directory"),
        (["crawl", "https://a.example", "--nonsense"], "No such option: --nonsense"),
        (["crawl", "--job", "none.toml"], "none.toml: cannot be read: No such file or directory"),
        (["crawl", "--job", "bad.toml"], "bad.toml: not valid TOML"),
        (["crawl", "--seeds", "none.txt"], "none.txt: cannot be read: No such file or directory"),
        (["page", "nonsense"], "'nonsense': wanted an http or https URL"),
        (["page", "https://a.example", "--data", "none"], "none: no such state directory"),
        (["probe", "nonsense"], "'nonsense' is not one of 'url', 'robots', 'links', 'article'"),
        (["demo", "--dir", "."], ".: not made by the demo"),
        (["nonsense"], "No such command 'nonsense'"),
    ],
)
def test_bad_input_is_one_line_on_standard_error_and_exit_code_2(
    here: Path, capsys: pytest.CaptureFixture[str], args: list[str], complaint: str
) -> None:
    (here / "bad.toml").write_text("depth = = 2")
    (here / "skitter.toml").write_text("")
    before = sorted(here.iterdir())
    assert run(args) == 2
    out, err = capsys.readouterr()
    assert out == ""
    [line] = err.splitlines()
    assert line.startswith("skitter: ")
    assert complaint in line
    assert sorted(here.iterdir()) == before


def test_every_fault_of_a_job_file_has_its_own_line(tmp_path: Path) -> None:
    (tmp_path / "j.toml").write_text('entries = ["a.example"]\ndept = 1\norder = "worst"\n')
    result = skitter("crawl", "--job", "j.toml", cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr.splitlines() == [
        "skitter: j.toml: order: \"worst\": wanted 'bfs', 'dfs' or 'best'",
        'skitter: j.toml: dept: unknown key; did you mean "depth"?',
    ]


def test_a_bad_environment_is_bad_input(tmp_path: Path) -> None:
    result = skitter("config", "show", cwd=tmp_path, SKITTER_DEPHT="3")
    assert result.returncode == 2
    assert "did you mean SKITTER_DEPTH?" in result.stderr


def test_a_probe_with_a_bad_line_answers_all_and_exits_with_2(tmp_path: Path) -> None:
    good = json.dumps({"input": "HTTPS://Example.com:443/a/../b"})
    result = skitter("probe", "url", cwd=tmp_path, stdin=f"{good}\nnonsense\n{good}\n")
    first, second, third = map(json.loads, result.stdout.splitlines())
    assert first == third
    assert first["href"] == "https://example.com/b"
    assert set(second) == {"error"}
    assert result.returncode == 2


def test_a_reader_that_leaves_early_is_no_reason_to_complain(tmp_path: Path) -> None:
    question = json.dumps({"input": "https://example.com/" + "x" * 1000}) + "\n"
    command = f"{SKITTER} probe url | head -n 1"
    result = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=tmp_path,
        input=question * 5000,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert result.returncode == 141
    assert result.stderr == ""
    assert len(result.stdout.splitlines()) == 1


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (ConfigError("x: bad"), 2, "x: bad"),
        (InvalidUrl("x", "bad"), 2, "'x': bad"),
        (DataDirError("d: in use"), 2, "d: in use"),
        (StoreUnavailable("disk full"), 3, "disk full"),
        (SinkError("o: disk full"), 3, "o: disk full"),
        (OSError(errno.ENOSPC, "No space left on device", "f"), 3, "f: No space left on device"),
        (OSError(errno.EMFILE, "Too many open files"), 3, "Too many open files"),
        (MemoryError(), 3, "out of memory"),
    ],
)
def test_each_kind_of_fault_has_its_exit_code_and_its_words(
    error: Exception, code: int, words: str
) -> None:
    assert (exit_code(error), describe(error)) == (code, words)


def test_a_stray_exception_is_one_line_unless_a_traceback_is_asked_for(
    tmp_path: Path,
) -> None:
    code = (
        "import sys; from skitter.cli import main, version\n"
        "def broken(*a, **k): raise ZeroDivisionError('one\\ntwo')\n"
        "version.platform.python_version = broken\n"
        "sys.exit(main.run(['version']))"
    )

    def ended(**environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, **environ},
            capture_output=True,
            text=True,
            check=False,
        )

    plain, debug = ended(SKITTER_DEBUG=""), ended(SKITTER_DEBUG="1")
    assert plain.returncode == debug.returncode == 1
    assert plain.stderr == (
        "skitter: internal error: ZeroDivisionError: one (SKITTER_DEBUG=1 shows where)\n"
    )
    assert "Traceback" in debug.stderr


def test_of_many_errors_ours_is_told() -> None:
    ours = SinkError("o: disk full")
    group = BaseExceptionGroup("g", [KeyError("k"), ExceptionGroup("h", [OSError("o"), ours])])
    assert most_telling(group) is ours
    assert most_telling(ours) is ours


def test_a_group_without_a_command_says_that_one_is_wanted(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["job"]) == 2
    shown = capsys.readouterr()
    assert (
        shown.err == "skitter: skitter job: wanted one of its commands (see skitter job --help)\n"
    )


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ["crawl", "--pages", "few"],
            "'--pages': wanted a whole number (see skitter crawl --help)",
        ),
        (["crawl", "--delay", "long"], "'--delay': wanted a number (see skitter crawl --help)"),
        (["up", "--workers", "1.5"], "'--workers': wanted a whole number (see skitter up --help)"),
    ],
)
def test_a_flag_that_wants_a_number_says_so(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(words) == 2
    assert capsys.readouterr().err == f"skitter: Invalid value for {said}\n"
