"""Where a job's records go: what a sink may say, and that no password is shown or stored."""

import json
from pathlib import Path

import pytest

from skitter.config import job_files
from skitter.errors import ConfigError
from skitter.job.load import load_job
from skitter.job.outputs import Output, OutputKind, has_secret, table_for
from skitter.job.spec import Job, check_job

SECRET = "postgresql://ann:opensesame@db.test/news"


def refused(**sink: object) -> str:
    with pytest.raises(ConfigError) as raised:
        check_job({"entries": ["http://a.test/"], "sinks": [sink]}, "job.toml")
    return str(raised.value)


def postgres(url: str = SECRET, **more: str) -> Output:
    return Output(type=OutputKind.POSTGRESQL, url=url, **more)


@pytest.mark.parametrize(
    ("sink", "why"),
    [
        ({"type": "jsonl"}, "sinks[0].path: missing"),
        ({"type": "jsonl", "path": "a.csv"}, "sinks[0].path: wanted one that ends in .jsonl"),
        ({"type": "jsonl", "path": "a.jsonl", "url": SECRET}, "sinks[0].url: type jsonl has none"),
        ({"type": "postgresql"}, "sinks[0].url: missing"),
        ({"type": "mongodb"}, "sinks[0].url: missing"),
        ({"type": "postgresql", "url": SECRET, "path": "a.jsonl"}, "sinks[0].path: type postgres"),
        (
            {"type": "postgresql", "url": "mysql://ann:opensesame@h/x"},
            "sinks[0].url: this is no URL",
        ),
        ({"type": "mongodb", "url": SECRET}, "sinks[0].url: this is no URL of mongodb"),
        ({"type": "mongodb", "url": "mongodb://h/x", "table": "t"}, "sinks[0].table: type mongodb"),
        (
            {"type": "postgresql", "url": SECRET, "collection": "c"},
            "sinks[0].collection: type",
        ),
        ({"type": "postgresql", "url": "env:"}, 'sinks[0].url: wanted "env:NAME"'),
        ({"type": "postgresql", "url": "env:A B"}, 'sinks[0].url: wanted "env:NAME"'),
        (
            {"type": "postgresql", "url": SECRET, "table": 'a"; DROP'},
            "sinks[0].table: wanted a name",
        ),
        ({"type": "postgresql", "url": SECRET, "table": "a.b.c"}, "sinks[0].table: wanted a name"),
        ({"type": "postgresql", "url": SECRET, "table": "x" * 64}, "sinks[0].table: wanted a name"),
        ({"type": "mongodb", "url": "mongodb://h/x", "collection": "a$b"}, "sinks[0].collection: "),
        ({"type": "kafka", "url": SECRET}, "sinks[0].type: "),
        ({"type": "postgresql", "url": 5}, "sinks[0].url: wanted a string"),
    ],
)
def test_what_a_sink_cannot_say_is_refused_by_field_and_without_values(
    sink: dict[str, object], why: str
) -> None:
    said = refused(**sink)
    assert said.startswith(f"job.toml: {why}"), said
    assert "opensesame" not in said
    assert "\n" not in said


@pytest.mark.parametrize(
    ("url", "is_secret"),
    [
        ("postgresql://ann@h/x", False),
        ("postgresql://h:5432/x", False),
        ("postgresql:///x?host=/run", False),
        ("mongodb://h1:27017,h2:27017/x?replicaSet=r", False),
        ("postgresql://[::1]:5432/x", False),
        (SECRET, True),
        ("postgresql://h/x?password=opensesame", True),
        ("postgresql://h/x?sslpassword=opensesame", True),
        ("mongodb://h/x?authMechanismProperties=AWS_SESSION_TOKEN:opensesame", True),
        ("mongodb://ann:open@sesame@h/x", True),
        ("postgresql://ann:open/sesame@h/x", True),
    ],
)
def test_a_url_with_a_password_is_known_and_stored_without_it(url: str, is_secret: bool) -> None:
    assert has_secret(url) is is_secret
    kind = OutputKind(url.partition(":")[0])
    job = Job(entries=("http://a.test/",), sinks=(Output(type=kind, url=url),))
    stored = job.to_json()
    assert "opensesame" not in stored
    assert "sesame@" not in stored
    [sink] = Job.from_json(stored).sinks
    assert (sink.url == url) is not is_secret
    assert "sesame" not in sink.said
    assert job.sinks[0].keeps_secret is is_secret
    assert not sink.keeps_secret or "***" in sink.said


def test_a_url_that_is_named_is_stored_as_it_stands_and_filled_in_late(tmp_path: Path) -> None:
    file = tmp_path / "url"
    file.write_text(f"{SECRET}\n")
    for said in ("env:NEWS_DB", f"file:{file}"):
        sink = postgres(said)
        assert json.loads(Job(sinks=(sink,)).to_json())["sinks"][0]["url"] == said
        assert sink.resolved_url("sinks[0].url", {"NEWS_DB": SECRET}) == SECRET
        assert sink.said == said


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("env:NOT_SET", "environment variable NOT_SET is not set"),
        ("env:SKITTER_TOKEN", "SKITTER_TOKEN is Skitter's own"),
        ("env:OTHER", "env:OTHER: this is no URL of postgresql"),
        ("file:/not/there", "/not/there: cannot be read"),
    ],
)
def test_what_cannot_be_filled_in_is_said_without_the_value(url: str, why: str) -> None:
    with pytest.raises(ConfigError) as raised:
        postgres(url).resolved_url("sinks[3].url", {"OTHER": "opensesame", "SKITTER_TOKEN": "x"})
    assert str(raised.value).startswith(f"sinks[3].url: {why}")
    assert "opensesame" not in str(raised.value)


@pytest.mark.parametrize(
    ("job_id", "table"),
    [("news", "news"), ("News.2026-x", "news_2026_x"), ("7days", "job_7days"), ("a_b", "a_b")],
)
def test_a_job_names_its_table_and_its_collection(job_id: str, table: str) -> None:
    assert table_for(job_id) == postgres().place(job_id) == table
    mongo = Output(type=OutputKind.MONGODB, url="mongodb://h/x")
    assert mongo.place(job_id) == job_id


def test_long_ids_make_names_that_postgresql_does_not_cut_off() -> None:
    one, two = "a" * 100 + "1", "a" * 100 + "2"
    assert table_for(one) != table_for(two)
    assert len(table_for(one)) == 63


def test_a_job_that_names_databases_alone_has_no_file() -> None:
    default = Path("news.jsonl")
    file = Output(type=OutputKind.CSV, path="a.csv")
    assert job_files(Job(), default) == (default,)
    assert job_files(Job(sinks=(postgres(),)), default) == ()
    assert job_files(Job(sinks=(postgres(), file)), default) == (Path("a.csv"),)


def test_a_file_that_holds_a_url_is_looked_for_beside_the_job(tmp_path: Path) -> None:
    (tmp_path / "db.url").write_text("postgresql://ann@db.test/news\n")
    file = tmp_path / "job.toml"
    file.write_text(
        'entries = ["http://a.test/"]\n[[sinks]]\ntype = "postgresql"\nurl = "file:db.url"\n'
    )
    [sink] = load_job(file).sinks
    assert sink.resolved_url("sinks[0].url") == "postgresql://ann@db.test/news"
    assert sink.said == f"file:{tmp_path / 'db.url'}"
