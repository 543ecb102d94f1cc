"""The sets of known and ended URLs, on real servers and against plain Python sets."""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import redis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stores import RedisServer, shared_redis, start_redis

from skitter.errors import ConfigError
from skitter.frontier.embedded.seen.sizing import Shape
from skitter.frontier.model import SeenOptions
from skitter.frontier.redis import sets
from skitter.frontier.redis.keys import Keys, signed, unsigned
from skitter.frontier.redis.sets import seen_fields
from skitter.types import Fingerprint, JobNumber
from skitter.url.partition import TAGS

JOB = JobNumber(7)
TAG = 3
EXTREMES = [0, 1, 5, 999_999_999, 10**9, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 1, 2**64 - 10**9]

CALLS = """
local verbs = {
  set_has = set_has, set_add = set_add, set_del = set_del,
  seen_has = function(P, _, job, fp) return seen_has(P, job, fp) end,
  seen_add = function(P, _, job, fp) return seen_add(P, job, fp) end,
  seen_del = function(P, _, job, fp) return seen_del(P, job, fp) end,
}
redis.register_function('sets_test', function(keys, args)
  sets_begin()
  local answers = {}
  for at = 3, #args, 2 do
    local answer = verbs[args[at]](keys[1]:sub(1, -2), args[1], args[2], args[at + 1])
    answers[#answers + 1] = answer and 1 or 0
  end
  sets_end()
  return answers
end)
"""


def library() -> str:
    source = Path(sets.__file__).parent / "lua" / "20_sets.lua"
    return f"#!lua name=sets_test\n{source.read_text()}\n{CALLS}"


class Sets:
    """The sets of one job in one tag."""

    def __init__(self, server: RedisServer, options: SeenOptions | None = None) -> None:
        self.client = redis.Redis(port=server.port, protocol=2)
        self.client.function_load(library(), replace=True)
        self.keys = Keys(f"sets-{uuid4().hex[:8]}")
        self.job = self.keys.job(TAG, JOB)
        for name, value in seen_fields(options or SeenOptions()).items():
            self.client.hset(self.job, name, value)

    def do(self, *steps: tuple[str, int], letter: str = "F") -> list[bool]:
        words = [word for verb, fp in steps for word in (verb, signed(Fingerprint(fp)))]
        anchor = self.keys.anchor(TAG)
        answers: Any = self.client.fcall("sets_test", 1, anchor, letter, str(JOB), *words)
        return [answer == 1 for answer in answers]

    def each(self, verb: str, fps: list[int], letter: str = "F") -> list[bool]:
        answers: list[bool] = []
        for at in range(0, len(fps), 500):
            answers += self.do(*((verb, fp) for fp in fps[at : at + 500]), letter=letter)
        return answers

    def add(self, fps: list[int]) -> None:
        self.each("seen_add", fps)

    def buckets(self, letter: str) -> dict[bytes, set[bytes]]:
        names = list(self.client.scan_iter(f"{self.keys.prefix(TAG)}{letter}:*", 1000))
        pipe = self.client.pipeline()
        for name in names:
            pipe.smembers(name)
        return dict(zip(names, pipe.execute(), strict=True))

    def encodings(self, letter: str) -> set[bytes]:
        pipe = self.client.pipeline()
        for name in self.buckets(letter):
            pipe.object("ENCODING", name)
        return set(pipe.execute())

    def memory(self) -> int:
        """Return the bytes of the server without what scripts and connections take for a while."""
        info = self.client.info("memory")
        passing = info["used_memory_vm_total"] + info["mem_clients_normal"]
        return int(info["used_memory"] - passing)


@pytest.fixture(params=["redis", "valkey"])
def server(request: pytest.FixtureRequest) -> RedisServer:
    return shared_redis(request.param)


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[RedisServer]:
    """Yield a server whose memory is that of its keys: a log of slow calls would be in it, too."""
    with start_redis(tmp_path, options={"slowlog-max-len": "0"}) as server:
        yield server


def draw(rng: random.Random, n: int) -> list[int]:
    return [rng.getrandbits(64) for _ in range(n)]


# Integer sets


def test_signed_text_comes_back_as_the_same_fingerprint() -> None:
    for fp in EXTREMES:
        assert unsigned(signed(Fingerprint(fp)).encode()) == fp
    assert signed(Fingerprint(2**64 - 1)) == "-1"
    assert signed(Fingerprint(2**63)) == "-9223372036854775808"


@pytest.mark.parametrize("kind", ["exact", "compact", "bloom"])
def test_the_extremes_are_members_like_all_others(server: RedisServer, kind: Any) -> None:
    known = Sets(server, SeenOptions(kind, expected=1_000_000, rate=1e-9))
    for verb, letter in (("seen", "F"), ("set", "X")):
        for fp in EXTREMES:
            steps = [(f"{verb}_{do}", fp) for do in ("has", "add", "add", "has")]
            assert known.do(*steps, letter=letter) == [False, True, False, True], fp
        assert all(known.each(f"{verb}_has", EXTREMES, letter))
        assert all(known.each(f"{verb}_del", EXTREMES[::2], letter))
        assert not any(known.each(f"{verb}_has", EXTREMES[::2], letter))
        assert all(known.each(f"{verb}_has", EXTREMES[1::2], letter))


@given(
    st.lists(
        st.lists(
            st.tuples(
                st.sampled_from(["add", "add", "add", "del", "has"]),
                st.one_of(st.integers(0, 40), st.sampled_from(EXTREMES), st.integers(0, 2**64 - 1)),
            ),
            min_size=1,
            max_size=60,
        ),
        max_size=12,
    ),
    st.sampled_from(["exact", "compact"]),
)
@settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
def test_any_history_is_answered_as_by_a_plain_set(
    calls: list[list[tuple[str, int]]], kind: Any
) -> None:
    known = Sets(shared_redis(), SeenOptions(kind, expected=100_000))
    plain: set[int] = set()
    for call in calls:
        wanted = []
        for verb, fp in call:
            wanted.append((fp in plain) != (verb == "add"))
            plain = plain | {fp} if verb == "add" else plain - {fp} if verb == "del" else plain
        assert known.do(*((f"seen_{verb}", fp) for verb, fp in call)) == wanted


@pytest.mark.parametrize(("kind", "expected"), [("exact", 1), ("compact", 1), ("compact", 10**7)])
def test_twenty_thousand_members_come_and_go(kind: Any, expected: int) -> None:
    rng = random.Random(20_000)
    known = Sets(shared_redis(), SeenOptions(kind, expected=expected))
    plain: set[int] = set()
    while len(plain) < 20_000:
        new, again = draw(rng, 700), rng.sample(sorted(plain), min(len(plain), 100))
        assert all(known.each("seen_add", new))
        assert not any(known.each("seen_add", again))
        plain.update(new)
        gone = rng.sample(sorted(plain), 150)
        assert all(known.each("seen_del", gone))
        assert not any(known.each("seen_del", gone))
        plain.difference_update(gone)
    everyone = sorted(plain)
    assert all(known.each("seen_has", everyone))
    assert not any(known.each("seen_has", draw(rng, 20_000)))
    buckets = known.buckets("S")
    assert sum(map(len, buckets.values())) == len(plain)
    assert known.encodings("S") == {b"intset"}
    assert int(known.client.hget(known.job, "S:n") or 0) == len(plain)


def test_letters_and_jobs_and_tags_are_apart(server: RedisServer) -> None:
    known = Sets(server)
    for letter in "FXOS":
        assert known.do(("set_has", 5), ("set_add", 5), letter=letter) == [False, True]
    assert known.do(("seen_has", 5)) == [True]
    assert set(known.buckets("F")) == {known.keys.bucket(TAG, "F", JOB, 0).encode()}


def test_buckets_stay_integer_sets_when_numbers_are_in_order() -> None:
    known = Sets(shared_redis())
    assert all(known.each("set_add", list(range(5_000))))
    assert known.encodings("F") == {b"intset"}
    assert max(map(len, known.buckets("F").values())) <= 512


def test_a_split_that_was_cut_short_before_the_pointer_moved_leaves_no_ghosts() -> None:
    """The copies in the new bucket are no members: what is forgotten meanwhile stays forgotten."""
    known = Sets(shared_redis())
    fps = list(range(sets.GROUP_SIZE))
    assert all(known.each("set_add", fps))
    half = known.keys.bucket(TAG, "F", JOB, 1)
    known.client.sadd(half, *(str(fp) for fp in fps if fp % 2))
    assert known.do(("set_has", 1), ("set_del", 1)) == [True, True]
    known.each("set_add", [1_000, 1_002, 1_004])
    assert known.client.hget(known.job, "F:l") == b"1"
    assert known.do(("set_has", 1), ("set_has", 3)) == [False, True]


def test_a_split_that_was_cut_short_after_the_pointer_moved_leaves_no_ghosts() -> None:
    """Copies left in the old bucket are no members, and go with its next split."""
    known = Sets(shared_redis())
    assert all(known.each("set_add", list(range(sets.GROUP_SIZE + 1))))
    first = known.keys.bucket(TAG, "F", JOB, 0)
    known.client.sadd(first, *(str(fp) for fp in range(1, 60, 2)))
    assert known.do(("set_has", 1), ("set_del", 1), ("set_has", 1)) == [True, True, False]
    known.each("set_add", list(range(1_000, 3_000)))
    assert known.do(("set_has", 1), ("set_has", 3)) == [False, True]
    assert all(int(fp) % 2 == 0 for fp in known.client.smembers(first))


def test_a_call_reads_the_state_of_a_job_once_and_writes_it_once(own_server: RedisServer) -> None:
    known = Sets(own_server)
    known.add(draw(random.Random(1), 100))
    known.client.config_resetstat()
    known.do(*(("seen_add", fp) for fp in draw(random.Random(2), 60)))
    calls = known.client.info("commandstats")
    assert calls["cmdstat_hmget"]["calls"] == 1
    assert calls["cmdstat_hset"]["calls"] == 1
    assert calls["cmdstat_sadd"]["calls"] == 60


@pytest.mark.parametrize(("kind", "most"), [("exact", 12), ("compact", 6), ("bloom", 6)])
def test_a_hundred_thousand_members_take_little_memory(
    own_server: RedisServer, kind: Any, most: float
) -> None:
    known = Sets(own_server, SeenOptions(kind, expected=100_000 * TAGS))
    known.do(("seen_has", 0))
    before = known.memory()
    known.add(draw(random.Random(1), 100_000))
    assert (known.memory() - before) / 100_000 < most
    assert known.encodings("S") <= {b"intset"}


# Compact


def test_a_compact_set_takes_urls_with_the_same_bits_for_one() -> None:
    known = Sets(shared_redis(), SeenOptions("compact", expected=1_000 * TAGS))
    groups = int(known.client.hget(known.job, "seen_buckets") or 0)
    fp = 123_456_789_012_345_678
    assert groups == 6
    same = fp + 2 * groups * 10**9
    assert known.do(("seen_add", fp), ("seen_has", same)) == [True, True]
    near = [fp + 1, fp + 10**9, fp + 2 * 10**9, fp + groups * 10**9, 2**64 - fp]
    assert not any(known.each("seen_has", near))
    assert known.do(("seen_del", fp), ("seen_has", same)) == [True, False]


def test_a_compact_set_is_hardly_ever_wrong() -> None:
    rng = random.Random(4)
    known = Sets(shared_redis(), SeenOptions("compact", expected=50_000 * TAGS))
    assert all(known.each("seen_add", draw(rng, 50_000)))
    assert not any(known.each("seen_has", draw(rng, 50_000)))


def test_a_compact_set_for_one_url_holds_a_large_site() -> None:
    """All of it is in one tag and one group: 30,000 URLs then share 32 bits at a rate of 7e-6."""
    rng = random.Random(5)
    known = Sets(shared_redis(), SeenOptions("compact", expected=1))
    fps = draw(rng, 30_000)
    assert sum(known.each("seen_add", fps)) >= len(fps) - 2
    assert all(known.each("seen_has", fps))
    assert sum(known.each("seen_has", draw(rng, 30_000))) <= 3
    assert known.encodings("S") == {b"intset"}


# Bloom


def shape_of(fields: dict[str, str]) -> Shape:
    return Shape(*(int(fields[name]) for name in ("seen_groups", "seen_hashes", "seen_bits")))


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_a_bloom_filter_is_wrong_as_often_as_the_formula_says(groups: int) -> None:
    rng = random.Random(groups)
    options = SeenOptions("bloom", expected=3_000 * TAGS, rate=0.02, groups=groups)
    known = Sets(shared_redis(), options)
    fps = draw(rng, 3_750)  # a quarter more than a tag's share has room
    known.add(fps)
    assert all(known.each("seen_has", fps))
    asked = 20_000
    rate = sum(known.each("seen_has", draw(rng, asked))) / asked
    wanted = shape_of(seen_fields(options)).rate(3_750)
    assert wanted == pytest.approx(0.02, rel=0.05)
    assert rate == pytest.approx(wanted, rel=0.3)


def test_a_bloom_filter_grows_where_a_tag_gets_more_than_its_share() -> None:
    """Five stages at most: each is as wrong as the one that was asked for."""
    rng = random.Random(9)
    options = SeenOptions("bloom", expected=500 * TAGS, rate=0.002, groups=2)
    known = Sets(shared_redis(), options)
    fps = draw(rng, 10_000)
    known.add(fps)
    assert all(known.each("seen_has", fps))
    assert known.client.hget(known.job, "B:s") == b"4"
    rate = sum(known.each("seen_has", draw(rng, 20_000))) / 20_000
    assert rate < 5 * 0.002 * 1.3
    assert all(known.each("seen_has", fps))


def test_a_bloom_filter_forgets_without_denying_others() -> None:
    """It is so crowded that many counters stick; what is held is never denied all the same."""
    rng = random.Random(10)
    options = SeenOptions("bloom", expected=1_000 * TAGS, rate=0.05, groups=2)
    known = Sets(shared_redis(), options)
    fps = draw(rng, 3_000)
    held = {fp for fp, new in zip(fps, known.each("seen_add", fps), strict=True) if new}
    for _ in range(4):
        gone = rng.sample(sorted(held), 500)
        known.each("seen_del", gone)
        held.difference_update(gone)
        assert all(known.each("seen_has", sorted(held)))
    unknown = draw(rng, 3_000)
    assert sum(known.each("seen_has", unknown)) / len(unknown) < 0.15


def test_an_uncrowded_bloom_filter_is_empty_again_when_all_is_forgotten() -> None:
    options = SeenOptions("bloom", expected=100_000 * TAGS, rate=1e-6, groups=2)
    known = Sets(shared_redis(), options)
    fps = draw(random.Random(11), 200)
    assert all(known.each("seen_add", fps))
    assert not any(known.each("seen_add", fps))
    assert all(known.each("seen_del", fps))
    assert not any(known.each("seen_has", fps))
    counters = [known.client.get(known.keys.bloom(TAG, JOB, group)) for group in range(2)]
    assert not any(byte for text in counters if isinstance(text, bytes) for byte in text)
    assert known.client.hget(known.job, "B:n") == b"0"


# Fields


def test_the_fields_of_a_job_follow_from_what_is_expected() -> None:
    assert seen_fields(SeenOptions()) == {"seen": "exact"}
    compact = seen_fields(SeenOptions("compact", expected=10_000_000))
    assert compact == {"seen": "compact", "seen_buckets": "204"}
    assert seen_fields(SeenOptions("compact", expected=1))["seen_buckets"] == "1"
    bloom = seen_fields(SeenOptions("bloom", expected=10_000_000, rate=1e-4, groups=2))
    assert bloom["seen_room"] == "48829"
    assert shape_of(bloom).rate(48_829) == pytest.approx(1e-4, rel=0.01)


def test_a_bloom_filter_beyond_the_most_is_refused_with_its_size() -> None:
    with pytest.raises(ConfigError, match=r"MB a group in each of 256 tags.*seen = compact"):
        seen_fields(SeenOptions("bloom", expected=10**10, rate=1e-6, groups=1))
