"""Lines of JSON: one for each thing that is said, and never a secret in it."""

import io
import json
import logging
import os
from collections.abc import Iterator
from typing import Any

import pytest

from skitter.observability.logs import VARIABLE, hidden, is_json, json_handler, want_json


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handler = json_handler(stream)
    root = logging.getLogger()
    before = root.level
    root.addHandler(handler)
    root.setLevel(logging.INFO)
    yield stream
    root.removeHandler(handler)
    root.setLevel(before)


def said(stream: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in stream.getvalue().splitlines()]


def test_each_thing_that_is_said_is_one_line_with_its_facts(stream: io.StringIO) -> None:
    log = logging.getLogger("skitter.test")
    log.warning("line one\nline %d ☂", 2, extra={"host": "a.example", "n": 3})
    [line] = said(stream)
    assert line["event"] == "line one\nline 2 ☂"
    assert (line["level"], line["logger"]) == ("warning", "skitter.test")
    assert (line["host"], line["n"], line["pid"]) == ("a.example", 3, os.getpid())
    assert line["time"].endswith("Z")


def test_what_went_wrong_is_in_the_same_line(stream: io.StringIO) -> None:
    try:
        int("token=abc")
    except ValueError:
        logging.getLogger("skitter.test").exception("it broke")
    [line] = said(stream)
    assert "token=***" in line["exception"]


def test_others_are_heard_when_they_warn(stream: io.StringIO) -> None:
    for name in ("skitter.a", "some.library"):
        logging.getLogger(name).info("hello")
        logging.getLogger(name).warning("careful")
        logging.getLogger(name).debug("detail")
    assert [(line["logger"], line["event"]) for line in said(stream)] == [
        ("skitter.a", "hello"),
        ("skitter.a", "careful"),
        ("some.library", "careful"),
    ]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Authorization: Bearer abc.DEF-1", "Authorization: Bearer ***"),
        ("redis://user:word@host:6379/0", "redis://***@host:6379/0"),
        ("postgresql://me:p%40ss@db/x failed", "postgresql://***@db/x failed"),
        ("GET /v1/events?access_token=abc&job=a", "GET /v1/events?access_token=***&job=a"),
        ("SKITTER_TOKEN=abcdef, next", "SKITTER_TOKEN=***, next"),
        ("https://a.example/page@home", "https://a.example/page@home"),
        ("tokens of a page", "tokens of a page"),
    ],
)
def test_secrets_are_taken_out(text: str, shown: str) -> None:
    assert hidden(text) == shown


def test_a_field_with_the_name_of_a_secret_is_hidden(stream: io.StringIO) -> None:
    logging.getLogger("skitter").warning("x", extra={"token": "abc", "webhook_secret": "def"})
    [line] = said(stream)
    assert (line["token"], line["webhook_secret"]) == ("***", "***")


def test_the_choice_goes_on_to_other_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "")
    want_json(wanted=None)
    assert not is_json()
    want_json(wanted=True)
    assert is_json()
    assert is_json(os.environ)
    want_json(wanted=False)
    assert not is_json({VARIABLE: os.environ[VARIABLE]})
