"""The log of a whole service as lines of JSON."""

import json
import re
import signal
from pathlib import Path

import httpx
import pytest
from clusters import Background
from service import ADMIN, bearer

pytestmark = pytest.mark.e2e


def test_every_process_logs_json_and_nobody_a_secret(tmp_path: Path) -> None:
    words = ("up", "--data", tmp_path / "state", "--port", "0", "--workers", "1", "--log-json")
    with Background(tmp_path, *words, env={"SKITTER_TOKEN": ADMIN}) as up:
        up.until_told("listening on ")
        where = re.findall(r"listening on (http://[\d.]+:\d+)", up.told)[0]
        query = f"{where}/v1/jobs?access_token={ADMIN}"
        refused = httpx.get(query, headers=bearer("reader"), timeout=60)
        assert (refused.status_code, ADMIN in refused.text) == (422, False)
        wrong = {"Authorization": "x"}
        assert httpx.get(f"{where}/v1/jobs", headers=wrong, timeout=60).status_code == 401
        up.until_told('"status": 401')
        up.send(signal.SIGTERM)
        assert up.ended() == 130
    lines = [json.loads(line) for line in up.told.splitlines()]
    assert all({"time", "level", "logger", "event", "pid"} <= line.keys() for line in lines)
    asked = [line for line in lines if line["event"] == "request"]
    assert [(line["path"], line["status"], line["role"]) for line in asked] == [
        ("/v1/jobs", 422, "reader"),
        ("/v1/jobs", 401, ""),
    ]
    assert any(line["event"] == "progress" for line in lines)
    assert len({line["pid"] for line in lines}) == 2
    assert ADMIN not in up.told
