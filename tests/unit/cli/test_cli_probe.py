"""Probes: one answer a line, in order, whatever the lines are."""

import io
import json
import os
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.cli.probe import answer_lines
from skitter.cli.report import BAD_INPUT, OK
from skitter.errors import ConfigError


def echo(question: dict[str, object]) -> dict[str, object]:
    match question.get("do"):
        case "config":
            raise ConfigError("url: missing; wanted a string")
        case "key":
            raise KeyError("html")
        case "file":
            raise FileNotFoundError(2, "No such file or directory", "x.html")
        case _:
            return {"echo": question}


def asked(data: bytes) -> tuple[list[dict[str, object]], int]:
    target = io.BytesIO()
    code = answer_lines(echo, io.BytesIO(data), target)
    return [json.loads(line) for line in target.getvalue().splitlines()], code


def test_every_question_gets_its_answer_in_order() -> None:
    answers, code = asked(b'{"n": 1}\n{"n": 2}\n{"n": "\xc3\xbc"}')
    assert answers == [{"echo": {"n": 1}}, {"echo": {"n": 2}}, {"echo": {"n": "ü"}}]
    assert code == OK


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        (b"nonsense", "line 2: wanted a JSON object"),
        (b"", "line 2: wanted a JSON object"),
        (b"[1]", "line 2: wanted a JSON object"),
        (b"\xff", "line 2: wanted a JSON object"),
        (b"[" * 100_000, "line 2: wanted a JSON object"),
        (b'{"do": "config"}', "line 2: url: missing; wanted a string"),
        (b'{"do": "key"}', "line 2: html: missing"),
        (b'{"do": "file"}', "line 2: x.html: No such file or directory"),
    ],
)
def test_a_bad_line_is_answered_with_an_error_and_the_rest_stays_aligned(
    line: bytes, complaint: str
) -> None:
    answers, code = asked(b'{"n": 1}\n' + line + b'\n{"n": 3}\n')
    assert answers == [{"echo": {"n": 1}}, {"error": complaint}, {"echo": {"n": 3}}]
    assert code == BAD_INPUT


def test_no_question_is_no_failure() -> None:
    assert asked(b"") == ([], OK)


def test_a_lone_surrogate_comes_back_as_it_went_in() -> None:
    answers, _ = asked(b'{"n": "\\ud800"}\n')
    assert answers == [{"echo": {"n": "\ud800"}}]


class Dribble(io.RawIOBase):
    """Gives its content out in pieces of the sizes it was told."""

    def __init__(self, content: bytes, sizes: list[int]) -> None:
        self._content = content
        self._sizes = iter(sizes)

    def readable(self) -> bool:
        return True

    def read1(self, size: int) -> bytes:
        amount = min(next(self._sizes, size), size)
        piece, self._content = self._content[:amount], self._content[amount:]
        return piece


@given(
    st.lists(st.one_of(st.just(b""), st.just(b"x"), st.just(b'{"a": 1}')), max_size=20),
    st.lists(st.integers(1, 12)),
)
def test_how_input_is_cut_into_pieces_does_not_matter(lines: list[bytes], sizes: list[int]) -> None:
    data = b"".join(line + b"\n" for line in lines)
    target = io.BytesIO()
    answer_lines(echo, Dribble(data, sizes), target)  # type: ignore[arg-type]
    assert target.getvalue().count(b"\n") == len(lines)


def test_whoever_waits_for_an_answer_before_the_next_question_gets_it() -> None:
    ask_read, ask_write = os.pipe()
    tell_read, tell_write = os.pipe()
    with os.fdopen(ask_read, "rb") as source, os.fdopen(tell_write, "wb") as target:
        worker = threading.Thread(target=answer_lines, args=(echo, source, target))
        worker.start()
        with os.fdopen(tell_read, "rb") as told:
            for number in range(3):
                os.write(ask_write, f'{{"n": {number}}}\n'.encode())
                assert json.loads(told.readline()) == {"echo": {"n": number}}
            os.close(ask_write)
            worker.join()
