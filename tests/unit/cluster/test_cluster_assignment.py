"""Sharing slots out: everyone gets its part, and little moves."""

import json
import math
import random
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skitter.cluster.assignment import TOLERANCE, Move, moves, tidying
from skitter.cluster.packing import MOST_PIECES
from skitter.url.partition import SLOTS, TAGS, slot_of

NAMES = st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=12, unique=True)
WEIGHTS = st.dictionaries(
    st.text(min_size=1, max_size=8), st.floats(0.05, 20), min_size=1, max_size=12
)
SOME = 4096


def members(count: int) -> list[str]:
    return [f"node{number % 7}-{number}" for number in range(count)]


def equal(names: Iterable[str]) -> dict[str, float]:
    return dict.fromkeys(names, 1.0)


def after(old: Sequence[str], found: Iterable[Move]) -> list[str]:
    owners = list(old)
    for slot, source, target in found:
        assert owners[slot] == source != target
        owners[slot] = target
    return owners


def shared(weights: Mapping[str, float], slots: int = SLOTS) -> list[str]:
    nobody = [""] * slots
    return after(nobody, moves(nobody, weights))


def one_by_one(count: int) -> list[str]:
    owners = [""] * SLOTS
    for present in range(1, count + 1):
        owners = after(owners, moves(owners, equal(members(present))))
    return owners


def tags(owners: Sequence[str]) -> list[int]:
    """Return in how many tags each member owns slots."""
    known: defaultdict[str, set[int]] = defaultdict(set)
    for slot, name in enumerate(owners):
        known[name].add(slot % TAGS)
    return [len(some) for some in known.values()]


def check_shares(owners: Sequence[str], weights: Mapping[str, float]) -> None:
    """Everyone is within a hundredth of its share, or one slot."""
    counted = Counter(owners)
    assert counted.keys() <= weights.keys()
    for name, weight in weights.items():
        share = len(owners) * weight / sum(weights.values())
        assert abs(counted[name] - share) <= max(1, TOLERANCE * share) + 1e-6


@given(WEIGHTS, WEIGHTS, st.integers(1, 600), st.randoms(use_true_random=False))
@settings(max_examples=80, deadline=None)
def test_every_slot_has_one_owner_and_everyone_its_share_whatever_was_before(
    earlier: dict[str, float], weights: dict[str, float], slots: int, rng: random.Random
) -> None:
    old = shared(earlier, slots)
    check_shares(old, earlier)
    found = moves(old, weights)
    check_shares(after(old, found), weights)
    names = list(weights)
    rng.shuffle(names)
    assert moves(old, {name: weights[name] for name in names}) == found


@given(WEIGHTS, WEIGHTS)
@settings(max_examples=80, deadline=None)
def test_no_member_both_gives_and_takes_and_the_next_look_finds_nothing_to_move(
    earlier: dict[str, float], weights: dict[str, float]
) -> None:
    old = shared(earlier, SOME)
    found = moves(old, weights)
    assert not {move.source for move in found} & {move.target for move in found}
    assert moves(after(old, found), weights) == []


@given(WEIGHTS, WEIGHTS)
@settings(max_examples=80, deadline=None)
def test_no_sharing_out_within_the_tolerance_of_it_moves_much_less(
    earlier: dict[str, float], weights: dict[str, float]
) -> None:
    old = shared(earlier, SOME)
    counted = Counter(old)
    total = sum(weights.values())
    shares = {name: SOME * weight / total for name, weight in weights.items()}
    needed = sum(
        max(0.0, share - counted[name] - max(1, TOLERANCE * share))
        for name, share in shares.items()
    )
    # What is off is brought to its share, not to the edge of what is tolerated.
    slack = sum(max(1, TOLERANCE * share) for share in shares.values())
    assert len(moves(old, weights)) <= needed + slack + 1


@given(WEIGHTS, st.data())
@settings(max_examples=60, deadline=None)
def test_who_leaves_gives_its_slots_away_and_nothing_else_moves(
    weights: dict[str, float], data: st.DataObject
) -> None:
    if len(weights) == 1:
        return
    gone = data.draw(st.sampled_from(sorted(weights)))
    old = shared(weights, SOME)
    left = {name: weight for name, weight in weights.items() if name != gone}
    found = moves(old, left, 0)
    assert {move.slot for move in found} == {n for n, name in enumerate(old) if name == gone}


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 10, 30, 100, 1000])
def test_one_that_joins_gets_its_share_and_nothing_else_moves(count: int) -> None:
    old = shared(equal(members(count)))
    weights = equal([*members(count), "late-comer"])
    found = moves(old, weights, 0)
    fair = SLOTS / (count + 1)
    assert {move.target for move in found} == {"late-comer"}
    assert math.floor(fair) <= len(found) <= math.ceil(fair)
    check_shares(after(old, found), weights)


@pytest.mark.parametrize(
    ("before", "now", "part"), [(10, 11, 0.0909), (10, 9, 0.1), (100, 101, 0.0099)]
)
def test_as_little_moves_as_can(before: int, now: int, part: float) -> None:
    old = shared(equal(members(before)))
    found = moves(old, equal(members(now)))
    assert len(found) / SLOTS == pytest.approx(part, abs=0.0002)


def test_the_leaving_of_the_last_to_join_undoes_its_joining() -> None:
    old = shared(equal(members(10)))
    with_it = after(old, moves(old, equal(members(11))))
    again = after(with_it, moves(with_it, equal(members(10))))
    assert Counter(again) == Counter(old)


def test_shares_follow_weights() -> None:
    weights = {"slow": 360.0, "middle": 420.0, "fast": 480.0}
    check_shares(shared(weights), weights)


def test_a_share_that_is_off_by_less_than_a_hundredth_is_left_alone() -> None:
    old = shared(equal("abc"))
    assert moves(old, {"a": 1.009, "b": 1.0, "c": 1.0}) == []
    found = moves(old, {"a": 1.02, "b": 1.0, "c": 1.0})
    assert {move.target for move in found} == {"a"}
    assert len(found) == pytest.approx(SLOTS * (1.02 / 3.02 - 1 / 3), abs=2)


def test_no_more_moves_than_may_and_those_first_who_are_off_most() -> None:
    old = shared(equal("abcd"))
    found = moves(old, {"a": 3.0, "b": 1.0, "c": 0.9, "d": 0.4}, 100)
    assert len(found) == 100
    assert {(move.source, move.target) for move in found} == {("d", "a")}
    assert moves(old, {"a": 3.0, "b": 1.0, "c": 0.9, "d": 0.4}, 0) == []


def test_steps_that_are_bounded_come_to_the_same_shares_without_a_detour() -> None:
    weights = {"a": 3.0, "b": 1.0, "c": 0.9, "d": 0.4}
    old = shared(equal("abcd"))
    owners, moved = old, 0
    while found := moves(owners, weights, 300):
        owners, moved = after(owners, found), moved + len(found)
    check_shares(owners, weights)
    assert moved <= len(moves(old, weights)) * 1.02


@pytest.mark.parametrize(
    ("count", "mean", "most"),
    [(1, 256, 256), (2, 128, 128), (10, 27, 27), (100, 3.6, 4), (1000, 1.1, 2)],
)
def test_members_that_come_together_own_slots_in_as_few_tags_as_can(
    count: int, mean: float, most: int
) -> None:
    counted = tags(shared(equal(members(count))))
    assert sum(counted) / count <= mean
    assert max(counted) <= most


@pytest.mark.parametrize(("count", "mean"), [(2, 128), (10, 28), (30, 18), (100, 17)])
def test_members_that_come_one_by_one_own_slots_in_few_tags(count: int, mean: float) -> None:
    counted = tags(one_by_one(count))
    assert sum(counted) / count <= mean


def test_tidying_up_brings_slots_into_fewer_tags_and_leaves_everyone_as_many() -> None:
    weights = equal(members(100))
    owners = one_by_one(100)
    before = Counter(owners)
    moved, pieces = 0, sum(tags(owners))
    while found := tidying(owners, weights, 163):
        owners, moved = after(owners, found), moved + len(found)
        assert sum(tags(owners)) < pieces
        assert len(found) <= 163
        pieces = sum(tags(owners))
    assert Counter(owners) == before
    assert pieces <= TAGS + MOST_PIECES * 100
    assert moved < SLOTS / 2


def test_ten_members_have_nothing_to_tidy_up_after_one_has_joined() -> None:
    assert tidying(one_by_one(11), equal(members(11)), SLOTS) == []


def test_ten_thousand_hosts_are_in_balance_on_ten_members() -> None:
    owners = one_by_one(10)
    hosts = Counter(owners[slot_of(f"host-{number}.example")] for number in range(10_000))
    assert max(hosts.values()) <= 1.1 * 1000


def test_another_process_finds_the_same_moves() -> None:
    code = (
        "import json; from skitter.cluster.assignment import moves;"
        "print(json.dumps(moves(['ü', 'gone'] * 256, {'a': 2.0, 'b': 1.0, 'ü': 1.0})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)
    found = moves(["ü", "gone"] * 256, {"ü": 1.0, "b": 1.0, "a": 2.0})
    assert [Move(*move) for move in json.loads(done.stdout)] == found


def test_a_thousand_members_are_served_fast() -> None:
    old = shared(equal(members(1000)))
    began = time.process_time()
    moves(old, equal(members(1010)))
    assert time.process_time() - began < 4.0


def test_more_members_than_slots_leave_some_without() -> None:
    owners = shared(equal(members(20)), slots=12)
    assert set(Counter(owners).values()) == {1}


@pytest.mark.parametrize("weight", [-1.0, 0.0, math.inf, math.nan])
def test_a_weight_that_is_no_size_is_refused(weight: float) -> None:
    with pytest.raises(ValueError, match="weights"):
        moves(["a"] * 8, {"a": 1.0, "b": weight})


def test_nobody_to_share_among_is_refused() -> None:
    with pytest.raises(ValueError, match="weights"):
        moves(["a"] * 8, {})
