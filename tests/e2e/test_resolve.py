"""Resolving outlives the processes it was asked of."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from service import Up
from serving import Answer, SmallSite
from stores import start_redis

pytestmark = pytest.mark.e2e


@pytest.fixture
def site() -> Iterator[SmallSite]:
    answers: dict[str, Answer | str] = {
        "/page": "<title>A page</title>",
        "/short": Answer(b"", status=302, headers={"Location": "/page"}),
    }
    with SmallSite(answers) as found:
        yield found


def submitted(up: Up, *urls: str, wait: float = 0) -> Any:
    with up.http("operator") as http:
        answer = http.post("/v1/resolve", json={"urls": urls, "wait": wait}, timeout=40)
        assert answer.status_code == 200, answer.text
        return answer.json()


def titles(up: Up, ticket: str) -> list[tuple[str, str | None]]:
    with up.http("reader") as http:
        answer = http.get(f"/v1/resolve/{ticket}", params={"wait": 30}, timeout=40).json()
    return [(result["state"], result["title"]) for result in answer["results"]]


def test_a_ticket_is_answered_after_everything_was_killed(tmp_path: Path, site: SmallSite) -> None:
    up = Up(tmp_path, "--workers", "1", "--allow-private")
    with up.start() as running:
        taken = submitted(up, site.url("/page"), site.url("/short"))
        assert not taken["done"]
        running.kill()
    with up.start():
        assert titles(up, taken["ticket"]) == [("done", "A page")] * 2
        again = submitted(up, site.url("/page"))
        assert (again["done"], again["results"][0]["cached"]) == (True, True)


def test_another_service_on_the_same_redis_answers_for_a_ticket(
    tmp_path: Path, site: SmallSite
) -> None:
    with start_redis(tmp_path / "redis") as redis:
        flags = ("--store", redis.url, "--workers", "1", "--allow-private")
        first, second = Up(tmp_path / "first", *flags), Up(tmp_path / "second", *flags)
        with first.start() as dying, second.start():
            known = submitted(first, site.url("/page"), wait=30)
            assert known["results"][0]["title"] == "A page"
            taken = submitted(first, site.url("/short"), site.url("/page"))
            dying.kill()
            assert titles(second, taken["ticket"]) == [("done", "A page")] * 2
            with second.http("reader") as http:
                body = {"urls": [site.url("/short"), site.url("/nowhere")]}
                found = http.post("/v1/pages/lookup", json=body).json()["pages"]
            assert [(page["found"], page["title"]) for page in found] == [
                (True, "A page"),
                (False, None),
            ]
