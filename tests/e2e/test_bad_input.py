"""Bad input: one clear line that names the thing and what was wanted, and nothing is damaged."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from crawling import Ended, Run, command, summary, wait_until

from skitter.demo.child import DemoProcess
from skitter.demo.model import Target
from skitter.demo.truth import Plan, ground_truth
from skitter.demo.verify import record_problems
from skitter.frontier.embedded.datadir import MARKER
from skitter.frontier.embedded.layout import FORMAT_VERSION

pytestmark = pytest.mark.e2e

URL = "http://site.test/"


def skitter(*words: str, cwd: Path, env: Mapping[str, str] | None = None) -> Ended:
    """Run one command line where nobody's own settings are in force."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(cwd)
        for name in [name for name in os.environ if name.startswith("SKITTER_")]:
            patch.delenv(name)
        patch.setenv("XDG_CONFIG_HOME", str(cwd / "no-config"))
        for name, value in (env or {}).items():
            patch.setenv(name, value)
        return command(*words)


def assert_refused(ended: Ended, words: Sequence[str], code: int = 2) -> None:
    """Check that a command said one thing on standard error, with all ``words`` in it."""
    assert (ended.code, ended.out) == (code, ""), ended.err
    [line] = ended.err.splitlines()
    assert line.startswith("skitter: ")
    missing = [word for word in words if word not in line]
    assert not missing, f"{line!r} does not say {missing}"


# The command line


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--scope", "galaxy"], ["--scope", "galaxy", "host"]),
        (["--depth", "-1"], ["--depth", "-1", "0 or more"]),
        (["--include", "(open"], ["--include", "(open", "RE2"]),
        (["--colour", "red"], ["--colour"]),
        (["--hosts", "missing"], ["missing", "hosts file"]),
        (["--seeds", "missing"], ["missing", "No such file"]),
    ],
)
def test_a_flag_with_a_bad_value_is_named_and_nothing_is_made(
    tmp_path: Path, flags: list[str], words: list[str]
) -> None:
    assert_refused(skitter("crawl", URL, *flags, cwd=tmp_path), words)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://[broken/", ["http://[broken/", "wanted an http or https URL"]),
        ("ftp://files.test/", ["ftp://files.test/", "http"]),
        ("http://ana:secret@site.test/", ["user name or password"]),
    ],
)
def test_a_url_that_cannot_be_crawled_is_named(tmp_path: Path, url: str, words: list[str]) -> None:
    ended = skitter("crawl", url, cwd=tmp_path)
    assert_refused(ended, words)
    assert "secret" not in ended.err
    assert list(tmp_path.iterdir()) == []


def test_a_command_without_anything_to_crawl_says_what_is_missing(tmp_path: Path) -> None:
    assert_refused(skitter("crawl", cwd=tmp_path), ["nothing to crawl", "URL", "--seeds", "--job"])


# Files


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("job.toml", b'entries = ["http://a.test/"', ["job.toml", "TOML"]),
        ("job.toml", b'entires = ["http://a.test/"]', ["job.toml", "entires", "entries"]),
        ("job.toml", b'entries = ["http://a.test/"]\n[polite]\ndelay = "slow"', ["polite.delay"]),
        ("job.json", b'{"entries": ["http://a.test/"],}', ["job.json", "JSON"]),
    ],
)
def test_a_job_file_that_makes_no_sense_says_where(
    tmp_path: Path, name: str, content: bytes, words: list[str]
) -> None:
    (tmp_path / name).write_bytes(content)
    assert_refused(skitter("crawl", "--job", name, cwd=tmp_path), words)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_job_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "job.toml").mkdir()
    assert_refused(skitter("crawl", "--job", "job.toml", cwd=tmp_path), ["job.toml", "directory"])


def test_a_seed_list_with_a_bad_line_says_which_and_starts_nothing(tmp_path: Path) -> None:
    (tmp_path / "seeds.txt").write_text("http://a.test/\n\n# fine\nnot a url\n")
    ended = skitter("crawl", "--seeds", "seeds.txt", cwd=tmp_path)
    assert_refused(ended, ["seeds.txt:4", "not a url"])
    assert [path.name for path in tmp_path.iterdir()] == ["seeds.txt"]


def test_a_hosts_file_with_a_bad_line_says_which(tmp_path: Path) -> None:
    (tmp_path / "hosts").write_text("127.0.0.1 a.test\nnot-an-address b.test\n")
    ended = skitter("crawl", URL, "--hosts", "hosts", cwd=tmp_path)
    assert_refused(ended, ["hosts:2", "not-an-address"])


def test_a_configuration_file_that_makes_no_sense_is_named(tmp_path: Path) -> None:
    (tmp_path / "skitter.toml").write_text("delai = 1")
    assert_refused(skitter("crawl", URL, cwd=tmp_path), ["skitter.toml", "delai", "delay"])


def test_an_environment_variable_that_makes_no_sense_is_named(tmp_path: Path) -> None:
    ended = skitter("crawl", URL, cwd=tmp_path, env={"SKITTER_DELAY": "soon"})
    assert_refused(ended, ["SKITTER_DELAY", "soon", "number"])


# Places


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--data", "file/below"], ["--data", "file/below"]),
        (["--data", "/proc/skitter"], ["--data", "/proc/skitter"]),
        (["--out", "file/pages.jsonl"], ["--out", "file"]),
        (["--out", "/proc/pages.jsonl"], ["--out", "/proc/pages.jsonl"]),
        (["--out", "folder.jsonl"], ["--out", "folder.jsonl", "regular file"]),
    ],
)
def test_a_place_that_cannot_be_written_is_named(
    tmp_path: Path, flags: list[str], words: list[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "folder.jsonl").mkdir()
    assert_refused(skitter("crawl", URL, *flags, cwd=tmp_path), words)
    assert (tmp_path / "file").read_text() == "mine"


def test_the_port_of_the_demo_web_in_use_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = subprocess.run(
            [sys.executable, "-m", "skitter.demo", "--port", str(port)],
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
    assert ended.returncode == 2
    [line] = ended.stderr.splitlines()
    assert f"127.0.0.1:{port}" in line
    assert "in use" in line


def test_a_demo_directory_that_is_not_the_demos_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis").touch()
    ended = skitter("demo", "--dir", "mine", cwd=tmp_path)
    assert_refused(ended, ["mine", "--dir"])
    assert (tmp_path / "mine" / "thesis").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([URL], ["no crawl", "--data"]),
        ([URL, "--data", "missing"], ["missing", "no such"]),
        ([URL, "--data", "empty"], ["empty"]),
        ([URL, "--data", "foreign"], ["foreign", "not a Skitter directory"]),
    ],
)
def test_asking_about_a_page_where_no_crawl_was_makes_nothing(
    tmp_path: Path, words: list[str], said: list[str]
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign" / "thesis").touch()
    assert_refused(skitter("page", *words, cwd=tmp_path), said)
    assert list((tmp_path / "empty").iterdir()) == []
    assert [path.name for path in (tmp_path / "foreign").iterdir()] == ["thesis"]


# A crawl that has begun


@dataclass
class Begun:
    """A crawl that stopped on its way; every mishap must leave it as it is."""

    run: Run
    demo: DemoProcess
    pages: int = 0

    def refused(self, *flags: str) -> Ended:
        """Run the command with other flags; they come last and win."""
        return command(*self.run.command(*flags)[1:])

    def goes_on(self, more: int = 2) -> None:
        """Check that the proper command goes on from where it stopped, record by record."""
        before = self.run.out.read_bytes() if self.run.out.exists() else b""
        self.pages += more
        ended = summary(self.run.finish("--pages", str(self.pages)))
        assert ended["pages"] == self.pages
        after = self.run.out.read_bytes()
        assert after.startswith(before)
        assert after.count(b"\n") == self.pages


def begin(place: Path, demo: DemoProcess) -> Begun:
    """Crawl the first pages of the documentation site."""
    hosts = place / "hosts"
    hosts.write_text(demo.hosts)
    reach = ["--hosts", str(hosts), "--allow-private", "--delay", "0", "--per-host", "4"]
    made = Begun(Run(place, [demo.web.url(Target("docs", "/"))], reach), demo)
    made.goes_on(3)
    return made


@pytest.fixture(scope="module")
def demo() -> Iterator[DemoProcess]:
    with DemoProcess(pages=200) as process:
        yield process


@pytest.fixture(scope="module")
def begun(demo: DemoProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Begun]:
    made = begin(tmp_path_factory.mktemp("begun"), demo)
    yield made
    # After everything that was tried on it, the crawl still completes.
    ended = summary(made.run.finish())
    assert ended["queued"] == 0
    truth = ground_truth(demo.web, Plan(entries=(Target("docs", "/"),), scope="host"))
    assert list(record_problems(truth, made.run.records())) == []


def test_the_state_of_another_job_is_refused(begun: Begun, tmp_path: Path) -> None:
    words = ["crawl", begun.demo.web.url(Target("shop", "/")), "--data", str(begun.run.data)]
    assert_refused(skitter(*words, cwd=tmp_path), ["--data", str(begun.run.data), "holds the job"])


def test_the_same_job_with_other_settings_is_refused(begun: Begun) -> None:
    ended = begun.refused("--depth", "1", "--exclude", "secret")
    words = ["--data", "other settings", "depth", "null", "1", "exclude", "secret"]
    assert_refused(ended, words)
    begun.goes_on()


def test_the_state_of_a_newer_version_is_refused_and_kept(begun: Begun) -> None:
    marker = begun.run.data / MARKER
    text = marker.read_text()
    marker.write_text(json.dumps({"format": FORMAT_VERSION + 1}))
    assert_refused(begun.refused("--fresh"), ["--data", "newer", str(FORMAT_VERSION + 1)])
    marker.write_text(text)
    begun.goes_on()


def test_a_directory_that_is_not_a_state_is_refused_and_kept(begun: Begun, tmp_path: Path) -> None:
    (tmp_path / "thesis").write_text("mine")
    ended = begun.refused("--data", str(tmp_path), "--fresh")
    assert_refused(ended, ["--data", str(tmp_path), "not a Skitter directory"])
    assert [path.name for path in tmp_path.iterdir()] == ["thesis"]


def test_a_foreign_file_for_the_results_is_refused_and_kept(begun: Begun, tmp_path: Path) -> None:
    diary = tmp_path / "diary.jsonl"
    diary.write_text("mine\n")
    assert_refused(begun.refused("--out", str(diary)), ["--out", str(diary), "--fresh"])
    assert diary.read_text() == "mine\n"


def test_results_that_lost_their_end_are_refused_until_they_are_put_back(begun: Begun) -> None:
    whole = begun.run.out.read_bytes()
    begun.run.out.write_bytes(whole[:-10])
    ended = begun.refused()
    assert_refused(ended, ["--out", str(len(whole)), str(len(whole) - 10), "put the file back"])
    assert begun.run.out.read_bytes() == whole[:-10]
    begun.run.out.write_bytes(whole)
    begun.goes_on()


def test_results_that_were_deleted_are_missed_until_they_are_put_back(begun: Begun) -> None:
    whole = begun.run.out.read_bytes()
    begun.run.out.unlink()
    assert_refused(begun.refused(), ["--out", str(begun.run.out), str(len(whole))])
    begun.run.out.write_bytes(whole)


def test_starting_over_with_a_bad_hosts_file_deletes_nothing(
    demo: DemoProcess, tmp_path: Path
) -> None:
    begun = begin(tmp_path, demo)
    bad = tmp_path / "bad-hosts"
    bad.write_text("not-an-address b.test\n")
    ended = begun.refused("--fresh", "--hosts", str(bad))
    assert_refused(ended, ["bad-hosts:1", "not-an-address"])
    begun.goes_on()


def test_starting_over_without_a_header_that_is_needed_deletes_nothing(
    demo: DemoProcess, tmp_path: Path
) -> None:
    begun = begin(tmp_path, demo)
    kept = begun.run.out.read_bytes()
    job = tmp_path / "job.toml"
    job.write_text(
        f'entries = ["{begun.run.arguments[0]}"]\n'
        '[http]\nheaders = {Cookie = "env:NOBODY_SET_THIS"}\n'
    )
    places = ["--data", str(begun.run.data), "--out", str(begun.run.out)]
    ended = skitter("crawl", "--job", str(job), *places, "--fresh", cwd=tmp_path)
    assert_refused(ended, ["Cookie", "NOBODY_SET_THIS"])
    assert begun.run.out.read_bytes() == kept
    begun.goes_on()


def test_a_state_in_use_by_a_running_crawl_is_refused_and_the_crawl_goes_on(begun: Begun) -> None:
    running = begun.run.start("--delay", "1", "--per-host", "1")
    try:
        wait_until(running, (begun.run.data / "skitter.sock").exists)
        assert_refused(begun.refused("--fresh"), ["--data", str(begun.run.data), "in use"])
    finally:
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
    assert running.returncode == 130, errors
    begun.pages = len(begun.run.records())
    begun.goes_on()
