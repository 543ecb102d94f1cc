"""What a crawl command line asks for, and what is refused before anything is touched."""

from pathlib import Path

import pytest
from cli_fakes import FakeCrawl, summary

from skitter.cli import request as request_module
from skitter.cli.paths import check_paths
from skitter.cli.report import OK
from skitter.cli.request import BadLines, Request, crawl_on, seed_urls, wanted_job
from skitter.config import RunOptions, resolve
from skitter.errors import ConfigError


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    return tmp_path


@pytest.fixture
def crawl(monkeypatch: pytest.MonkeyPatch) -> FakeCrawl:
    fake = FakeCrawl(summary())
    monkeypatch.setattr(request_module, "open_crawl", fake.open)
    return fake


def refusal(request: Request, here: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        wanted_job(request, resolve(request.settings(), {}, here))
    return str(caught.value)


def test_flags_reach_the_job_and_the_process(crawl: FakeCrawl) -> None:
    params = {"depth": 2, "delay": 0.5, "concurrency": 9, "quiet": True, "include": [], "out": None}
    asked = Request(urls=("example.com",), fresh=True, params=params)
    assert crawl_on(asked) == OK
    assert crawl.job is not None
    assert crawl.options is not None
    assert crawl.job.entries == ("https://example.com/",)
    assert (crawl.job.depth, crawl.job.polite.delay) == (2, 0.5)
    assert (crawl.options.concurrency, crawl.options.fresh) == (9, True)
    assert crawl.options.data == Path(".skitter") / crawl.job.id
    assert crawl.options.out == (Path(f"{crawl.job.id}.jsonl"),)


def test_a_job_file_is_ruled_by_flags_and_rules_the_environment(
    crawl: FakeCrawl, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "j.toml").write_text('id = "j"\nentries = ["a.example"]\ndepth = 3\norder = "dfs"\n')
    monkeypatch.setenv("SKITTER_DEPTH", "9")
    monkeypatch.setenv("SKITTER_DELAY", "7")
    asked = Request(job_file=Path("j.toml"), params={"order": "bfs", "quiet": True})
    assert crawl_on(asked) == OK
    assert crawl.job is not None
    assert (crawl.job.depth, crawl.job.polite.delay, crawl.job.order) == (3, 7.0, "bfs")


def test_seeds_are_handed_over_as_a_stream(
    crawl: FakeCrawl,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = b"https://a.example\n" + b"bad\n" * 15 + b"https://b.example\n"
    (tmp_path / "lines").write_bytes(lines)
    with (tmp_path / "lines").open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        assert crawl_on(Request(seeds="-", params={})) == OK
    assert crawl.seeds == ["https://a.example/", "https://b.example/"]
    told = capsys.readouterr().err
    assert told.count("line skipped") == 10
    assert "skitter: skipped 15 lines of the seeds that are not URLs" in told


def test_nothing_to_crawl_is_said_plainly(here: Path) -> None:
    assert "wanted URL, --seeds FILE or --job FILE" in refusal(Request(params={}), here)
    (here / "j.toml").write_text("depth = 1")
    asked = Request(job_file=Path("j.toml"), params={})
    assert "wanted entries in the job file" in refusal(asked, here)


def test_urls_and_a_job_file_contradict_each_other(here: Path) -> None:
    asked = Request(urls=("https://a.example",), job_file=Path("j.toml"), params={})
    assert "wanted one of them" in refusal(asked, here)


def test_a_file_where_a_url_belongs_is_noticed(here: Path) -> None:
    (here / "job.toml").touch()
    assert "job.toml: is a file" in refusal(Request(urls=("job.toml",), params={}), here)


def test_a_bad_seed_file_starts_nothing(crawl: FakeCrawl, here: Path) -> None:
    (here / "s.txt").write_text("https://a.example\nbad\n")
    with pytest.raises(ConfigError, match=r"s\.txt:2: 'bad': wanted an http or https URL"):
        crawl_on(Request(seeds="s.txt", params={}))
    assert crawl.calls == []
    assert list(here.iterdir()) == [here / "s.txt"]


def test_without_seeds_there_is_no_stream() -> None:
    assert seed_urls(None, BadLines()) is None


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (RunOptions(data=Path("file")), "file: not a directory"),
        (RunOptions(data=Path("d"), out=(Path("none/x.jsonl"),)), "none: no such directory"),
        (RunOptions(data=Path("d"), out=(Path("dir.jsonl"),)), r"dir\.jsonl: not a regular file"),
        (RunOptions(data=Path("d"), hosts=Path("none")), "none: cannot be read"),
    ],
)
def test_places_that_cannot_work_are_named(here: Path, options: RunOptions, complaint: str) -> None:
    (here / "file").touch()
    (here / "dir.jsonl").mkdir()
    with pytest.raises(ConfigError, match=complaint):
        check_paths(options)
    assert not (here / "d").exists()


def test_places_that_work_are_left_alone(here: Path) -> None:
    (here / "old.jsonl").write_text("kept")
    check_paths(RunOptions(data=here, out=(Path("old.jsonl"),)))
    check_paths(RunOptions(data=Path("new"), out=(Path("new.jsonl"),)))
    assert (here / "old.jsonl").read_text() == "kept"
