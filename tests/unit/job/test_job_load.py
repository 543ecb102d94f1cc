"""Job files and the command line; every fault is named with its place."""

import json
from pathlib import Path

import pytest

from skitter.errors import ConfigError
from skitter.job.load import JobSettings, job_from_flags, load_job
from skitter.job.spec import Order
from skitter.url.scope import ScopeKind

NOTICES = """
id = "notices"
kind = "site"
owner = "ana"
entries = ["https://www.example.com/list.html"]
depth = 2
order = "dfs"
scope = "domain"
include = ['/\\d+\\.html$']
labels = {desk = "north"}

[limits]
pages = 10000

[polite]
delay = 2

[http]
headers = {Cookie = "env:MY_COOKIE"}
"""


def save(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def faults(path: Path) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        load_job(path)
    return [line.removeprefix(f"{path}: ") for line in str(caught.value).splitlines()]


def test_toml_and_json_say_the_same(tmp_path: Path) -> None:
    job = load_job(save(tmp_path / "job.toml", NOTICES))
    assert (job.id, job.depth, job.order, job.scope) == ("notices", 2, Order.DFS, ScopeKind.DOMAIN)
    assert (job.limits.pages, job.polite.delay, job.labels) == (10000, 2.0, {"desk": "north"})
    document = {**job.model_dump(mode="json", exclude_unset=True)}
    assert load_job(save(tmp_path / "job.json", json.dumps(document))) == job


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("dept = 2", 'dept: unknown key; did you mean "depth"?'),
        ("pages = 2", 'pages: unknown key; did you mean "limits.pages"?'),
        ("[detail]\ntitle = '//h1'", "detail.title: unknown key; fields stand in [detail.fields]"),
        ("[polite]\nper-host = 2", 'polite.per-host: unknown key; did you mean "per_host"?'),
        (
            "[limits]\nzzz = 2",
            "limits.zzz: unknown key; wanted one of pages, time, bytes, queue, overflow",
        ),
        ("[list]\nfrom = 'tr['", 'list.from.xpath: "tr[": not an XPath expression'),
        ('[polite]\nrate = "0/0s"', 'polite.rate: "0/0s": wanted 1 to 10000 requests'),
        ('[polite]\nrate_ip = "20"', 'polite.rate_ip: "20": wanted requests and a time'),
        ('[polite]\nip_exempt = ["cdn"]', 'polite.ip_exempt[0]: "cdn": wanted addresses such as'),
        ("[polite]\nper_ip = -1", "polite.per_ip: -1: wanted 0 or more"),
        ('refresh = {policy = "classes"}', 'refresh.policy: "classes" is not available yet'),
        (
            'kind = "sight"',
            "kind: \"sight\": wanted 'site', 'web', 'list', 'news' or 'resolve'; did you mean"
            ' "site"?',
        ),
        (
            '[[links]]\nclass = "Dta"',
            "links[0].class: \"Dta\": wanted 'nav' or 'data'; did you mean \"data\"?",
        ),
        (
            '[[links]]\nextract = "detial"',
            'links[0].extract: "detial": wanted one of detail, list, none; did you mean "detail"?',
        ),
        ('order = "best"', "order: best wants keywords"),
        ('order = "bfs"\nkeywords = ["x"]', "keywords: only order best uses them"),
        ('[limits]\noverflow = "reject"', 'limits.overflow: "reject" is not available yet'),
        ("depth = -1", "depth: -1: wanted 0 or more"),
        ("depth = true", "depth: true: wanted a whole number"),
        ('depth = "2"', 'depth: "2": wanted a whole number'),
        ("priority = 10", "priority: 10: wanted 9 or less"),
        ("limits = 3", "limits: 3: wanted a table of keys"),
        ("[polite]\ndelay = nan", "polite.delay: NaN: wanted a finite number"),
        ("[polite]\nrobots = 1", "polite.robots: 1: wanted true or false"),
        ("[links]\nallow = ['x']", "links: wanted a list of tables: write [[links]] above each"),
        ('include = "x"', 'include: "x": wanted a list'),
        ("include = ['(']", 'include[0]: "(": not an RE2 regular expression: missing ): ('),
        ("labels = {a = 1}", "labels.a: 1: wanted a string"),
        ('id = "a/b"', 'id: "a/b": wanted up to 128 letters, digits, dots, dashes'),
        ('[http]\ntypes = ["html"]', 'http.types[0]: "html": wanted a media type such as'),
        ('[http]\nskip_suffixes = ["a/b"]', 'http.skip_suffixes[0]: "a/b": wanted a file name'),
        ("[http]\ntimeout = 0", "http.timeout: 0: wanted more than 0"),
        ("[http]\nheaders = {Host = 'x'}", "http.headers.Host: this header is set by the crawler"),
        ("[http]\nheaders = {'a b' = 'x'}", "http.headers.a b: not a header name"),
        ("[http]\nagent = 'ü'", 'http.agent: "ü": wanted printable ASCII text'),
        ("[http]\nheaders = {User-Agent = 'x'}", "http.headers.User-Agent: wanted in http.agent"),
        ('[urls]\ntracking = ["a=b"]', 'urls.tracking[0]: "a=b": wanted the name of a query'),
        ('entries = ["nowhere"]', 'entries[0]: "nowhere": wanted an http or https URL'),
    ],
)
def test_each_fault_names_the_field_the_value_and_what_was_wanted(
    tmp_path: Path, line: str, complaint: str
) -> None:
    [fault] = faults(save(tmp_path / "job.toml", line))
    assert fault.startswith(complaint)


def test_all_faults_are_told_at_once_one_a_line(tmp_path: Path) -> None:
    path = save(tmp_path / "job.toml", 'depth = -1\nscope = "hots"\ncolour = 1\n')
    assert [fault.split(":")[0] for fault in faults(path)] == ["depth", "scope", "colour"]


def test_no_fault_repeats_a_secret(tmp_path: Path) -> None:
    text = """
    entries = ["https://ana:hunter2@example.com/"]
    [http]
    headers = {Cookie = "env:hunter2 x", Authorization = "hunter2\\u0007"}
    """
    assert "hunter2" not in "\n".join(faults(save(tmp_path / "job.toml", text)))


@pytest.mark.parametrize(
    ("name", "content", "complaint"),
    [
        ("j.toml", b"depth = ", "not valid TOML: Invalid value"),
        ("j.toml", b"a = '\xff'", "not UTF-8 text"),
        ("j.json", b"{", "not valid JSON: Expecting property name"),
        ("j.json", b"[]", "wanted a JSON object at the top"),
        ("j.json", b'{"depth": 1, "depth": 2}', "not valid JSON: key 'depth' appears twice"),
        ("j.json", b"[" * 100_000, "not valid JSON: nested too deeply"),
        ("j.yaml", b"", "wanted a job file that ends in .toml or .json"),
    ],
)
def test_a_broken_file_is_named_with_what_is_wrong(
    tmp_path: Path, name: str, content: bytes, complaint: str
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    [fault] = faults(path)
    assert fault.startswith(complaint)


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    [fault] = faults(tmp_path / "none.toml")
    assert fault == "cannot be read: No such file or directory"
    (tmp_path / "dir.toml").mkdir()
    [fault] = faults(tmp_path / "dir.toml")
    assert fault == "cannot be read: Is a directory"


def test_flags_win_over_the_file_and_the_file_over_the_defaults(tmp_path: Path) -> None:
    base = load_job(save(tmp_path / "job.toml", NOTICES))
    job = job_from_flags(
        (),
        base=base,
        defaults=JobSettings(delay=9.0, per_host=7, depth=9),
        flags=JobSettings(depth=1, pages=5),
    )
    assert (job.depth, job.limits.pages) == (1, 5)
    assert (job.polite.delay, job.polite.per_host) == (2.0, 7)
    assert (job.id, job.entries) == (base.id, base.entries)


def test_one_timeout_from_a_person_rules_the_wait_for_the_first_byte_too() -> None:
    job = job_from_flags(["https://a.example"], flags=JobSettings(timeout=90.0))
    assert (job.http.timeout, job.http.first_byte_timeout) == (90.0, 90.0)


def test_a_bad_url_on_the_command_line_is_one_line() -> None:
    with pytest.raises(ConfigError, match=r"^'htp://x': wanted an http or https URL$"):
        job_from_flags(["htp://x"], flags=JobSettings())


def test_a_job_of_seeds_alone_is_named_after_its_list(tmp_path: Path) -> None:
    def named(seeds: str) -> str:
        return job_from_flags((), flags=JobSettings(), seeds=seeds).id

    assert named("-") == "stdin"
    assert named(str(tmp_path / "my urls.txt")).startswith("my-urls-")
    assert named(str(tmp_path / "a.txt")) != named(str(tmp_path / "b" / "a.txt"))


def test_entries_name_the_job_even_when_there_are_seeds() -> None:
    job = job_from_flags(["https://a.example"], flags=JobSettings(), seeds="-")
    assert job.id.startswith("a.example-")
