"""Several outputs at once: equal to each other and to the truth, and never mixed up."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import duckdb
import msgspec
import pytest
from archiving import check_with_tools, warcs_in
from crawling import Run, command, refusal, site_run, summary
from outputs import READERS, read_jsonl, read_output

from skitter.demo.child import DemoProcess
from skitter.demo.model import Target
from skitter.demo.truth import Plan, ground_truth
from skitter.demo.verify import record_problems

pytestmark = pytest.mark.e2e

SITES = ["news", "gazette", "docs"]
OTHERS = [ending for ending in READERS if ending != ".jsonl"]


@pytest.fixture(scope="module")
def demo() -> Iterator[DemoProcess]:
    with DemoProcess(pages=200) as running:
        yield running


def all_outputs(run: Run) -> list[Path]:
    return [run.directory / f"pages{ending}" for ending in READERS]


@pytest.fixture(scope="module")
def crawl(demo: DemoProcess, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A finished crawl with an output of every kind."""
    run = site_run(tmp_path_factory.mktemp("outputs"), demo, SITES, "--per-host", "4")
    run.flags += [word for path in all_outputs(run)[1:] for word in ("--out", str(path))]
    assert summary(run.finish())["queued"] == 0
    return run


def test_every_output_equals_the_others_and_the_truth(demo: DemoProcess, crawl: Run) -> None:
    entries = tuple(Target(site, "/") for site in SITES)
    truth = ground_truth(demo.web, Plan(entries=entries, scope="host", sitemaps="auto"))
    records = read_jsonl(crawl.out)
    assert list(record_problems(truth, [msgspec.to_builtins(one) for one in records])) == []
    for path in all_outputs(crawl)[1:]:
        assert read_output(path) == records, path.suffix
    assert not list(crawl.directory.glob("*.parts"))


def test_a_finished_crawl_run_again_leaves_every_output_alone(crawl: Run) -> None:
    before = {path: read_output(path) for path in all_outputs(crawl)}
    plain = {path: path.read_bytes() for path in all_outputs(crawl) if path.suffix != ".sqlite"}
    summary(crawl.finish())
    assert {path: read_output(path) for path in all_outputs(crawl)} == before
    assert {path: path.read_bytes() for path in plain} == plain


@pytest.mark.parametrize("reader", ["read_parquet", "read_csv"])
def test_duckdb_finds_the_same_records(crawl: Run, reader: str) -> None:
    ending = reader.removeprefix("read_")
    more = ", max_line_size=10000000" if ending == "csv" else ""
    query = (
        "SELECT url, status, title, bytes, truncated, epoch_ms(fetched_at::TIMESTAMPTZ)"
        f" FROM {reader}('{crawl.directory}/pages.{ending}'{more}) ORDER BY url"
    )
    wanted = query.replace(f"{reader}('", "read_json('").replace(f".{ending}'{more}", ".jsonl'")
    with duckdb.connect() as database:
        found = database.execute(query).fetchall()
        assert found == database.execute(wanted).fetchall()
    assert len(found) == len(crawl.records())


def test_sqlite_answers_questions_about_the_crawl(crawl: Run) -> None:
    with sqlite3.connect(crawl.directory / "pages.sqlite") as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = database.execute("SELECT outcome, count(*) FROM pages GROUP BY 1").fetchall()
    database.close()
    outcomes = [record["outcome"] for record in crawl.records()]
    assert dict(rows) == {outcome: outcomes.count(outcome) for outcome in set(outcomes)}


def test_going_on_with_other_outputs_is_refused_and_names_them(crawl: Run) -> None:
    before = crawl.records()
    other = crawl.directory / "other.jsonl"
    words = refusal(crawl, "--out", str(other))
    assert all(str(path) in words for path in (other, *all_outputs(crawl)))
    assert "--fresh" in words
    fewer = Run(crawl.directory, crawl.arguments, crawl.flags[: crawl.flags.index("--out")])
    words = refusal(fewer)
    assert str(crawl.directory / "pages.parquet") in words
    assert not other.exists()
    assert crawl.records() == before


@pytest.mark.parametrize("name", ["pages.xlsx", "pages", "pages.jsonl.gz"])
def test_an_output_of_no_known_kind_is_refused_at_once(
    demo: DemoProcess, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    run = site_run(tmp_path, demo, ["docs"], "--out", name)
    ended = command(*run.command()[1:])
    assert ended.code == 2
    for word in (name, ".jsonl", ".csv", ".parquet", ".sqlite"):
        assert word in ended.err
    assert [path.name for path in tmp_path.iterdir()] == ["hosts"]


JOB = """
id = "written"
entries = ["{entry}"]
[limits]
pages = 12
[polite]
delay = 0.0
[archive]
directory = "{place}/arc"
compression = "zstd"
[[sinks]]
type = "parquet"
path = "{place}/job.parquet"
[[sinks]]
type = "csv"
path = "{place}/job.csv"
"""


def test_a_job_file_names_outputs_and_archive(demo: DemoProcess, tmp_path: Path) -> None:
    job = tmp_path / "job.toml"
    job.write_text(JOB.format(entry=demo.web.url(Target("docs", "/")), place=tmp_path))
    (tmp_path / "hosts").write_text(demo.hosts)
    places = ["--hosts", str(tmp_path / "hosts"), "--data", str(tmp_path / "state")]
    ended = command("crawl", "--job", job, *places, "--allow-private", "--quiet", "--json")
    assert ended.code == 0, ended.err
    records = read_output(tmp_path / "job.parquet")
    assert len(records) == 12
    assert read_output(tmp_path / "job.csv") == records
    [warc] = warcs_in(tmp_path / "arc")
    assert warc.suffix == ".zst"
    assert check_with_tools(warc) > 12
    answered = [record for record in records if record.status is not None]
    assert {record.warc_file for record in answered} == {warc.name}
