"""What the API says of itself is true: made-up requests, and answers as described."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

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

pytestmark = pytest.mark.e2e

EXAMPLES = 4
"""Made-up requests of each kind to each operation."""
LEFT_OUT = {"/v1/events", "/v1/fetch"}
"""A stream without end; and what would ask hosts that somebody made up."""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    place = Up(tmp_path_factory.mktemp("up"), "--workers", "0")
    with place.start(), place.http() as http:
        job = {"id": "one", "entries": ["http://one.test/"]}
        assert http.post("/v1/jobs", json=job).status_code == 201
        assert http.post("/v1/jobs/one/pause").status_code == 200
        yield place


def test_no_made_up_request_breaks_the_service_or_its_word(up: Up) -> None:
    schema = schemathesis.openapi.from_url(f"{up.url}/openapi.json")
    asked: dict[str, int] = {}
    with requests.Session() as session:
        session.headers.update(bearer())
        for found in schema.get_all_operations():
            assert isinstance(found, Ok), found
            operation = found.ok()
            if operation.path not in LEFT_OUT:
                for mode in schemathesis.GenerationMode:
                    made_up = operation.as_strategy(generation_mode=mode)
                    asked[operation.label] = asked.get(operation.label, 0)
                    asked[operation.label] += _ask(made_up, session)
                if "{job_id}" in operation.path and operation.method != "delete":
                    _ask(operation.as_strategy(path_parameters={"job_id": "one"}), session)
    assert len(asked) > 25
    assert all(asked.values())


def _ask(made_up: Any, session: requests.Session) -> int:
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
        _hurry(case)
        case.call_and_validate(session=session, checks=CHECKS, timeout=20)

    # Where nothing can be said wrong, there is nothing to try.
    with suppress(Unsatisfiable):
        ask()
    return asked


def _hurry(case: Any) -> None:
    """Let nobody wait for pages that nobody fetches."""
    for told in (case.body, case.query):
        if isinstance(told, dict) and isinstance(told.get("wait"), int | float):
            told["wait"] = min(told["wait"], 0.01)


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


def _examples(content: Any, described: Any) -> Any:
    schema = content["schema"]
    name = schema.get("$ref", "").rpartition("/")[2]
    model = described["components"]["schemas"].get(name, {})
    said = (schema, content, model)
    return any(one.get("examples") or one.get("example") for one in said)
