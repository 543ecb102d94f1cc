"""From a page's facts to the bytes that travel: status line, headers, body, and how it ends."""

import gzip
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from http import HTTPStatus

import brotli
import xxhash
from backports import zstd

from skitter.demo.html import encoded
from skitter.demo.listing import listing_bytes
from skitter.demo.model import Answer, Delivery, Page, Target
from skitter.demo.web import Web

TRICKLE_PIECES = 6
TRICKLE_GAP_S = 0.2
_HUGE_HEADER_BYTES = 200_000
_MISSED_BYTES = 64
_PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": lambda body: gzip.compress(body, 6, mtime=0),
    "deflate": zlib.compress,
    "br": lambda body: bytes(brotli.compress(body, quality=5)),
    "zstd": zstd.compress,
}


class End(Enum):
    """What becomes of the connection after the last byte."""

    KEEP = auto()
    CLOSE = auto()
    RESET = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """Everything the server does for one request."""

    status: int
    """0 where the connection ends without a status line."""
    pieces: tuple[bytes, ...] = ()
    wait_s: float = 0.0
    gap_s: float = 0.0
    end: End = End.KEEP


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What matters of one request."""

    attempt: int = 1
    """How often this page has been asked for, this time included."""
    accept_encoding: str = ""
    if_none_match: str = ""
    head_only: bool = False


def reply_to(web: Web, page: Page, asked: Asked) -> Reply:
    """Return what the server does when ``page`` is asked for."""
    answer = page.answer
    if asked.attempt <= len(answer.first):
        return _passing_error(answer, answer.first[asked.attempt - 1])
    if answer.delivery is Delivery.CLOSE:
        return Reply(status=0, end=End.CLOSE)
    if answer.delivery is Delivery.BAD_STATUS_LINE:
        return Reply(status=0, pieces=(b"AHOY, HARBOUR!\r\n\r\n",), end=End.CLOSE)
    body = _body(web, page)
    headers = _headers(web, page)
    if answer.status == 200:
        tag = f'"{xxhash.xxh3_64_hexdigest(body)}"'
        headers.append(("ETag", tag))
        if asked.if_none_match == tag:
            return Reply(status=304, pieces=(_head(304, headers),))
    if answer.coding and answer.coding in asked.accept_encoding:
        body = _PACKERS[answer.coding](body)
        headers += [("Content-Encoding", answer.coding), ("Vary", "Accept-Encoding")]
    if asked.head_only:
        return Reply(status=answer.status, pieces=(_whole(answer.status, headers, body)[0],))
    return _delivered(answer, headers, body)


def robots_page(web: Web, target: Target) -> Page | None:
    """Return what ``target`` serves as its site's robots.txt; None where it is another page."""
    robots = web.sites[target.site].robots
    if robots.missing or target.path not in {"/robots.txt", robots.moved_to}:
        return None
    if robots.moved_to and target.path == "/robots.txt":
        goal = Target(target.site, robots.moved_to)
        return Page(at=target, answer=Answer(status=301, location=goal))
    text = robots.text(f"http://{web.host_key(target.site)}").encode()
    return Page(at=target, answer=Answer(media_type="text/plain", body=text))


def _body(web: Web, page: Page) -> bytes:
    if page.answer.body is not None:
        return page.answer.body
    if page.listing is not None:
        return listing_bytes(web, page.at, page.listing)
    if 300 <= page.answer.status < 400:
        return b"Moved.\n"
    return encoded(web, web.page(page.twin_of) if page.twin_of else page)


def _headers(web: Web, page: Page) -> list[tuple[str, str]]:
    answer = page.answer
    media_type = answer.media_type
    if page.charset.header and answer.body is None and page.listing is None:
        media_type += f"; charset={page.charset.header}"
    headers = [("Content-Type", media_type), *answer.headers]
    if answer.location_as is not None:
        headers.append(("Location", answer.location_as))
    elif answer.location is not None:
        headers.append(("Location", web.url(answer.location)))
    if page.robots_header:
        headers.append(("X-Robots-Tag", page.robots_header))
    return headers


def _passing_error(answer: Answer, status: int) -> Reply:
    headers = [("Content-Type", "text/plain")]
    if answer.retry_after_s is not None:
        headers.append(("Retry-After", str(answer.retry_after_s)))
    return Reply(status=status, pieces=_whole(status, headers, b"Come back later.\n"))


def _delivered(answer: Answer, headers: list[tuple[str, str]], body: bytes) -> Reply:
    status, wait_s = answer.status, answer.wait_s
    match answer.delivery:
        case Delivery.TRICKLE:
            pieces = _whole(status, headers, body, pieces=TRICKLE_PIECES)
            return Reply(status=status, pieces=pieces, gap_s=TRICKLE_GAP_S)
        case Delivery.CHUNKED | Delivery.CHUNKS_CUT:
            return _chunked(status, headers, body, cut=answer.delivery is Delivery.CHUNKS_CUT)
        case Delivery.UNTIL_CLOSE:
            head = _head(status, [*headers, ("Connection", "close")])
            return Reply(status=status, pieces=(head, body), end=End.CLOSE)
        case Delivery.GZIP_CUT | Delivery.NOT_GZIP | Delivery.UNKNOWN_CODING:
            return _mispacked(answer, headers, body)
        case Delivery.RESET | Delivery.LONG_LENGTH | Delivery.SHORT_LENGTH | Delivery.HUGE_HEADERS:
            return _mismeasured(answer, headers, body)
        case _:
            return Reply(status=status, pieces=_whole(status, headers, body), wait_s=wait_s)


def _chunked(status: int, headers: list[tuple[str, str]], body: bytes, *, cut: bool) -> Reply:
    size = len(body) // 3 + 1
    chunks = [body[start : start + size] for start in range(0, len(body), size)]
    framed = [b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in chunks]
    head = _head(status, [*headers, ("Transfer-Encoding", "chunked")])
    last = () if cut else (b"0\r\n\r\n",)
    end = End.CLOSE if cut else End.KEEP
    return Reply(status=status, pieces=(head, *framed, *last), end=end)


def _mispacked(answer: Answer, headers: list[tuple[str, str]], body: bytes) -> Reply:
    coding = "x-seagull" if answer.delivery is Delivery.UNKNOWN_CODING else "gzip"
    if answer.delivery is Delivery.GZIP_CUT:
        packed = gzip.compress(body, 6, mtime=0)
        body = packed[: len(packed) * 2 // 3]
    headers = [*headers, ("Content-Encoding", coding)]
    return Reply(status=answer.status, pieces=_whole(answer.status, headers, body))


def _mismeasured(answer: Answer, headers: list[tuple[str, str]], body: bytes) -> Reply:
    promised, sent, end = len(body), body, End.CLOSE
    match answer.delivery:
        case Delivery.RESET:
            sent, end = body[: len(body) // 2], End.RESET
        case Delivery.LONG_LENGTH:
            promised += _MISSED_BYTES
        case Delivery.SHORT_LENGTH:
            promised -= _MISSED_BYTES
        case _:
            headers = [*headers, ("X-Preface", "a" * _HUGE_HEADER_BYTES)]
    head = _head(answer.status, [*headers, ("Content-Length", str(promised))])
    return Reply(status=answer.status, pieces=(head, sent), end=end)


def _whole(
    status: int, headers: list[tuple[str, str]], body: bytes, *, pieces: int = 1
) -> tuple[bytes, ...]:
    head = _head(status, [*headers, ("Content-Length", str(len(body)))])
    size = len(body) // pieces + 1
    return (head, *(body[start : start + size] for start in range(0, len(body), size)))


def _head(status: int, headers: list[tuple[str, str]]) -> bytes:
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
    lines += [f"{name}: {value}" for name, value in headers]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")
