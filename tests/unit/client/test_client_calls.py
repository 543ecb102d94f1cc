"""Both clients have every call, and what a call sends is what the API is told."""

import inspect
import json
from typing import Any

import httpx
import pytest

from skitter.client.blocking import Client
from skitter.client.calls import base, events, jobs, nodes, pages, sites
from skitter.client.calls.base import Call
from skitter.client.connection import Access
from skitter.client.events import Step
from skitter.client.http import AsyncClient
from skitter.client.jobs import JobChange
from skitter.errors import ConfigError

WRONG: Any = "pdf"
NOTHING: Any = None
CALLS = {
    **{name: getattr(base, name) for name in ("health", "me")},
    **{
        name: function
        for module in (jobs, pages, nodes, sites, events)
        for name, function in inspect.getmembers(module, inspect.isfunction)
        if function.__module__ == module.__name__ and not name.endswith("_rows")
    },
}


def sent(call: Call[Any]) -> httpx.Request:
    return Access(url="http://h:8440/", token="t0k3n").request(call)


def test_both_clients_have_every_call_under_its_name() -> None:
    for name, function in CALLS.items():
        assert getattr(Client, name) is function
        assert getattr(AsyncClient, name) is function
        assert function.__doc__


def test_a_request_carries_the_token_and_what_was_said_only() -> None:
    request = sent(jobs.jobs(state="running", limit=5))
    assert str(request.url) == "http://h:8440/v1/jobs?state=running&limit=5"
    assert request.headers["authorization"] == "Bearer t0k3n"
    assert request.content == b""
    assert "content-type" not in request.headers


def test_a_service_below_a_path_is_asked_there() -> None:
    request = Access(url="https://h/skitter/").request(base.me())
    assert str(request.url) == "https://h/skitter/v1/me"
    assert "authorization" not in request.headers


@pytest.mark.parametrize(
    ("call", "path"),
    [
        (jobs.job("a/../b?c#d e"), "/v1/jobs/a%2F..%2Fb%3Fc%23d%20e"),
        (sites.setting("*.example.com/news/*"), "/v1/settings/%2A.example.com%2Fnews%2F%2A"),
        (nodes.stop_worker("10.0.0.5", 3), "/v1/nodes/10.0.0.5/workers/3"),
        (sites.undo_alias("h:8080", job="n"), "/v1/aliases/h%3A8080?job=n"),
    ],
)
def test_what_stands_in_a_path_stays_one_part_of_it(call: Call[Any], path: str) -> None:
    assert sent(call).url.raw_path.decode() == path


def test_a_url_to_explain_is_one_parameter_whatever_it_holds() -> None:
    request = sent(pages.explain("http://a/?x=1&job=other#f"))
    assert request.url.params.multi_items() == [("url", "http://a/?x=1&job=other#f")]


def test_bodies_have_the_names_of_the_api_and_nothing_that_was_not_said() -> None:
    assert json.loads(sent(jobs.clear("j", "nav")).content) == {"class": "nav", "restart": False}
    change = jobs.change_job("j", JobChange(priority=3), etag='"7"')
    assert json.loads(sent(change).content) == {"priority": 3}
    assert sent(change).headers["if-match"] == '"7"'


def test_a_post_that_makes_something_has_a_key_of_its_own_or_the_one_given() -> None:
    first, second = (jobs.add_job({"id": "j"}).headers["Idempotency-Key"] for _ in range(2))
    assert first != second
    assert jobs.add_job({"id": "j"}, key="mine").headers["Idempotency-Key"] == "mine"


def test_the_answer_may_take_as_long_as_the_service_was_asked_to_wait() -> None:
    access = Access(url="http://h", timeout=2.0)
    timeout = access.request(pages.resolve(["http://a/"], wait=20)).extensions["timeout"]
    assert timeout["read"] == 22.0
    assert timeout["connect"] == 2.0


def test_steps_are_given_as_the_api_names_them() -> None:
    assert sent(events.series("pages", step=Step.TEN_SECONDS)).url.params["step"] == "10s"


@pytest.mark.parametrize("url", ["", "h:8440", "ftp://h", "http://", "http://a:b:c/"])
def test_what_is_not_the_url_of_a_service_is_refused_at_once(url: str) -> None:
    with pytest.raises(ConfigError, match="wanted the URL of a service"):
        Client(url)


def test_a_token_is_not_shown() -> None:
    assert "t0k3n" not in repr(Access(url="http://h", token="t0k3n"))


@pytest.mark.parametrize(
    ("build", "said"),
    [
        (
            lambda: pages.lookup([f"http://a/{n}" for n in range(301)]),
            "urls: .*300 at most, not 301",
        ),
        (lambda: pages.resolve(["http://a/"], wait=31), "wait: 31.*: wanted 30.* or less"),
        (lambda: pages.resolve(["http://a/"], media=[WRONG]), r"media\[0\]: .*wanted 'image'"),
        (lambda: pages.fetch(NOTHING), "url: null: wanted a string"),
        (lambda: jobs.clear("j", WRONG), 'class: "pdf": wanted'),
        (lambda: jobs.change_job("j", {"priority": 12}), "priority: 12: wanted 9 or less"),
        (lambda: jobs.change_job("j", {"prioriti": 3}), 'prioriti: .*did you mean "priority"'),
        (lambda: nodes.start_workers("n", count=0), "count: 0: wanted 1 or more"),
        (lambda: events.add_webhook("http://a/", secret="short"), "secret: wanted 16 characters"),
    ],
)
def test_what_a_call_cannot_say_is_refused_by_field(build: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        build()
    assert "short" not in str(caught.value)


def test_a_text_alone_is_one_url() -> None:
    assert json.loads(sent(pages.lookup("http://a/")).content)["urls"] == ["http://a/"]
