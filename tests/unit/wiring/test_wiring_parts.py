"""The replaceable parts of a crawl, made from its job and options."""

from pathlib import Path

import pytest
from states import site_job

from skitter.config import RunOptions
from skitter.errors import ConfigError
from skitter.fetch.http import HttpFetcher
from skitter.pipeline.archive.writer import Archive
from skitter.testing.virtual_clock import VirtualClock
from skitter.wiring.parts import (
    make_archive,
    make_fetcher,
    make_guard,
    make_sinks,
    seen_options,
)


def test_each_output_has_a_sink_by_its_ending(tmp_path: Path) -> None:
    names = ["a.jsonl", "b.csv", "c.parquet", "d.sqlite"]
    options = RunOptions(data=tmp_path, out=tuple(tmp_path / name for name in names))
    sinks = make_sinks(options)
    assert [sink.path.name for sink in sinks] == names
    assert [sink.mark_name.split(":")[1] for sink in sinks] == [
        "jsonl",
        "csv",
        "parquet",
        "sqlite",
    ]
    with pytest.raises(ConfigError, match=r"x\.doc"):
        make_sinks(RunOptions(data=tmp_path, out=(Path("x.doc"),)))


def test_there_is_an_archive_where_one_is_wanted(tmp_path: Path) -> None:
    job = site_job(archive={"compression": "zstd"})
    assert make_archive(job, RunOptions(data=tmp_path)) is None
    made = make_archive(job, RunOptions(data=tmp_path, warc=tmp_path / "warc"))
    assert isinstance(made, Archive)
    assert made.mark_name == f"archive:{tmp_path / 'warc'}"
    assert not (tmp_path / "warc").exists(), "nothing is made before it is opened"


def test_the_trap_guard_can_be_switched_off() -> None:
    assert make_guard(site_job(), VirtualClock()) is not None
    assert make_guard(site_job(traps={"enabled": False}), VirtualClock()) is None


def test_the_seen_set_is_what_the_job_says() -> None:
    assert seen_options(site_job()).kind == "exact"
    seen = {"kind": "bloom", "expected": 1000, "rate": 0.01, "groups": 3}
    made = seen_options(site_job(seen=seen))
    assert (made.kind, made.expected, made.rate, made.groups) == ("bloom", 1000, 0.01, 3)


async def test_a_hosts_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "hosts"
    with pytest.raises(ConfigError, match=f"--hosts {missing}: cannot be read"):
        make_fetcher(site_job(), RunOptions(data=tmp_path, hosts=missing))
    missing.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="wanted a hosts file"):
        make_fetcher(site_job(), RunOptions(data=tmp_path, hosts=missing))


async def test_a_crawl_without_a_hosts_file_has_a_fetcher(tmp_path: Path) -> None:
    fetcher = make_fetcher(site_job(), RunOptions(data=tmp_path))
    assert isinstance(fetcher, HttpFetcher)
    await fetcher.close()
