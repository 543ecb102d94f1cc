"""A replay tool shows archived pages by the index that was written beside them."""

import json
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from archiving import AT_MS, capture, every_kind
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from replaying import Replay, install, run_in_pywb

from skitter.pipeline.archive.model import Capture
from skitter.pipeline.archive.names import Compression
from skitter.pipeline.archive.surt import surt_key
from skitter.pipeline.archive.writer import Archive

pytestmark = pytest.mark.e2e

KEYS = """
import json, sys
from pywb.utils.canonicalize import canonicalize
print(json.dumps([canonicalize(url) for url in json.load(sys.stdin)]))
"""


@pytest.fixture(scope="session", autouse=True)
def pywb() -> None:
    install()


async def stored(place: Path, captures: list[Capture], compression: Compression = "gzip") -> None:
    archive = Archive(place, job="replay", compression=compression, max_file_bytes=2500)
    await archive.open(None)
    for one in captures:
        await archive.write([one])
    await archive.close()


@pytest.fixture
async def replay(tmp_path: Path) -> AsyncIterator[Replay]:
    (tmp_path / "work").mkdir()
    site = "https://www.example.com"
    page = b'<html><body><a href="/plain">plain</a></body></html>'
    captures = [*every_kind(), capture(f"{site}/page?b=1&a=2", page, at_ms=AT_MS + 9)]
    await stored(tmp_path / "warcs", captures)
    with Replay(tmp_path / "warcs", tmp_path / "work") as running:
        yield running


def test_pages_are_shown_as_they_were_archived(replay: Replay) -> None:
    site = "https://www.example.com"
    for path, body in [
        ("plain", b"<p>hello</p>"),
        ("chunked", b"<p>in chunks"),
        ("cut", b"<p>only a pa"),
        ("packed", b"<p>packed</p>" * 50),
        ("both", b"<p>packed</p>" * 50),
    ]:
        assert body in replay.get(f"mp_/{site}/{path}").body, path
    rewritten = replay.get(f"mp_/{site}/page?a=2&b=1").body
    assert b'href="/c/mp_/https://www.example.com/plain"' in rewritten
    assert replay.get("id_/http://www.example.com:8080/?a=%E4%BD%A0&B=2").body == b"odd"


def test_a_revisit_shows_the_payload_of_its_original(replay: Replay) -> None:
    shown = replay.get("20251116045732id_/https://www.example.com/again")
    assert (shown.status, shown.body) == (200, b"<p>hello</p>")


def test_redirects_and_errors_are_shown_as_such(replay: Replay) -> None:
    moved = replay.get("mp_/https://www.example.com/moved")
    assert moved.status == 301
    assert moved.location.endswith("mp_/https://www.example.com/plain")
    gone = replay.get("id_/https://www.example.com/gone")
    assert (gone.status, gone.body) == (404, b"no such page")
    assert b"no such page" not in replay.get("id_/https://www.example.com/never").body


@pytest.mark.parametrize("compression", ["gzip", "none"])
async def test_the_index_is_the_one_the_tool_would_make(
    tmp_path: Path, compression: Compression
) -> None:
    odd = [
        capture("https://www.example.com/no-type", b"1", headers="Server: x"),
        capture("https://www.example.com/Ünicode?ß", b"2", headers="Content-Type: text/plain ;x"),
    ]
    await stored(tmp_path, [*every_kind(), *odd], compression)
    indexes = sorted(tmp_path.glob("*.cdxj"))
    assert len(indexes) > 2
    for index in indexes:
        [warc] = tmp_path.glob(f"{index.stem}.warc*")
        assert index.read_text() == run_in_pywb("cdx-indexer", "-j", "-s", warc)


HOSTS = st.sampled_from(
    ["example.com", "www.example.com", "WWW3.x.co.uk", "127.0.0.1", "[::1]", "localhost", "www"]
)
PORTS = st.sampled_from(["", ":80", ":443", ":8080"])
BITS = st.sampled_from(
    [
        *"aB/?&=;+~|()'.@:[]é%",
        *("//", "/./", "/../", "%20", "%2F", "%E4%BD%A0", "%C3", "%25"),
        *(f"jsessionid={'0' * 32}", f"sid={'F' * 32}", "cfid=1&cftoken=2"),
        f"({'a' * 24})/x.aspx",
    ]
)
URLS = st.builds(
    lambda scheme, host, port, bits: f"{scheme}://{host}{port}/{''.join(bits)}",
    st.sampled_from(["http", "https"]),
    HOSTS,
    PORTS,
    st.lists(BITS, max_size=8),
)


@settings(max_examples=3, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(URLS, min_size=100, max_size=300))
def test_keys_are_those_the_tool_computes(urls: list[str]) -> None:
    theirs = json.loads(run_in_pywb("python", "-W", "ignore", "-c", KEYS, given=json.dumps(urls)))
    assert [surt_key(url) for url in urls] == theirs
