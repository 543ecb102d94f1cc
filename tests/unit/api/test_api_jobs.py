"""Jobs over the API: added, shown, changed, paused, cleared and forgotten."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from service import Served, served

from skitter.api.routes.jobs import KEEP_PRIORITY
from skitter.config import RunOptions
from skitter.frontier.model import Ack, Result
from skitter.job.spec import Job
from skitter.wiring.assembly import Assembly
from skitter.wiring.resolve import room_of

JOB: dict[str, Any] = {"id": "one", "entries": ["http://one.test/"], "owner": "ana"}


@pytest.fixture
async def here(tmp_path: Path) -> AsyncIterator[Served]:
    sinks = {
        "lake": {"type": "jsonl", "path": "lake-{job}.jsonl"},
        "fixed": {"type": "jsonl", "path": "fixed.jsonl"},
    }
    async with served(tmp_path / "state", sinks=sinks, allow_private=False) as found:
        yield found


async def add(here: Served, **fields: Any) -> dict[str, Any]:
    answer = await here.http.post("/v1/jobs", json={**JOB, **fields})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def test_a_job_is_added_shown_and_listed(here: Served) -> None:
    answer = await here.http.post("/v1/jobs", json=JOB)
    assert answer.status_code == 201
    assert answer.headers["location"] == "/v1/jobs/one"
    assert answer.json()["entries"] == JOB["entries"]
    again = await here.http.post("/v1/jobs", json=JOB)
    assert again.status_code == 200
    shown = (await here.http.get("/v1/jobs/one")).json()
    assert shown["spec"]["entries"] == JOB["entries"]
    assert shown["queued"] == 1
    assert [row["id"] for row in (await here.http.get("/v1/jobs")).json()["jobs"]] == ["one"]


async def test_lists_come_in_pages_and_by_filter(here: Served) -> None:
    for name in ("b", "a", "c"):
        await add(here, id=name, owner=name, entries=[f"http://{name}.test/"])
    first = (await here.http.get("/v1/jobs", params={"limit": 2})).json()
    assert [row["id"] for row in first["jobs"]] == ["a", "b"]
    rest = (await here.http.get("/v1/jobs", params={"after": first["next"]})).json()
    assert ([row["id"] for row in rest["jobs"]], rest["next"]) == (["c"], None)
    own = (await here.http.get("/v1/jobs", params={"owner": "b"})).json()
    assert [row["id"] for row in own["jobs"]] == ["b"]


async def test_an_address_is_called_by_its_article(here: Served) -> None:
    for address, called in (("0.0.0.0", "an unspecified"), ("10.0.0.1", "a private")):
        answer = await here.http.post("/v1/jobs", json={**JOB, "entries": [f"http://{address}/"]})
        assert f"{called} address" in answer.json()["error"]["message"]


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"id": "resolve-lane"}, "id"),
        ({"depth": -1}, "depth"),
        ({"depth": 10**20}, "depth"),
        ({"limits": {"pages": 10**20}}, "limits.pages"),
        ({"limits": {"queue": 2**63}}, "limits.queue"),
        ({"entries": ["http://127.0.0.1/"]}, "entries[0]"),
        ({"entries": ["http://one.test/", "http://[::1]/"]}, "entries[1]"),
        ({"entries": ["http://169.254.169.254/meta"]}, "entries[0]"),
        ({"entries": ["http://localhost/"]}, "entries[0]"),
        ({"entries": ["http://2130706433/"]}, "entries[0]"),
        ({"entries": ["ftp://one.test/"]}, "entries[0]"),
        ({"entries": []}, "entries"),
        ({"sinks": [{"type": "jsonl", "path": "/etc/x.jsonl"}]}, "sinks[0]"),
        ({"sinks": [{"name": "sea"}]}, "sinks[0].name"),
        ({"archive": {"directory": "/tmp"}}, "archive.directory"),
        ({"http": {"headers": {"X-A": "env:HOME"}}}, "http.headers.X-A"),
        ({"http": {"cookies": "file:/etc/passwd"}}, "http.cookies"),
        ({"http": {"cookies": {"a": "file:/etc/passwd"}}}, "http.cookies.a"),
        ({"color": "red"}, "color"),
        ({"polite": {"delay": "fast"}}, "polite.delay"),
    ],
)
async def test_a_bad_job_is_refused_and_the_field_named(
    here: Served, fields: dict[str, Any], field: str
) -> None:
    answer = await here.http.post("/v1/jobs", json={**JOB, **fields})
    error = answer.json()["error"]
    assert (answer.status_code, error["code"], error["field"]) == (422, "invalid", field)
    assert error["message"].startswith(field)
    assert (await here.http.get("/v1/jobs")).json()["jobs"] == []


async def test_a_job_that_names_a_file_is_told_where_its_records_may_go(here: Served) -> None:
    sinks = [{"type": "csv", "path": "mine.csv"}]
    answer = await here.http.post("/v1/jobs", json={**JOB, "sinks": sinks})
    said = answer.json()["error"]["message"]
    assert "(fixed, lake)" in said
    assert "without sinks the service keeps the records itself" in said


async def test_an_outcome_that_there_is_not_is_refused(here: Served) -> None:
    await add(here)
    assert (await here.http.get("/v1/jobs/one/pages?outcome=noindex")).status_code == 200
    answer = await here.http.get("/v1/jobs/one/pages?outcome=fine")
    error = answer.json()["error"]
    assert (answer.status_code, error["field"]) == (422, "outcome")
    assert "http_error" in error["message"]


async def test_records_go_where_the_operator_has_said(here: Served) -> None:
    found = await add(here, sinks=[{"name": "lake"}])
    assert [Path(path).name for path in found["records"]] == ["lake-one.jsonl"]
    assert (await add(here, id="two", sinks=[{"name": "fixed"}]))["id"] == "two"
    taken = await here.http.post(
        "/v1/jobs", json={**JOB, "id": "three", "sinks": [{"name": "fixed"}]}
    )
    assert (taken.status_code, taken.json()["error"]["code"]) == (409, "conflict")


async def test_a_job_of_the_same_id_and_other_settings_is_a_conflict(here: Served) -> None:
    await add(here)
    answer = await here.http.post("/v1/jobs", json={**JOB, "depth": 3})
    assert (answer.status_code, answer.json()["error"]["code"]) == (409, "conflict")


async def test_a_reader_is_told_when_nothing_is_new(here: Served) -> None:
    await add(here)
    first = await here.http.get("/v1/jobs/one")
    tag = first.headers["etag"]
    same = await here.http.get("/v1/jobs/one", headers={"If-None-Match": tag})
    assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", tag)
    await here.http.post("/v1/jobs/one/pause")
    other = await here.http.get("/v1/jobs/one", headers={"If-None-Match": tag})
    assert other.status_code == 200


async def test_a_job_is_changed_if_nobody_else_has_changed_it(here: Served) -> None:
    await add(here)
    tag = (await here.http.get("/v1/jobs/one")).headers["etag"]
    await here.http.post("/v1/jobs/one/pause")
    wish = {"owner": "bo", "priority": 7, "limits": {"pages": 5}}
    changed = await here.http.patch("/v1/jobs/one", json=wish, headers={"If-Match": tag})
    assert changed.status_code == 200, changed.text
    found = changed.json()
    assert (found["owner"], found["priority"], found["limits"]["pages"]) == ("bo", 7, 5)
    assert found["state"] == "paused", "how it stands is another matter"
    late = await here.http.patch("/v1/jobs/one", json=wish, headers={"If-Match": tag})
    assert (late.status_code, late.json()["error"]["field"]) == (412, "If-Match")
    bad = await here.http.patch("/v1/jobs/one", json={"limits": {"pages": -1}})
    assert (bad.status_code, bad.json()["error"]["field"]) == (422, "limits.pages")
    gone = await here.http.patch("/v1/jobs/one", json={"limits": {"pages": None}})
    assert "pages" not in gone.json()["limits"]


async def test_a_job_at_its_limit_of_pages_goes_on_when_that_is_raised(here: Served) -> None:
    entries = ["http://one.test/", "http://two.test/"]
    await add(here, entries=entries, limits={"pages": 1})
    frontier = here.service.store.frontier
    grants = await frontier.own("member", range(1))
    [lease] = (await frontier.claim(grants, 9)).leases
    await frontier.ack([Ack(lease, Result.DONE, tally=(("pages", 1), ("ok", 1)))])
    ended = (await here.http.get("/v1/jobs/one")).json()
    assert (ended["state"], ended["stopped_by"]) == ("finished", "pages limit")
    assert not (await frontier.claim(grants, 9)).leases
    raised = (await here.http.patch("/v1/jobs/one", json={"limits": {"pages": 5}})).json()
    assert (raised["state"] != "finished", raised["stopped_by"]) == (True, "")
    assert len((await frontier.claim(grants, 9)).leases) == 1


async def test_the_verbs_of_a_job(here: Served) -> None:
    await add(here)
    assert (await here.http.post("/v1/jobs/one/pause")).json()["state"] == "paused"
    assert (await here.http.post("/v1/jobs/one/resume")).json()["state"] == "waiting"
    cleared = await here.http.post("/v1/jobs/one/clear", json={"class": "data", "restart": True})
    assert (cleared.json()["cleared"], cleared.json()["restarted"]) == (1, 1)
    bad = await here.http.post("/v1/jobs/one/clear", json={"class": "all"})
    assert (bad.status_code, bad.json()["error"]["field"]) == (422, "class")
    assert (await here.http.post("/v1/jobs/one/cancel")).json()["state"] == "cancelled"
    refused = await here.http.post("/v1/jobs/one/resume")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "conflict")


async def test_a_job_is_forgotten_and_its_id_is_free_again(here: Served) -> None:
    await add(here, sinks=[{"name": "fixed"}])
    async with here.client("operator") as operator:
        assert (await operator.delete("/v1/jobs/one")).status_code == 403
    answer = await here.http.delete("/v1/jobs/one")
    assert (answer.status_code, answer.content) == (204, b"")
    for call in ("get", "delete"):
        assert (await getattr(here.http, call)("/v1/jobs/one")).status_code == 404
    await add(here, depth=7, sinks=[{"name": "fixed"}])


async def test_files_of_pages_are_kept_where_the_operator_wants_archives(
    here: Served, tmp_path: Path
) -> None:
    wishes: list[dict[str, object]] = [{"media": ["image"]}, {"archive": {}}]
    for wish in wishes:
        refused = await here.http.post("/v1/jobs", json={**JOB, **wish})
        [field] = wish
        assert (refused.status_code, refused.json()["error"]["field"]) == (422, field)
        assert "--warc DIR" in refused.json()["error"]["message"]
    kept = str(tmp_path / "warc")
    options = msgspec.structs.replace(here.service.options, archive=kept)
    here.service.options = options
    assert (await here.http.get("/v1/me")).json()["archive"]
    await add(here, media=["image"])
    spec = (await here.http.get("/v1/jobs/one")).json()["spec"]
    assert spec["archive"]["directory"] == kept
    told = await here.http.post("/v1/jobs", json={**JOB, "media": ["image"], "archive": {}})
    assert told.status_code == 200, told.text
    own = await here.http.post("/v1/jobs", json={**JOB, "archive": {"directory": "/"}})
    assert (own.status_code, own.json()["error"]["field"]) == (422, "archive.directory")


async def test_a_new_priority_counts_for_what_is_found_and_the_answer_says_so(
    here: Served, tmp_path: Path
) -> None:
    added = await add(here)
    store = here.service.store
    [(number, entry)] = (await store.reader.jobs()).items()
    job = Job.from_json(entry.spec)
    changed = (await here.http.patch("/v1/jobs/one", json={"priority": 8})).json()
    assert changed["notes"] == [f"{added['queued']} {KEEP_PRIORITY}"]
    same = (await here.http.patch("/v1/jobs/one", json={"priority": 8, "owner": "bo"})).json()
    assert same["notes"] == []
    # A member that has the job as it was hears of it.
    member = Assembly(job, number, RunOptions(data=tmp_path), store)
    await member.take_up_news()
    normal = member.equipment.normaliser.absolute("http://one.test/found")
    assert member.equipment.finder.make_link(normal, 1).priority == 8
    await member.close()


async def test_a_key_makes_a_post_safe_to_repeat(here: Served) -> None:
    key = {"Idempotency-Key": "k1"}
    first = await here.http.post("/v1/jobs", json=JOB, headers=key)
    again = await here.http.post("/v1/jobs", json=JOB, headers=key)
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assert again.headers["idempotency-replayed"] == "true"
    assert again.headers["location"] == first.headers["location"]
    other = await here.http.post("/v1/jobs", json={**JOB, "depth": 1}, headers=key)
    assert (other.status_code, other.json()["error"]["field"]) == (422, "Idempotency-Key")
    # Another service on the same store would find it there.
    assert len(await here.service.store.frontier.shared(["x"])) == 1
    long = await here.http.post("/v1/jobs", json=JOB, headers={"Idempotency-Key": "k" * 201})
    assert (long.status_code, long.json()["error"]["field"]) == (422, "Idempotency-Key")


async def test_what_could_not_be_kept_for_those_who_repeat_it_is_not_done(here: Served) -> None:
    room_of(here.service).most = 1_000
    room_of(here.service).add(1_001)
    refused = await here.http.post("/v1/jobs", json=JOB, headers={"Idempotency-Key": "k"})
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "30")
    assert (await here.http.get("/v1/jobs/one")).status_code == 404
    ticket = await here.http.post("/v1/resolve", json={"urls": ["http://one.test/"]})
    assert (ticket.status_code, ticket.headers["retry-after"]) == (429, "30")
    assert (await here.http.post("/v1/jobs", json=JOB)).status_code == 201


async def test_answers_to_readers_are_not_kept_for_a_key(here: Served) -> None:
    key = {"Idempotency-Key": "k1"}
    async with here.client("reader") as reader:
        for url in ("http://one.test/", "http://two.test/"):
            answer = await reader.post("/v1/pages/lookup", json={"urls": [url]}, headers=key)
            assert answer.json()["pages"][0]["url"] == url
            assert "idempotency-replayed" not in answer.headers


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/jobs"),
        ("PATCH", "/v1/jobs/one"),
        ("DELETE", "/v1/jobs/one"),
        ("POST", "/v1/jobs/one/pause"),
        ("PUT", "/v1/settings/x.test"),
        ("DELETE", "/v1/aliases/x.test"),
        ("POST", "/v1/nodes/up/workers"),
    ],
)
async def test_who_may_read_may_not_change(here: Served, method: str, path: str) -> None:
    body = {"count": 1} if "workers" in path else JOB if method == "POST" else {"delay": 1}
    async with here.client("reader") as reader:
        sent: dict[str, Any] = (
            {} if method == "DELETE" else {"json": {} if method == "PATCH" else body}
        )
        answer = await reader.request(method, path, **sent)
    assert (answer.status_code, answer.json()["error"]["code"]) == (403, "forbidden")


async def test_unknown_jobs_are_not_found_whatever_is_asked_of_them(here: Served) -> None:
    for method, path in [
        ("GET", ""),
        ("PATCH", ""),
        ("POST", "/pause"),
        ("POST", "/resume"),
        ("POST", "/cancel"),
        ("GET", "/pages"),
        ("GET", "/rejects"),
    ]:
        sent: dict[str, Any] = {"json": {}} if method == "PATCH" else {}
        answer = await here.http.request(method, f"/v1/jobs/none{path}", **sent)
        assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found"), path
