"""A news site that publishes while it is crawled: a front page, sections, articles, a feed.

The front page and the sections have a validator, so that they can be asked for on condition; the
section "sport" has none and shows a clock.
"""

import random
import threading
import time
from http.server import BaseHTTPRequestHandler
from types import TracebackType
from typing import NamedTuple, Self

from serving import BusyServer

SECTIONS = ("world", "sport", "culture")
SHOWN = 12
"""Articles that a section lists; the front page has as many of all of them."""
_WORDS = [
    "council",
    "river",
    "harbour",
    "minister",
    "vote",
    "bridge",
    "winter",
    "report",
    "teachers",
    "hospital",
    "budget",
    "station",
    "market",
    "village",
    "court",
    "harvest",
    "engine",
    "theatre",
    "season",
    "museum",
    "ferry",
    "glacier",
    "wages",
    "committee",
]


class Published(NamedTuple):
    """One article."""

    path: str
    section: str
    title: str
    body: str


class Asked(NamedTuple):
    """One request that the server got."""

    at: float
    path: str
    status: int


class Newsroom:
    """Serves the site while its ``with`` block runs; ``publish`` adds an article at any time."""

    def __init__(self, articles: int = 6, *, seed: int = 1) -> None:
        self._random = random.Random(seed)
        self._lock = threading.Lock()
        self.articles: list[Published] = []
        self.log: list[Asked] = []
        for number in range(articles):
            self.publish(SECTIONS[number % len(SECTIONS)])
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.room = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self._server.server_port}{path}"

    def publish(self, section: str = "world") -> Published:
        """Add an article; from now on the front page and its section list it first."""
        number = 4200 + len(self.articles)
        words = self._random.sample(_WORDS, 5)
        title = f"{' '.join(words).capitalize()} {number}"
        path = f"/{section}/2026/11/16/{'-'.join(words)}-{number}.html"
        sentences = [
            f"The {' and the '.join(self._random.sample(_WORDS, 2))} were spoken of for the whole"
            f" of the {self._random.choice(_WORDS)}, said people who had been there."
            for _ in range(18)
        ]
        body = "".join(f"<p>{' '.join(sentences[at : at + 3])}</p>" for at in range(0, 18, 3))
        article = Published(path, section, title, body)
        with self._lock:
            self.articles.append(article)
        return article

    def asked(self, path: str) -> list[Asked]:
        """Return the requests for a path."""
        with self._lock:
            return [one for one in self.log if one.path == path]

    def answer(self, path: str, condition: str | None) -> tuple[int, str, str | None, str]:
        """Return status, type, validator and body for a request."""
        with self._lock:
            status, kind, tag, body = self._page(path)
            if tag is not None and tag == condition:
                status, body = 304, ""
            self.log.append(Asked(time.time(), path, status))
        return status, kind, tag, body

    def _page(self, path: str) -> tuple[int, str, str | None, str]:
        found = next((one for one in self.articles if one.path == path), None)
        html = "text/html; charset=utf-8"
        if path == "/robots.txt":
            return 200, "text/plain", None, "User-agent: *\nAllow: /\n"
        if path in ("/feed.xml", "/sitemap.xml"):
            body = self._feed() if path == "/feed.xml" else self._sitemap()
            return 200, "application/xml", self._tag("feed"), body
        if found is not None:
            return 200, html, None, self._article(found)
        if path == "/moved":
            return 301, html, None, ""
        section = path.strip("/")
        if section and section not in SECTIONS:
            return 404, html, None, "<h1>Not found</h1>"
        tag = None if section == "sport" else self._tag(section)
        return 200, html, tag, self._list(section)

    def _tag(self, name: str) -> str:
        return f'"{name}-{len(self._of(name))}"'

    def _of(self, section: str) -> list[Published]:
        return [one for one in self.articles if section in ("", "feed", one.section)]

    def _list(self, section: str) -> str:
        shown = reversed(self._of(section)[-SHOWN:])
        items = "".join(f'<li><a href="{one.path}">{one.title}</a></li>' for one in shown)
        clock = f"<span>{time.time()}</span>" if section == "sport" else ""
        return self._framed(section.capitalize() or "The Gazette", f"{clock}<ul>{items}</ul>")

    def _article(self, article: Published) -> str:
        head = (
            f'<meta property="og:title" content="{article.title}">'
            '<meta property="og:type" content="article">'
            '<meta property="article:published_time" content="2026-11-16T08:00:00+01:00">'
            '<meta name="author" content="Ada Quill">'
        )
        inner = f"<article><h1>{article.title}</h1>{article.body}</article>"
        return self._framed(article.title, inner, head)

    def _framed(self, title: str, inner: str, head: str = "") -> str:
        menu = "".join(f'<a href="/{name}/">{name}</a> ' for name in SECTIONS)
        return (
            f'<!doctype html><html lang="en"><head><title>{title}</title>{head}</head>'
            f'<body><nav><a href="/">Home</a> {menu}</nav><main>{inner}</main>'
            "<footer>The Gazette</footer></body></html>"
        )

    def _feed(self) -> str:
        items = "".join(
            f"<item><title>{one.title}</title><link>{self.url(one.path)}</link></item>"
            for one in reversed(self.articles[-SHOWN:])
        )
        return f'<?xml version="1.0"?><rss version="2.0"><channel>{items}</channel></rss>'

    def _sitemap(self) -> str:
        urls = "".join(f"<url><loc>{self.url(one.path)}</loc></url>" for one in self.articles)
        return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


class _Server(BusyServer):
    room: Newsroom
    daemon_threads = True


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 60

    def do_GET(self) -> None:
        server = self.server
        assert isinstance(server, _Server)
        given = self.headers.get("If-None-Match")
        status, kind, tag, body = server.room.answer(self.path, given)
        data = body.encode()
        self.send_response(status)
        if status == 301:
            self.send_header("Location", "/")
        if tag is not None:
            self.send_header("ETag", tag)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Say nothing."""
