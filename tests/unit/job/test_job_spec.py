"""The job: defaults, identity, storing, headers from the environment."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from skitter.errors import ConfigError
from skitter.job.identity import derived_id, entries_digest
from skitter.job.parts import Http
from skitter.job.spec import Job, Kind, Order, check_job, identity_difference
from skitter.url.canonical import DEFAULT_RULES
from skitter.url.partition import Partition
from skitter.url.scope import ScopeKind


def job(**fields: object) -> Job:
    return check_job({"entries": ["https://example.com/"], **fields}, "test")


def test_an_unadorned_job_is_a_polite_site_crawl() -> None:
    plain = job()
    assert (plain.kind, plain.scope, plain.order) == (Kind.SITE, ScopeKind.HOST, Order.BFS)
    assert (plain.partition, plain.depth, plain.priority) == (Partition.HOST, None, 5)
    assert (plain.polite.delay, plain.polite.per_host, plain.polite.robots) == (1.0, 1, True)
    assert (plain.limits.pages, plain.limits.queue) == (None, 1_000_000)
    assert plain.urls.rules() == DEFAULT_RULES


def test_a_web_job_goes_where_links_lead_unless_told_otherwise() -> None:
    assert job(kind="web").scope is ScopeKind.ANY
    assert job(kind="web", scope="domain").scope is ScopeKind.DOMAIN


def test_a_job_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        job().depth = 3


def test_a_stored_job_comes_back_equal() -> None:
    full = job(
        id="j",
        kind="web",
        owner="ana",
        depth=2,
        priority=9,
        order="dfs",
        partition="url",
        include=["/a"],
        exclude=["b$"],
        labels={"desk": "x"},
        limits={"pages": 7, "queue": 10, "overflow": "drop"},
        polite={"delay": 0, "per_host": 3, "robots": False, "adaptive": False},
        http={"headers": {"Cookie": "env:C", "X-Trace": "1"}, "types": ["text/*"], "tries": 1},
        urls={"tracking": ["ref", "utm_*"], "sort_query": True},
    )
    assert Job.from_json(full.to_json()) == full


def test_a_literal_secret_is_never_stored() -> None:
    secretive = job(http={"headers": {"Cookie": "sid=hunter2", "X-Api-Key": "k", "Accept": "*/*"}})
    stored = json.loads(secretive.to_json())
    assert stored["http"]["headers"] == {"Accept": "*/*"}
    assert "hunter2" not in secretive.to_json()


def test_a_job_stored_by_another_version_is_refused() -> None:
    newer = {**json.loads(job().to_json()), "version": 2}
    with pytest.raises(ConfigError, match="stored job: wanted version 1, got 2"):
        Job.from_json(json.dumps(newer))


def test_headers_are_filled_in_from_the_environment_when_the_crawl_starts() -> None:
    http = job(http={"headers": {"Cookie": "env:MY_COOKIE", "X-Trace": "1"}}).http
    sent = http.own_headers({"MY_COOKIE": "sid=1"}).for_url("http://a.test/", 0)
    assert sent == {"Cookie": "sid=1", "X-Trace": "1"}
    assert http.headers["Cookie"] == "env:MY_COOKIE"


def test_a_variable_that_is_not_set_is_named() -> None:
    http = Http(headers={"Cookie": "env:MY_COOKIE"})
    with pytest.raises(ConfigError, match=r"http\.headers\.Cookie: .* MY_COOKIE is not set"):
        http.own_headers({})


def test_a_variable_cannot_smuggle_a_second_header_in() -> None:
    http = Http(headers={"Cookie": "env:C"})
    with pytest.raises(ConfigError) as caught:
        http.own_headers({"C": "a\r\nHost: evil"})
    assert "evil" not in str(caught.value)


def test_the_derived_id_has_the_host_and_does_not_depend_on_order_or_repetition() -> None:
    one = ("https://b.example/x", "https://a.example/")
    assert derived_id(one) == derived_id((one[1], one[0], one[1]))
    assert derived_id(one).startswith("a.example-")
    assert derived_id(one) != derived_id(one[:1])


@pytest.mark.parametrize(
    "entry", ["http://[::1]:8/", "http://127.0.0.1:80/", f"https://{'a' * 60}.{'b' * 60}.example/"]
)
def test_a_derived_id_is_a_valid_id(entry: str) -> None:
    derived = job(entries=[entry]).id
    assert job(id=derived).id == derived


@given(st.sets(st.integers(0, 20).map(lambda n: f"https://a.example/{n}"), min_size=1))
def test_different_sets_of_entries_have_different_digests(entries: set[str]) -> None:
    smaller = tuple(sorted(entries))[1:]
    assert entries_digest(tuple(entries), size=16) != entries_digest(smaller, size=16)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", "other"),
        ("kind", "web"),
        ("scope", "any"),
        ("depth", 1),
        ("order", "dfs"),
        ("partition", "url"),
        ("include", ["x"]),
        ("exclude", ["x"]),
        ("entries", ["https://other.example/"]),
        ("urls", {"sort_query": True}),
    ],
)
def test_what_changes_the_set_of_pages_changes_the_identity(field: str, value: object) -> None:
    same = {"id": "j", "scope": "host"}
    before, after = job(**same).identity(), job(**{**same, field: value}).identity()
    assert json.loads(json.dumps(before)) == before
    difference = identity_difference(before, after)
    assert difference is not None
    assert difference.startswith(f"{field} is ")


def test_manners_and_limits_may_change_between_runs() -> None:
    before = job(id="j")
    after = job(id="j", polite={"delay": 5}, limits={"pages": 3}, http={"tries": 1}, priority=1)
    assert identity_difference(before.identity(), after.identity()) is None
