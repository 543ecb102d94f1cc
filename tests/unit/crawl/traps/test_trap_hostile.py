"""Sites that write what they like: no URL may keep the guard busy, no host may fill its memory."""

import random
import subprocess
import sys
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skitter.crawl.keyword_pattern import fold
from skitter.crawl.traps import atlas as atlas_module
from skitter.crawl.traps import memory
from skitter.crawl.traps.atlas import Atlas
from skitter.crawl.traps.guard import TrapGuard, TrapLimits
from skitter.crawl.traps.limits import LONG_URL, comes_round, too_far, too_long
from skitter.crawl.traps.memory import Family, Host, Strain
from skitter.crawl.traps.parameters import Place
from skitter.crawl.traps.shape import choices, in_order, shape_of
from skitter.crawl.traps.token import is_id, kind_of
from skitter.parse.simhash import Sketch, sketch_of

URL_CHARS = 4_096
TEXT_CHARS = 24_000
SECONDS = 20
ROOT = "http://a.test/"
WITHOUT_LIMITS = TrapLimits(
    max_segments=10_000, max_path_chars=10_000, max_query_chars=10_000, max_params=10_000
)
_ROWS = (
    "_ - a1 %2e / ( ) = & ; . : + 0 9 20 2024 a A aA bcdfg a/ a/a/b/ 12345678901/ 2024/ 2024-05- "
    "s= sid= s=1& sid_ s_- _- _= (s( x=1& y=2024& deadbeef deadbeef- a.b. may- a-b- event/ ~ %20 é"
)
ROWS = _ROWS.split()
STARTS = ["", "s_", "(sid", "x?", "x?s=", "calendar/"]
ENDS = ["", "!", ")x"]


def hostile_urls() -> Iterator[str]:
    """Yield URLs of the greatest length, each a row of one thing between a start and an end."""
    for start in STARTS:
        for end in ENDS:
            for row in ROWS:
                room = URL_CHARS - len(ROOT) - len(start) - len(end)
                yield ROOT + start + (row * room)[:room] + end


def look_at(url: str) -> None:
    """Call everything that takes a URL apart."""
    shape = shape_of(url)
    too_long(url, WITHOUT_LIMITS)
    too_far(shape, 1, WITHOUT_LIMITS)
    comes_round(shape)
    in_order(shape)
    choices(shape)
    Place("").note(shape, permuted=False)
    for piece in (shape.path[1:], shape.query, *shape.path.split("/")[:3], url):
        kind_of(piece)
        kind_of(piece[:80])
        is_id(piece)
    fold(url)
    sketch_of([url], url, [url])


def look_at_all() -> None:
    """Send every hostile URL and text through the guard and its parts."""
    guard = TrapGuard(TrapLimits(), now_ms=lambda: 0)
    open_guard = TrapGuard(WITHOUT_LIMITS, now_ms=lambda: 0)
    for url in hostile_urls():
        look_at(url)
        guard.link(url, found_on=ROOT, depth=1)
        open_guard.link(url, found_on=ROOT, depth=1)
        open_guard.before(url, 1, found_on=ROOT)
        open_guard.explain(url)
    for row in ROWS:
        text = (row * TEXT_CHARS)[:TEXT_CHARS]
        sketch_of([text], ROOT)
        sketch_of([*text], ROOT)


def test_no_url_of_a_stranger_keeps_the_guard_busy() -> None:
    command = "import test_trap_hostile as here; here.look_at_all(); print('done')"
    path = [entry for entry in sys.path if entry]
    run = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {path!r}; {command}"],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert run.stdout.strip() == "done", run.stderr


def test_a_url_beyond_the_limits_is_cut_before_it_is_taken_apart() -> None:
    guard = TrapGuard(TrapLimits(), now_ms=lambda: 0)
    why = guard.link(f"{ROOT}shop/{'_' * 3_900}", found_on=ROOT, depth=1)
    assert why == "a path of more than 1000 characters"
    assert all(len(template) <= LONG_URL for template in guard.cut)


@pytest.mark.parametrize(
    ("piece", "session"),
    [
        ("sid_1ab", True),
        ("SID-1ab", True),
        ("(S(1ab))", True),
        ("session_id-1ab", True),
        ("session_notes_abc", False),
        ("session_notes-2017", False),
        ("sid__abc", False),
        ("sid_=abc", False),
        ("sid-ab", False),
        ("inside-abc", False),
    ],
)
def test_a_session_is_known_by_the_name_before_it(piece: str, session: bool) -> None:
    assert is_id(piece) is session


def held(atlas: Atlas) -> int:
    """Return how many parts are held, counted one by one."""
    return sum(map(held_by, atlas._hosts.values()))


def held_by(host: Host) -> int:
    """Return how many parts of a host are held, counted one by one."""
    return len(host.parts) + sum(len(family.parts) for family in host.families.values())


@pytest.fixture
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(atlas_module, "MAX_PARTS", 400)
    monkeypatch.setattr(atlas_module, "MAX_HOSTS", 4)
    monkeypatch.setattr(atlas_module, "MAX_FAMILIES", 40)
    monkeypatch.setattr(memory, "HOST_FAMILIES", 16)
    monkeypatch.setattr(memory, "HOST_PARTS", 120)
    monkeypatch.setattr(memory, "FAMILY_PARTS", 30)


def read(atlas: Atlas, host: Host, template: str, rng: random.Random, *, idle: bool) -> None:
    """Let the atlas learn a page of ``template``."""
    family = host.families.get(template)
    if family is None or rng.random() < 0.1:
        family = Family(template, Strain(template, 0, idle=int(idle)), "", 0)
        atlas.adopt(host, family)
    parts = {rng.getrandbits(60): 8 for _ in range(rng.randrange(60))}
    atlas.learn(host, family, Sketch(1, parts), [f"/{rng.getrandbits(40)}"])


@pytest.mark.usefixtures("_small")
@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.integers(1, 7))
def test_the_parts_that_are_held_are_counted_and_never_too_many(seed: int, hosts: int) -> None:
    rng, atlas = random.Random(seed), Atlas()
    stale = atlas.host("http://h0.test")
    for _ in range(300):
        host = atlas.host(f"http://h{rng.randrange(hosts)}.test")
        if rng.random() < 0.05:
            host = stale
        read(atlas, host, f"t{rng.randrange(30)}", rng, idle=rng.random() < 0.5)
        assert atlas._parts == held(atlas) <= 400
        assert all(host.kept == held_by(host) for host in atlas._hosts.values())
        assert atlas._families == sum(len(host.families) for host in atlas._hosts.values()) <= 40


@pytest.mark.usefixtures("_small")
def test_a_host_that_says_much_does_not_wipe_what_others_said() -> None:
    rng, atlas = random.Random(1), Atlas()
    small, greedy = atlas.host("http://small.test"), atlas.host("http://greedy.test")
    read(atlas, small, "t", rng, idle=False)
    kept = small.kept
    for number in range(200):
        read(atlas, greedy, f"t{number}", rng, idle=False)
    assert small.kept == kept == held_by(small) > 0
    assert 0 < greedy.kept <= 400 - kept


def test_a_path_with_endless_parameters_is_remembered_briefly() -> None:
    place = Place(ROOT)
    for number in range(500):
        names = (f"{'n' * 30}{'abcdefghij'[number % 10]}{chr(97 + k)}" for k in range(24))
        query = "&".join(f"{name}={number}{'v' * 20}" for name in names)
        place.note(shape_of(f"{ROOT}?{query}"), permuted=False)
    assert len(place.orders) <= 64
    assert len(place.names) <= 64
    assert len(place.partners) <= 88
    assert all(len(met) <= 3 for met in place.partners.values())
