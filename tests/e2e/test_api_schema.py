"""What the API says of itself is true: made-up requests, and answers as described."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import quote

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from schemathesis.core.result import Ok
from service import Up, bearer
from serving import Answer, SmallSite
from stores import wait_until

pytestmark = pytest.mark.e2e

EXAMPLES = 4
"""Made-up requests of each kind to each operation."""
EVENTS, FETCH = "/v1/events", "/v1/fetch"
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def site() -> Iterator[SmallSite]:
    price = '<title>A thing</title><h1>A thing</h1><a href="/gone">gone</a><a href="/old">old</a>'
    answers: dict[str, Answer | str] = {
        "/": f'{price}<b>3</b><a href="/bare">bare</a>',
        "/bare": price,
        "/old": Answer(b"", status=301, headers={"Location": "/bare"}),
    }
    with SmallSite(answers) as found:
        yield found


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory, site: SmallSite) -> Iterator[Up]:
    """Start a service that has crawled a little; nobody is left there who would crawl more."""
    place = Up(tmp_path_factory.mktemp("up"), "--workers", "1", "--allow-private")
    with place.start(), place.http() as http:
        fields = {"price": {"css": "b::text", "required": True}}
        job = {"id": "one", "entries": [site.url()], "detail": {"fields": fields}}
        given = {**job, "polite": {"delay": 0}, "sitemaps": "no"}
        assert http.post("/v1/jobs", json=given).status_code == 201
        wait_until("its end", lambda: http.get("/v1/jobs/one").json()["state"] == "finished")
        assert http.delete("/v1/nodes/up/workers/1").is_success
        wait_until("its end", lambda: http.get("/v1/stats").json()["workers"] == 0)
        yield place


def test_what_is_known_is_told_as_described(up: Up, site: SmallSite) -> None:
    """Every answer that tells of pages, records and nodes is as its description says."""
    schema = schemathesis.openapi.from_url(f"{up.url}/openapi.json")
    urls = [site.url(path) for path in ("/", "/bare", "/old", "/gone", "/nowhere")]
    page = {"url": site.url("/old")}
    with requests.Session() as session:
        session.headers.update(bearer())

        def told(method: str, path: str, **given: Any) -> Any:
            if "body" in given:
                given["media_type"] = "application/json"
            case = schema[path][method].Case(**given)
            answer = case.call_and_validate(session=session, checks=CHECKS, timeout=60)
            assert answer.status_code in {200, 201, 204}, answer.text
            return answer.json() if answer.content else None

        one = {"path_parameters": {"job_id": "one"}}
        assert len(told("GET", "/v1/jobs/{job_id}/pages", **one)["pages"]) == 3
        assert len(told("GET", "/v1/jobs/{job_id}/rejects", **one)["rejects"]) == 1
        assert told("GET", "/v1/pages", query=page)["jobs"][0]["record"]["redirects"]
        found = told("POST", "/v1/pages/lookup", body={"urls": urls})["pages"]
        assert [row["found"] for row in found] == [True, True, True, True, False]
        resolved = told("POST", "/v1/resolve", body={"urls": [urls[0], urls[3]]})
        assert resolved["done"]
        ticket = {"path_parameters": {"ticket": resolved["ticket"]}}
        assert told("GET", "/v1/resolve/{ticket}", **ticket)["results"] == resolved["results"]
        assert told("POST", FETCH, body=page)["redirects"] == [site.url("/old")]
        rules = {"entries": [site.url()], "detail": {"fields": {"price": "//b/text()"}}}
        tried = told("POST", "/v1/rules/try", body={"job": rules, "url": site.url()})
        assert tried["fields"] == {"price": "3"}
        assert told("GET", "/v1/stats")["pages"] == 3
        series = told("GET", "/v1/stats/series", query={"name": ["pages"], "step": "hour"})
        assert sum(point["n"] for point in series["series"][0]["points"]) >= 3
        for path in ("/v1/nodes/{node_id}", "/v1/nodes/{node_id}/logs"):
            assert told("GET", path, path_parameters={"node_id": "up"})


def test_no_made_up_request_breaks_the_service_or_its_word(up: Up, site: SmallSite) -> None:
    schema = schemathesis.openapi.from_url(f"{up.url}/openapi.json")
    asked: dict[str, int] = {}
    with requests.Session() as session:
        session.headers.update(bearer())
        asking = Asking(session, site)
        for found in schema.get_all_operations():
            assert isinstance(found, Ok), found
            operation = found.ok()
            for mode in schemathesis.GenerationMode:
                made_up = operation.as_strategy(generation_mode=mode)
                asked[operation.label] = asked.get(operation.label, 0)
                asked[operation.label] += asking.many(made_up)
            if "{job_id}" in operation.path and operation.method != "delete":
                asking.many(operation.as_strategy(path_parameters={"job_id": "one"}))
    assert len(asked) > 25
    assert all(asked.values())


class Asking:
    """Sends what was made up."""

    def __init__(self, session: requests.Session, site: SmallSite) -> None:
        self._session, self._site = session, site

    def many(self, made_up: Any) -> int:
        """Ask many things; return how many."""
        asked = 0

        @given(case=made_up)
        @settings(
            max_examples=EXAMPLES,
            database=None,
            deadline=None,
            derandomize=True,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        def ask(case: Any) -> None:
            nonlocal asked
            asked += 1
            self._hurry(case)
            if case.operation.path == EVENTS:
                self._listen(case)
            else:
                case.call_and_validate(session=self._session, checks=CHECKS, timeout=60)

        # Where nothing can be said wrong, there is nothing to try.
        with suppress(Unsatisfiable):
            ask()
        return asked

    def _hurry(self, case: Any) -> None:
        """Let nobody wait for pages that nobody fetches, and ask no host that was made up."""
        for told in (case.body, case.query):
            if isinstance(told, dict) and isinstance(told.get("wait"), int | float):
                told["wait"] = min(told["wait"], 0.01)
        if case.operation.path == FETCH and isinstance(case.body, dict):
            url = case.body.get("url")
            if isinstance(url, str) and url.startswith("http"):
                case.body["url"] = self._site.url("/" + quote(url[:20]))

    def _listen(self, case: Any) -> None:
        """Begin to listen, which would not end by itself."""
        given = case.as_transport_kwargs()
        with self._session.request(**given, stream=True, timeout=60) as answer:
            if answer.status_code == 200:
                assert answer.headers["content-type"].startswith("text/event-stream")
            else:
                case.validate_response(answer, checks=CHECKS)


def test_every_operation_is_described(up: Up) -> None:
    described = requests.get(f"{up.url}/openapi.json", timeout=20).json()
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            name = f"{method} {path}"
            assert operation.get("description"), name
            assert path == "/healthz" or operation["security"], name
            body = operation.get("requestBody")
            if body is not None:
                [content] = body["content"].values()
                assert _examples(content, described), f"{name} has no example"
    for model in ("Found", "PageRow"):
        # A page that came has something there as well, unlike what the name says.
        error = described["components"]["schemas"][model]["properties"]["error"]
        assert "with the outcome `ok`" in error["description"]


def _examples(content: Any, described: Any) -> Any:
    schema = content["schema"]
    name = schema.get("$ref", "").rpartition("/")[2]
    model = described["components"]["schemas"].get(name, {})
    said = (schema, content, model)
    return any(one.get("examples") or one.get("example") for one in said)
