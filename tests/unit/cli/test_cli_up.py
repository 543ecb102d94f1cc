"""``skitter up``: what flags, environment and file make of a master."""

import os
import re
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from crawling import command

from skitter.cli import up_run
from skitter.cli.up_run import DEFAULT_PORT, up_options
from skitter.config import resolve
from skitter.errors import ConfigError
from skitter.wiring.up import UpOptions

LONG = "a-token-nobody-guesses"
TOUR = Path(__file__).parents[3] / "docs" / "tour.md"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    for name in [name for name in os.environ if name.startswith("SKITTER_")]:
        monkeypatch.delenv(name)
    return tmp_path


def options(env: Mapping[str, str] | None = None, **flags: Any) -> UpOptions:
    return up_options(resolve(flags, env or {}, Path.cwd()))


def test_a_master_listens_on_this_machine_alone_unless_told_otherwise() -> None:
    made = options()
    assert (made.host, made.port) == ("127.0.0.1", DEFAULT_PORT)
    assert made.data == Path(".skitter/up")
    assert made.workers == len(os.sched_getaffinity(0))
    assert made.token == ""


def test_every_flag_arrives(here: Path) -> None:
    (here / "h").touch()
    given: dict[str, Any] = {
        "data": Path("d"),
        "host": "10.0.0.5",
        "port": 0,
        "token": "a-token-nobody-guesses",
        "workers": 0,
        "concurrency": 5,
        "allow_private": True,
        "hosts": Path("h"),
        "fast": True,
        "quiet": True,
    }
    assert options(**given) == UpOptions(**given, serves=True)


def test_the_environment_and_a_file_say_the_same_as_flags(here: Path) -> None:
    (here / "skitter.toml").write_text('host = "10.0.0.6"\nport = 1\n')
    made = options({"SKITTER_PORT": "2", "SKITTER_TOKEN": LONG})
    assert (made.host, made.port, made.token) == ("10.0.0.6", 2, LONG)


@pytest.mark.parametrize("token", ["secret", "fifteen-letters", "a" * 40])
def test_a_token_that_is_soon_guessed_is_not_for_others_to_guess_at(token: str) -> None:
    with pytest.raises(ConfigError, match="others can reach it there, and a token of") as caught:
        options(host="10.0.0.5", token=token)
    assert token not in str(caught.value)
    assert options(host="127.0.0.1", token=token).token == token


@pytest.mark.parametrize("flags", [["--port", "-1"], ["--port", "65536"], ["--workers", "-1"]])
def test_numbers_that_make_no_sense_are_refused_in_one_line(flags: list[str]) -> None:
    ended = command("up", *flags)
    assert (ended.code, ended.out) == (2, "")
    [line] = ended.err.splitlines()
    assert line.startswith(f"skitter: {flags[0]}: ")


def test_an_installation_without_the_api_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(up_run, "find_spec", lambda name: None)
    ended = command("up", "--port", "0")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.endswith("which serves the API; pip install 'skitter[api]'\n")


@pytest.mark.parametrize("host", ["0.0.0.0", "10.0.0.5", "::", "example.com"])
def test_an_address_that_others_reach_wants_a_token(host: str) -> None:
    with pytest.raises(ConfigError, match="wanted a token"):
        options(host=host)
    assert options(host=host, token=LONG).host == host


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.9", "::1", "localhost"])
def test_an_address_of_this_machine_wants_none(host: str) -> None:
    assert options(host=host).token == ""


def test_sinks_of_the_file_are_for_jobs_of_the_api(here: Path) -> None:
    (here / "skitter.toml").write_text('[sinks.lake]\ntype = "jsonl"\npath = "{job}.jsonl"\n')
    assert options().sinks == {"lake": {"type": "jsonl", "path": "{job}.jsonl"}}
    (here / "skitter.toml").write_text('[sinks.lake]\ntype = "jsonl"\n')
    with pytest.raises(ConfigError, match=r"skitter.toml: sinks\.lake\.path: missing"):
        options()
    url = 'url = "postgresql://me:secret@db/x"'
    (here / "skitter.toml").write_text(f'[sinks.db]\ntype = "postgresql"\n{url}\n')
    with pytest.raises(ConfigError, match="write env:NAME") as refused:
        options()
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("words", [["list"], ["show", "x"]])
def test_jobs_of_a_master_that_is_not_there(here: Path, words: list[str]) -> None:
    ended = command("job", *words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        "skitter: which jobs? nothing is in .skitter/up; wanted --data DIR, --store URL, or --api"
        " URL of a skitter up\n"
    )
    (here / "state").mkdir()
    ended = command("job", *words, "--data", here / "state")
    assert ended.code == 2
    assert "nothing runs there and no crawl has begun; start it with: skitter up" in ended.err


class Served:
    """A service that is there."""

    port = 8440

    def __init__(self, token: Path | None, made: str = "") -> None:
        self.token = token
        self.made_token = made

    async def until_served(self) -> None:
        """Return at once."""


@pytest.mark.parametrize(
    ("given", "kept", "said"),
    [
        ("short", None, "skitter: a token of 5 characters is soon guessed; wanted 16 or more\n"),
        (LONG, None, ""),
        ("", "by-hand", "skitter: a token of 7 characters is soon guessed; wanted 16 or more\n"),
        ("", LONG, ""),
    ],
)
async def test_a_weak_token_is_warned_of_on_this_machine(
    here: Path, capsys: pytest.CaptureFixture[str], given: str, kept: str | None, said: str
) -> None:
    file = None if kept is None else here / "token"
    if file is not None:
        file.write_text(f"{kept}\n")

    @asynccontextmanager
    async def opened() -> AsyncIterator[Any]:
        yield Served(file)

    made = options(token=given or None, quiet=True)
    async with up_run._announced(made, opened()):
        assert capsys.readouterr().err == said


async def test_the_token_is_shown_once_also_on_a_terminal_and_as_the_tour_says(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = Path(".skitter/up/token")
    (here / file).parent.mkdir(parents=True)
    file.write_text(f"{LONG}\n")
    first = await on_terminal(monkeypatch, Served(file, made=LONG))
    [shown] = re.findall(r"```text\n(listening on .*?)```", TOUR.read_text(), re.DOTALL)
    assert first.splitlines() == shown.replace("…", LONG).splitlines()
    again = await on_terminal(monkeypatch, Served(file))
    assert again.splitlines() == shown.splitlines()[:1]


async def on_terminal(monkeypatch: pytest.MonkeyPatch, served: Served) -> str:
    """Return what a start says to somebody who sits before it."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Any]:
        yield served

    ours, theirs = os.openpty()
    try:
        with os.fdopen(theirs, "w", encoding="utf-8") as terminal, monkeypatch.context() as patch:
            assert terminal.isatty()
            patch.setattr(sys, "stderr", terminal)
            async with up_run._announced(options(), opened()):
                return os.read(ours, 10_000).decode()
    finally:
        os.close(ours)
