"""The service beside a master: one address for people and nodes, whatever ends when."""

import asyncio
import os
import signal
import stat
from pathlib import Path

import httpx
import pytest
from clusters import gone
from crawling import command
from killable import family
from service import ADMIN, Up, bearer, service_pid
from stores import own_store, wait_until

from skitter.frontier.remote.client import RemoteFrontier
from skitter.wiring.tokens import NODE, OPERATOR, READER, derived

pytestmark = pytest.mark.e2e


def test_people_and_nodes_come_to_one_address(tmp_path: Path) -> None:
    place = Up(tmp_path, "--workers", "0")
    with place.start() as up, place.http() as http:
        assert http.get("/v1/me").json()["role"] == "admin"
        assert httpx.get(f"{place.url}/healthz").json()["status"] == "ok"
        assert httpx.get(f"{place.url}/v1/jobs").status_code == 401
        for purpose in (OPERATOR, READER, NODE):
            file = place.data / f"token.{purpose}"
            assert stat.S_IMODE(file.stat().st_mode) == 0o600
            assert file.read_text().strip() == derived(ADMIN, purpose)
        asyncio.run(joined(place.url, derived(ADMIN, NODE)))
        # The token of nodes is good for nothing else, and that of an operator not for nodes.
        node = {"Authorization": f"Bearer {derived(ADMIN, NODE)}"}
        assert httpx.get(f"{place.url}/v1/jobs", headers=node).status_code == 401
        refused = httpx.post(f"{place.url}/v1/frontier/hello", headers=bearer("operator"))
        assert refused.status_code == 401
        children = family(up.pid)[1:]
        up.send(signal.SIGTERM)
        assert up.ended(20) == 130
        assert gone(children, 1)
        assert ADMIN not in up.told


async def joined(url: str, token: str) -> int:
    frontier = RemoteFrontier(url, token, name="far")
    await frontier.open()
    try:
        return len(await frontier.jobs())
    finally:
        await frontier.close()


def test_a_service_that_is_killed_comes_back_and_no_node_notices(tmp_path: Path) -> None:
    place = Up(tmp_path, "--workers", "0")
    with place.start() as up:
        asyncio.run(_killed_beside_a_node(place, service_pid(up)))
        assert "the service ended (signal SIGKILL)" in up.told
        assert up.up


async def _killed_beside_a_node(place: Up, pid: int) -> None:
    frontier = RemoteFrontier(place.url, derived(ADMIN, NODE), name="far")
    await frontier.open()
    async with httpx.AsyncClient(base_url=place.url, headers=bearer()) as http:
        assert (await http.get("/v1/jobs")).status_code == 200
        os.kill(pid, signal.SIGKILL)
        assert gone([pid], 5)
        away = await _until(http, 503)
        assert away.headers["retry-after"]
        assert away.json()["error"]["code"] == "unavailable"
        assert frontier.trouble == ""
        assert await frontier.jobs() == {}
        assert (await _until(http, 200)).json() == {"jobs": [], "next": None}
    assert frontier.trouble == ""
    await frontier.close()


async def _until(http: httpx.AsyncClient, status: int) -> httpx.Response:
    async with asyncio.timeout(20):
        while True:
            try:
                answer = await http.get("/v1/jobs")
            except httpx.TransportError:
                continue
            if answer.status_code == status:
                return answer
            await asyncio.sleep(0.02)


def test_a_master_that_is_killed_takes_its_service_along_and_both_come_back(
    tmp_path: Path,
) -> None:
    place = Up(tmp_path, "--workers", "0")
    with place.start() as up:
        pids = family(up.pid)
        up.send(signal.SIGKILL)
        assert gone(pids, 10)
    with place.start(), place.http() as http:
        assert http.get("/v1/jobs").status_code == 200


def test_an_address_that_others_reach_wants_a_token(tmp_path: Path) -> None:
    ended = command("up", "--data", tmp_path / "s", "--host", "0.0.0.0", "--port", "0")
    assert (ended.code, ended.out) == (2, "")
    assert ended.err == (
        "skitter: --host 0.0.0.0: others can reach it there; wanted a token in SKITTER_TOKEN or"
        " --token\n"
    )
    assert not (tmp_path / "s").exists()


def test_several_serve_one_store_and_one_that_is_killed_is_not_missed(tmp_path: Path) -> None:
    redis_url = own_store()
    places = [
        Up(tmp_path / name, "--store", redis_url, "--workers", "0") for name in ("one", "two")
    ]
    with places[0].start() as one, places[1].start() as two:
        one.until_told("page index: in Redis itself, kept as Redis keeps its data (appendonly ")
        with places[0].http() as first, places[1].http() as second:
            assert first.get("/v1/me").json()["store"] == "redis"
            assert first.get("/v1/jobs").json() == second.get("/v1/jobs").json()
            os.kill(service_pid(one), signal.SIGKILL)
            # Whoever comes meanwhile is waited for: the socket is the parent's.
            wait_until("the first", lambda: _answers(places[0]))
            one.send(signal.SIGKILL)
            assert second.get("/v1/jobs").status_code == 200
        two.send(signal.SIGTERM)
        assert two.ended(20) == 130


def _answers(place: Up) -> bool:
    try:
        return httpx.get(f"{place.url}/healthz", timeout=20).status_code == 200
    except httpx.TransportError:
        return False
