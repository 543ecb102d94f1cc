"""Captures to archive, and other people's tools to read them with."""

import gzip
import subprocess
import sys
from pathlib import Path

from skitter.pipeline.archive.model import Capture, Original

AT_MS = 1_763_269_047_123
BIN = Path(sys.executable).parent


def capture(
    url: str = "https://www.example.com/a",
    body: bytes = b"<p>hello</p>",
    *,
    at_ms: int = AT_MS,
    status: str = "200 OK",
    headers: str = "Content-Type: text/html; charset=utf-8",
    truncated: str = "",
    fields: dict[str, str] | None = None,
    original: Original | None = None,
) -> Capture:
    """Return an exchange; the length of the body is said unless ``headers`` frame it."""
    framing = "" if "Transfer-Encoding" in headers else f"Content-Length: {len(body)}\r\n"
    head = f"HTTP/1.1 {status}\r\n{headers}\r\n{framing}\r\n".encode()
    return Capture(
        url=url,
        at_ms=at_ms,
        request=b"GET / HTTP/1.1\r\nHost: www.example.com\r\n\r\n",
        response=head + body,
        head_bytes=len(head),
        address="192.0.2.7",
        truncated=truncated,
        fields={"via": "https://www.example.com/"} if fields is None else fields,
        original=original,
    )


def chunked(*pieces: bytes) -> bytes:
    """Return pieces framed as chunks."""
    framed = (b"%x\r\n%b\r\n" % (len(piece), piece) for piece in pieces)
    return b"".join(framed) + b"0\r\n\r\n"


def every_kind() -> list[Capture]:
    """Return one capture of each kind a crawl meets, the last one a repeat of the first."""
    site = "https://www.example.com"
    packed = gzip.compress(b"<p>packed</p>" * 50, mtime=0)
    framed = "Content-Type: text/html\r\nTransfer-Encoding: chunked"
    return [
        capture(f"{site}/plain", at_ms=AT_MS),
        capture(f"{site}/chunked", chunked(b"<p>", b"in chunks"), headers=framed, at_ms=AT_MS + 1),
        capture(
            f"{site}/packed",
            packed,
            headers="Content-Type: text/html\r\nContent-Encoding: gzip",
            at_ms=AT_MS + 2,
        ),
        capture(
            f"{site}/both",
            chunked(packed[:20], packed[20:]),
            headers=f"{framed}\r\nContent-Encoding: gzip",
            at_ms=AT_MS + 3,
        ),
        capture(f"{site}/cut", b"<p>only a pa", truncated="length", at_ms=AT_MS + 4),
        capture(
            f"{site}/cut-chunk", b"ff\r\nonly a", headers=framed, truncated="disconnect", fields={}
        ),
        capture(f"{site}/gone", b"no such page", status="404 Not Found", at_ms=AT_MS + 5),
        capture(
            f"{site}/moved",
            b"",
            status="301 Moved Permanently",
            headers="Location: https://www.example.com/plain",
            at_ms=AT_MS + 6,
        ),
        capture("http://www.example.com:8080/?B=2&a=%E4%BD%A0", b"odd", headers="X-Type: none"),
        capture(f"{site}/again", at_ms=AT_MS + 5000),
    ]


def run_tool(*command: str) -> str:
    """Run a tool of the test environment and return what it says; it must succeed."""
    done = subprocess.run(
        [str(BIN / command[0]), *command[1:]], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def check_with_tools(path: Path) -> int:
    """Check a WARC file with warcio and fastwarc; return how many records have passed."""
    if path.suffix != ".zst":
        said = run_tool("warcio", "check", "-v", str(path))
        assert "fail" not in said.lower(), said
    said = run_tool("fastwarc", "check", "--quiet", "-o", "/dev/stdout", str(path))
    verdicts = [line.rpartition(": ")[2] for line in said.splitlines()]
    assert set(verdicts) <= {"OK"}, said
    return len(verdicts)


def warcs_in(directory: Path) -> list[Path]:
    """Return the WARC files there, in order."""
    return sorted(path for path in directory.iterdir() if ".warc" in path.suffixes)
