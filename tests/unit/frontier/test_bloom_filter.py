"""The counting filter itself, against a filter made of plain dictionaries."""

from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skitter.errors import ConfigError
from skitter.frontier.embedded.layout import seen_key
from skitter.frontier.embedded.seen.counting import (
    QUEUE_STEP,
    STEP,
    CountingBloom,
    unpack_patch,
)
from skitter.frontier.embedded.seen.sizing import Shape, shape_for
from skitter.frontier.model import SeenOptions

keys = st.builds(seen_key, st.integers(1, 3), st.integers(0, 2**64 - 1))
batches = st.lists(st.lists(keys, max_size=12, unique=True), max_size=6)
shapes = st.builds(Shape, st.integers(1, 4), st.integers(1, 9), st.integers(5, 400))


def make(shape: Shape) -> CountingBloom:
    return CountingBloom(shape, np.zeros(shape.size, np.uint8))


def some_keys(count: int) -> list[bytes]:
    rng = np.random.default_rng(7)
    return [seen_key(1, fp) for fp in rng.integers(0, 2**64, count, np.uint64).tolist()]


def put(bloom: CountingBloom, added: Sequence[bytes], removed: Sequence[bytes] = ()) -> None:
    bloom.apply(bloom.patch(b"".join(added), b"".join(removed)))


def has(bloom: CountingBloom, asked: Sequence[bytes]) -> list[bool]:
    found: list[bool] = bloom.contains(b"".join(asked)).tolist()
    return found


def counters(bloom: CountingBloom) -> list[int]:
    return [byte >> shift & 3 for byte in bloom.array.tolist() for shift in (0, 2, 4, 6)]


def places(bloom: CountingBloom, key: bytes) -> Counter[int]:
    """Return the counters of one key: what an empty filter of that shape shows of it."""
    stride = bloom.shape.group_bytes * 4
    queue, fp = int.from_bytes(key[:4]), int.from_bytes(key[4:])
    words = -(-bloom.shape.hashes // 2)
    found: Counter[int] = Counter()
    for group in range(bloom.shape.groups):
        mixed = [
            splitmix(fp + queue * QUEUE_STEP + (group * words + n + 1) * STEP) for n in range(words)
        ]
        halves = [word & 0xFFFFFFFF for word in mixed] + [word >> 32 for word in mixed]
        for half in halves[: bloom.shape.hashes]:
            found[group * stride + (half * bloom.shape.counters >> 32)] += 1
    return found


def splitmix(word: int) -> int:
    word &= 2**64 - 1
    word = (word ^ word >> 30) * 0xBF58476D1CE4E5B9 & (2**64 - 1)
    word = (word ^ word >> 27) * 0x94D049BB133111EB & (2**64 - 1)
    return word ^ word >> 31


@settings(max_examples=60, deadline=None)
@given(shape=shapes, adding=batches, data=st.data())
def test_every_counter_is_what_counting_by_hand_gives(
    shape: Shape, adding: list[list[bytes]], data: st.DataObject
) -> None:
    bloom = make(shape)
    inside: set[bytes] = set()
    model = [0] * (shape.size * 4)
    for batch in adding:
        new = [key for key in batch if key not in inside]
        gone = data.draw(st.lists(st.sampled_from(sorted(inside)), unique=True) if inside else NONE)
        put(bloom, new, gone)
        inside = (inside | set(new)) - set(gone)
        down, up = total(bloom, gone), total(bloom, new)
        for place in down | up:
            if model[place] < 3:
                model[place] = min(3, model[place] - down[place] + up[place])
        assert counters(bloom) == model
        assert all(has(bloom, sorted(inside)))


NONE: st.SearchStrategy[list[bytes]] = st.just([])


def total(bloom: CountingBloom, some: Sequence[bytes]) -> Counter[int]:
    return sum((places(bloom, key) for key in some), Counter())


@settings(max_examples=40, deadline=None)
@given(shape=shapes, inside=st.sets(keys, max_size=80), strangers=st.sets(keys, max_size=40))
def test_a_key_is_known_when_all_its_counters_are_above_zero(
    shape: Shape, inside: set[bytes], strangers: set[bytes]
) -> None:
    bloom = make(shape)
    put(bloom, sorted(inside))
    now = counters(bloom)
    asked = sorted(inside | strangers)
    assert has(bloom, asked) == [all(now[place] for place in places(bloom, key)) for key in asked]


def test_what_was_forgotten_is_unknown_and_nothing_else_is() -> None:
    bloom = make(shape_for(SeenOptions("bloom", expected=20_000, rate=1e-6)))
    everyone = some_keys(20_000)
    for at in range(0, 20_000, 1_000):
        put(bloom, everyone[at : at + 1_000])
    put(bloom, [], everyone[::2])
    assert all(has(bloom, everyone[1::2]))
    assert sum(has(bloom, everyone[::2])) <= 2
    put(bloom, everyone[::2])
    assert all(has(bloom, everyone))


def test_a_crowded_counter_is_never_counted_down() -> None:
    shape = Shape(groups=1, hashes=1, counters=4)
    bloom = make(shape)
    everyone = [seen_key(1, n) for n in range(64)]
    put(bloom, everyone)
    assert counters(bloom) == [3, 3, 3, 3]
    put(bloom, [], everyone[:-1])
    assert has(bloom, everyone[-1:]) == [True]
    assert counters(bloom) == [3, 3, 3, 3]


@settings(max_examples=40, deadline=None)
@given(shape=shapes, first=st.sets(keys, max_size=30), second=st.sets(keys, max_size=30))
def test_patches_written_again_in_order_from_any_mixture_of_pages_give_the_same_filter(
    shape: Shape, first: set[bytes], second: set[bytes]
) -> None:
    bloom = make(shape)
    before = bloom.array.copy()
    patches = []
    for batch in (first, second - first):
        patches.append(unpack_patch(bloom.patch(b"".join(sorted(batch))).pack()))
        bloom.apply(patches[-1])
    torn = make(shape)
    half = shape.size // 2
    torn.array[:half], torn.array[half:] = bloom.array[:half], before[half:]
    for patch in patches:
        torn.apply(patch)
    assert torn.array.tolist() == bloom.array.tolist()


def test_one_url_has_other_positions_in_every_queue() -> None:
    bloom = make(Shape(groups=2, hashes=7, counters=1_000_003))
    put(bloom, [seen_key(queue, 12345) for queue in range(1, 200)])
    strangers = [seen_key(queue, 12345) for queue in range(200, 2_000)]
    assert not any(has(bloom, strangers))


def test_the_steps_of_hashes_and_queues_never_meet() -> None:
    """Two queues share hashes if some hashes' steps equal the steps between the queues."""
    back = pow(QUEUE_STEP, -1, 2**64)
    meeting = [n * STEP * back % 2**64 for n in range(1, 1_000)]
    assert min(min(queues, 2**64 - queues) for queues in meeting) > 2**33


def test_nothing_asked_is_nothing_answered_and_nothing_put_changes_nothing() -> None:
    bloom = make(Shape(groups=2, hashes=3, counters=50))
    assert has(bloom, []) == []
    put(bloom, [])
    assert not bloom.array.any()


def test_a_long_batch_is_answered_like_its_parts() -> None:
    bloom = make(shape_for(SeenOptions("bloom", expected=10_000, rate=1e-3)))
    everyone = some_keys(10_000)
    put(bloom, everyone[::2])
    parts = [has(bloom, everyone[at : at + 100]) for at in range(0, 10_000, 100)]
    assert has(bloom, everyone) == [found for part in parts for found in part]


@settings(max_examples=100)
@given(expected=st.integers(100, 10**8), exponent=st.floats(0.7, 3), groups=st.integers(1, 8))
def test_a_filter_is_as_large_as_its_rate_needs_and_hardly_larger(
    expected: int, exponent: float, groups: int
) -> None:
    """The exponent is that of one group: what it may be wrong, as a power of ten."""
    options = SeenOptions("bloom", expected, 10 ** -(exponent * groups), groups)
    shape = shape_for(options)
    assert shape.rate(expected) <= options.rate * 1.000_001
    ideal = expected * exponent * np.log(10) / np.log(2) ** 2
    assert shape.counters <= ideal * 1.05 + 1


@pytest.mark.parametrize("rate", [0.5, 0.9, 0.999])
def test_a_rate_that_hardly_asks_for_anything_is_kept_too(rate: float) -> None:
    shape = shape_for(SeenOptions("bloom", 1_000, rate, groups=4))
    assert shape.rate(1_000) <= rate


def test_ten_million_urls_at_one_in_ten_thousand_take_48_megabytes() -> None:
    shape = shape_for(SeenOptions("bloom"))
    assert (shape.groups, shape.hashes) == (2, 7)
    assert shape.size == pytest.approx(48e6, rel=0.01)


def test_a_filter_beyond_four_gigabytes_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"takes 48\.0 GB, the most is 4\.3 GB"):
        shape_for(SeenOptions("bloom", expected=10**10))


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kind": "cuckoo"}, "seen kind 'cuckoo'; wanted exact, compact or bloom"),
        ({"expected": 0}, "seen expected 0; wanted a number of URLs"),
        ({"rate": 0.0}, "seen rate 0; wanted a share between 0 and 1"),
        ({"rate": 1.0}, "seen rate 1; wanted a share between 0 and 1"),
        ({"groups": 0}, "seen groups 0; wanted 1 to 16"),
    ],
)
def test_options_that_make_no_sense_are_named(fields: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        SeenOptions(**fields)  # type: ignore[arg-type]
