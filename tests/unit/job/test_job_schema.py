"""What is published of the job file: its schema takes what is written, its page names every key."""

import json
import re
import tomllib
from pathlib import Path
from typing import Any, get_args

import jsonschema_rs
import pytest
from documents import README, ROOT, blocks
from pydantic import BaseModel

from skitter.errors import ConfigError
from skitter.job.load import load_job
from skitter.job.refresh import Policy
from skitter.job.rules import PageClassName
from skitter.job.spec import Job, Kind, check_job

NOTICES = r"""
id = "sichuan-notices"
kind = "list"                 # list | site | news | web | resolve
owner = "ana"
entries = ["https://www.sc.gov.cn/list.html"]
depth = 2
priority = 5                  # 0 (last) to 9 (first)
order = "bfs"
scope = "domain"
partition = "host"            # host | domain | subsite | url | shared
article = ['/\d+\.shtml$']    # news jobs: what an article's URL looks like
jump = ['https://www\.baidu\.com/link\?url=.+']
labels = {desk = "sichuan"}   # your own, kept in every record
refresh = "10m"

[limits]
pages = 10000

[polite]
delay = 1.0
per_host = 1
rate = "20/60s"

[http]
headers = {Cookie = "env:SC_COOKIE"}
agents = []                   # empty = the one honest agent

[[links]]
allow = ['/\d{4}/\d+\.shtml$']
class = "data"

[[links]]
allow = ['/list_\d+\.html$']
class = "nav"

[list]
from = "//table[@id='t']//tr"
detail_url = "td/span/a/@href"
next = "//a[@class='next']/@href"
continue = true

[list.fields]
date = "td[2]/em/text()"      # a bare string is XPath

[detail.fields]
title = {css = "h1::text", required = true}
body = {article = true}
code = {xpath = "//p/text()", regex = '川府函.*号'}

[[sinks]]
type = "jsonl"
path = "notices.jsonl"
"""
"""A file with nearly everything in it that a person writes by hand."""
PAGE = ROOT / "docs" / "jobs.md"
VALIDATOR = jsonschema_rs.validator_for(Job.model_json_schema(by_alias=True))


def written() -> dict[str, str]:
    """Return every job file that the project shows, by where it is."""
    files = {str(path.relative_to(ROOT)): path for path in sorted(ROOT.glob("examples/*.toml"))}
    found = {name: path.read_text(encoding="utf-8") for name, path in files.items()}
    pages = (README, PAGE, *sorted((ROOT / "examples").glob("*.md")))
    for page in pages:
        for number, text in enumerate(blocks(page, "toml")):
            found[f"{page.relative_to(ROOT)}-{number}"] = text
    return {**found, "notices": NOTICES}


def every_model() -> set[type[BaseModel]]:
    found: set[type[BaseModel]] = set()
    waiting: list[object] = [Job]
    while waiting:
        kind = waiting.pop()
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            if kind not in found:
                found.add(kind)
                waiting += [info.annotation for info in kind.model_fields.values()]
        else:
            waiting += get_args(kind)
    return found


def sections() -> dict[str, set[str]]:
    """Return the keys in each table of the page about job files."""
    parts = re.split(r"^## `?(.*?)`?$", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    return {
        head: set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
        for head, text in zip(parts[::2], parts[1::2], strict=True)
    }


def test_a_file_with_everything_is_taken_as_it_stands(tmp_path: Path) -> None:
    said = tomllib.loads(NOTICES)
    for name, text in (("job.toml", NOTICES), ("job.json", json.dumps(said))):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        job = load_job(path)
        assert (job.kind, job.http.agents, job.labels) == (Kind.LIST, (), {"desk": "sichuan"})
        assert (job.refresh.policy, job.refresh.seconds) == (Policy.PERIOD, 600)
        assert [rule.class_ for rule in job.links] == [PageClassName.DATA, PageClassName.NAV]
        assert job.list_ is not None
        assert job.list_.continue_
        assert job.list_.fields["date"].xpath == "td[2]/em/text()"
        assert job.list_.next is not None
        assert job.jump
        assert job.unused == ["article: only kind news uses it, not list"]
        assert Job.from_json(job.to_json()).article == job.article


@pytest.mark.parametrize(
    ("refresh", "refused"),
    [
        ("never", ""),
        ({"policy": "window", "days": 3}, ""),
        ({"policy": "classes"}, '"classes" is not available yet'),
        ({"policy": "adaptive", "min": "5m", "max": "7d"}, '"adaptive" is not available yet'),
    ],
)
def test_its_other_ways_to_refresh_are_taken_or_said_to_come(refresh: object, refused: str) -> None:
    said = {**tomllib.loads(NOTICES), "refresh": refresh}
    if refused:
        with pytest.raises(ConfigError) as caught:
            check_job(said, "job.toml")
        assert str(caught.value) == f"job.toml: refresh.policy: {refused}"
    else:
        assert check_job(said, "job.toml").refresh.policy.value in ("never", "window")


@pytest.mark.parametrize("name", written())
def test_the_schema_takes_every_job_file_shown(name: str) -> None:
    said = tomllib.loads(written()[name])
    check_job(said, name)
    assert [(one.instance_path, one.message) for one in VALIDATOR.iter_errors(said)] == []


@pytest.mark.parametrize(
    "wrong",
    [
        {"dept": 2},
        {"kind": "sight"},
        {"list": {"from": 3}},
        {"list": {"from": {"xpat": "//tr"}}},
        {"detail": {"fields": {"title": {"csss": "h1"}}}},
        {"detail": {"fields": {"title": 3}}},
    ],
)
def test_the_schema_refuses_what_is_refused(wrong: dict[str, Any]) -> None:
    said = {"entries": ["https://example.com/"], **wrong}
    assert not VALIDATOR.is_valid(said)
    with pytest.raises(ConfigError):
        check_job(said, "job")


def test_the_page_about_job_files_names_every_key() -> None:
    tables = sections()
    found = every_model()
    assert len(found) > 12
    for model in found:
        keys = {info.alias or key for key, info in model.model_fields.items()}
        if model is Job:
            headed = {key for key in keys if {f"[{key}]", f"[[{key}]]"} & set(tables)}
            assert tables["Top level"] | headed == keys
        else:
            assert keys in tables.values(), f"{model.__name__}: {sorted(keys)}"
