"""Taking a stored HTTP response apart."""

import pytest
from archiving import chunked
from hypothesis import given
from hypothesis import strategies as st

from skitter.pipeline.archive import message

HEAD = b"HTTP/1.1 404 Not Found\r\ncontent-TYPE :  text/html; charset=x \r\nX: y\r\n\r\n"


def test_head_and_body_are_parted_at_the_blank_line() -> None:
    assert message.split(HEAD + b"a\r\n\r\nb") == (HEAD, b"a\r\n\r\nb")
    assert message.split(b"HTTP/1.0 200 OK\nA: b\n\nbody") == (
        b"HTTP/1.0 200 OK\nA: b\n\n",
        b"body",
    )
    assert message.split(b"HTTP/1.0 200 OK") == (b"HTTP/1.0 200 OK", b"")


def test_status_and_type_are_read_from_the_head() -> None:
    assert message.status_of(HEAD) == "404"
    assert message.content_type(HEAD) == "text/html; charset=x"
    assert message.status_of(b"nonsense") == message.content_type(b"nonsense") == ""
    assert message.content_encoding(b"HTTP/1.1 200\r\nContent-Encoding: GZIP\r\n\r\n") == "gzip"


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=5))
def test_chunks_are_undone(pieces: list[bytes]) -> None:
    assert message.unchunked(chunked(*pieces)) == b"".join(pieces)


@given(st.lists(st.binary(min_size=1, max_size=40), max_size=5), st.integers(0, 200))
def test_chunks_that_break_off_give_what_came(pieces: list[bytes], cut: int) -> None:
    assert b"".join(pieces).startswith(message.unchunked(chunked(*pieces)[:cut]))


@pytest.mark.parametrize("body", [b"", b"zz\r\n", b"-5\r\nabcde\r\n", b"fffffffffffffffff\r\nx"])
def test_what_is_not_in_chunks_gives_nothing(body: bytes) -> None:
    assert message.unchunked(body) == b""


def test_extensions_and_trailers_of_chunks_are_left_out() -> None:
    assert message.unchunked(b"3;name=v\r\nabc\r\n0\r\nTrailer: x\r\n\r\n") == b"abc"
