import gzip
import zlib

import brotli
import pytest
from backports import zstd

from skitter.demo.build import demo_web
from skitter.demo.model import Answer, Delivery, Page, Prose, Target
from skitter.demo.wire import TRICKLE_PIECES, Asked, End, Reply, reply_to, robots_page

WEB = demo_web().at_port(8123)
HERE = Target("lab", "/here")


def reply(answer: Answer, asked: Asked | None = None) -> Reply:
    page = Page(at=HERE, title="Here", blocks=(Prose(("text " * 200,)),), answer=answer)
    return reply_to(WEB, page, asked or Asked())


def split(reply: Reply) -> tuple[dict[str, str], bytes]:
    head, _, body = b"".join(reply.pieces).partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")[1:]
    return dict(line.split(": ", 1) for line in lines), body


def test_a_plain_page_has_a_true_length_and_keeps_the_connection() -> None:
    got = reply(Answer())
    headers, body = split(got)
    assert got.status == 200
    assert got.end is End.KEEP
    assert headers["Content-Length"] == str(len(body))
    assert headers["Content-Type"] == "text/html; charset=utf-8"


@pytest.mark.parametrize(
    ("coding", "unpack"),
    [("gzip", gzip.decompress), ("deflate", zlib.decompress), ("br", brotli.decompress),
     ("zstd", zstd.decompress)],
)  # fmt: skip
def test_a_packed_page_is_packed_only_for_who_accepts_it(coding: str, unpack: object) -> None:
    assert callable(unpack)
    plain = split(reply(Answer(coding=coding)))[1]
    headers, packed = split(reply(Answer(coding=coding), Asked(accept_encoding=f"x, {coding}")))
    assert headers["Content-Encoding"] == coding
    assert unpack(packed) == plain
    assert len(packed) < len(plain)


def test_a_known_etag_is_answered_without_a_body() -> None:
    headers, _ = split(reply(Answer()))
    again = reply(Answer(), Asked(if_none_match=headers["ETag"]))
    assert again.status == 304
    assert split(again)[1] == b""


def test_a_head_request_gets_the_headers_alone() -> None:
    headers, body = split(reply(Answer(), Asked(head_only=True)))
    assert body == b""
    assert int(headers["Content-Length"]) > 0


def test_passing_errors_come_first_and_say_when_to_return() -> None:
    answer = Answer(first=(429, 503), retry_after_s=1)
    answers = [reply(answer, Asked(attempt=n)) for n in (1, 2, 3)]
    assert [got.status for got in answers] == [429, 503, 200]
    assert split(answers[0])[0]["Retry-After"] == "1"
    assert "Retry-After" not in split(answers[2])[0]


def test_a_redirect_names_its_goal_in_full_or_as_it_is_written() -> None:
    goal = Target("docs", "/stable/")
    headers, _ = split(reply(Answer(status=301, location=goal)))
    assert headers["Location"] == "http://docs.demo.test:8123/stable/"
    written = Answer(status=301, location=goal, location_as="../there")
    assert split(reply(written))[0]["Location"] == "../there"
    assert "Location" not in split(reply(Answer(status=302)))[0]


@pytest.mark.parametrize(
    ("delivery", "difference"),
    [(Delivery.LONG_LENGTH, 64), (Delivery.SHORT_LENGTH, -64)],
)
def test_a_wrong_length_is_wrong_and_the_connection_ends(
    delivery: Delivery, difference: int
) -> None:
    got = reply(Answer(delivery=delivery))
    headers, body = split(got)
    assert int(headers["Content-Length"]) == len(body) + difference
    assert got.end is End.CLOSE


def test_chunks_end_properly_or_are_cut() -> None:
    whole, cut = (
        reply(Answer(delivery=Delivery.CHUNKED)),
        reply(Answer(delivery=Delivery.CHUNKS_CUT)),
    )
    assert b"".join(whole.pieces).endswith(b"\r\n0\r\n\r\n")
    assert whole.end is End.KEEP
    assert not b"".join(cut.pieces).endswith(b"0\r\n\r\n")
    assert cut.end is End.CLOSE


def test_a_cut_gzip_stream_cannot_be_read_to_its_end() -> None:
    headers, body = split(reply(Answer(delivery=Delivery.GZIP_CUT)))
    assert headers["Content-Encoding"] == "gzip"
    assert headers["Content-Length"] == str(len(body))
    with pytest.raises(EOFError):
        gzip.decompress(body)


def test_the_other_faults_are_what_they_say() -> None:
    assert reply(Answer(delivery=Delivery.CLOSE)) == Reply(status=0, end=End.CLOSE)
    assert reply(Answer(delivery=Delivery.RESET)).end is End.RESET
    assert not reply(Answer(delivery=Delivery.BAD_STATUS_LINE)).pieces[0].startswith(b"HTTP/")
    assert len(reply(Answer(delivery=Delivery.HUGE_HEADERS)).pieces[0]) > 100_000
    assert "Content-Length" not in split(reply(Answer(delivery=Delivery.UNTIL_CLOSE)))[0]
    assert not split(reply(Answer(delivery=Delivery.NOT_GZIP)))[1].startswith(b"\x1f\x8b")
    trickle = reply(Answer(delivery=Delivery.TRICKLE))
    assert len(trickle.pieces) == TRICKLE_PIECES + 1
    assert trickle.gap_s > 0


def test_a_robots_file_may_be_missing_moved_or_marked() -> None:
    assert robots_page(WEB, Target("www", "/robots.txt")) is None
    moved = robots_page(WEB, Target("docs", "/robots.txt"))
    assert moved is not None
    assert moved.answer.location is not None
    there = robots_page(WEB, moved.answer.location)
    assert there is not None
    assert there.answer.body is not None
    assert b"Disallow: /search" in there.answer.body
    marked = robots_page(WEB, Target("lab", "/robots.txt"))
    assert marked is not None
    assert marked.answer.body is not None
    assert marked.answer.body.startswith(b"\xef\xbb\xbfUser-agent")
    assert robots_page(WEB, Target("lab", "/other")) is None
