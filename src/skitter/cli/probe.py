"""``skitter probe``: one component at a time, JSON lines in, JSON lines out.

Every input line gets exactly one answer line, in order, so that answers can be matched to
questions by counting; a line that cannot be answered gets an ``error``.
"""

import json
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Annotated, BinaryIO, Literal, get_args

import typer

from skitter.cli.examples import examples
from skitter.cli.report import BAD_INPUT, OK
from skitter.errors import SkitterError

Kind = Literal["url", "robots", "links", "article", "encoding", "sitemap"]
Question = dict[str, object]
Answerer = Callable[[Question], dict[str, object]]

_CHUNK_BYTES = 256 * 1024

EXAMPLES = examples(
    """echo '{"input": "../b?x=1#top", "base": "HTTP://Example.com/a/"}' | skitter probe url""",
    """echo '{"robots_txt": "User-agent: *\\nDisallow: /x", "agent": "me", "url": "/x"}' """
    "| skitter probe robots",
    """echo '{"path": "page.html", "url": "https://example.com/"}' | skitter probe links""",
    """echo '{"path": "page.html", "url": "https://example.com/"}' | skitter probe article""",
    """echo '{"path": "page.html", "content_type": "text/html"}' | skitter probe encoding""",
    """echo '{"path": "sitemap.xml.gz", "url": "https://example.com/sitemap.xml.gz"}' """
    "| skitter probe sitemap",
)


def probe(kind: Annotated[Kind, typer.Argument(metavar="KIND", help="What to ask about.")]) -> None:
    """Answer questions about one component: JSON lines in, JSON lines out, in order.

    url: {"input", "base"} -> href, canonical form, host, registered domain

    robots: {"robots_txt", "agent", "url"} -> allowed, crawl_delay, sitemaps

    links: {"html" or "path", "url"} -> links with text and rel, base, canonical, robots

    article: {"html" or "path", "url"} -> title, text, author, published, description, image,
    language, class ("data" for contents, "nav" for a page of links)

    encoding: {"b64" or "path", "content_type"} -> WHATWG name of the encoding

    sitemap: {"b64" or "path", "url"} -> urls with lastmod and priority, sitemaps, kind, problem

    A line that is not a question is answered with {"error": ...}, and the exit code is 2.
    """
    assert kind in get_args(Kind)
    answer: Answerer = import_module(f"skitter.cli.probes.{kind}").answer
    raise typer.Exit(answer_lines(answer, sys.stdin.buffer, sys.stdout.buffer))


def answer_lines(answer: Answerer, source: BinaryIO, target: BinaryIO) -> int:
    """Answer every line of ``source``; return the exit code."""
    code = OK
    number = 0
    for lines in _arriving(source):
        for line in lines:
            number += 1
            reply = _reply(answer, line, number)
            if reply.keys() == {"error"}:
                code = BAD_INPUT
            target.write(_encoded(reply))
        # Whoever asks one question at a time waits for the answer before the next one.
        target.flush()
    return code


def _arriving(source: BinaryIO) -> Iterator[list[bytes]]:
    """Yield the lines that are there, as soon as they are there."""
    read = getattr(source, "read1", source.read)
    rest: list[bytes] = []
    while chunk := read(_CHUNK_BYTES):
        *lines, last = chunk.split(b"\n")
        if lines:
            lines[0] = b"".join([*rest, lines[0]])
            rest = []
            yield lines
        rest.append(last)
    if final := b"".join(rest):
        yield [final]


def _reply(answer: Answerer, line: bytes, number: int) -> dict[str, object]:
    try:
        question = json.loads(line)
    except (ValueError, RecursionError):
        return {"error": f"line {number}: wanted a JSON object"}
    if not isinstance(question, dict):
        return {"error": f"line {number}: wanted a JSON object"}
    try:
        return answer(question)
    except (SkitterError, KeyError, TypeError, ValueError, OSError) as error:
        return {"error": f"line {number}: {_told(error)}"}


def _told(error: Exception) -> str:
    match error:
        case KeyError():
            return f"{error.args[0]}: missing"
        case OSError(filename=str(name), strerror=str(why)):
            return f"{name}: {why}"
        case _:
            return str(error) or type(error).__name__


def _encoded(reply: dict[str, object]) -> bytes:
    text = json.dumps(reply, ensure_ascii=False)
    try:
        return text.encode() + b"\n"
    except UnicodeEncodeError:
        # A lone surrogate has no UTF-8 form; its JSON escape says the same.
        return json.dumps(reply).encode() + b"\n"
