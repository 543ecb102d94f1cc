"""Sharing slots out: everyone gets a fair part, and little moves."""

import json
import math
import random
import subprocess
import sys
import time
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skitter.cluster.assignment import Move, moves, share_out
from skitter.url.partition import SLOTS

NAMES = st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=12, unique=True)
WEIGHTS = st.floats(0.05, 20)
PINNED = "cbaabacaabacbbabbccacccbbacabbcc"


def members(count: int) -> list[str]:
    return [f"node{number % 7}-{number}" for number in range(count)]


@given(NAMES, st.integers(0, 600), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_every_slot_has_one_owner_whatever_the_order_of_the_members(
    names: list[str], slots: int, rng: random.Random
) -> None:
    owners = share_out(slots, names)
    assert len(owners) == slots
    assert set(owners) <= set(names)
    rng.shuffle(names)
    assert share_out(slots, names) == owners


@given(NAMES, st.integers(1, 600), st.data())
@settings(max_examples=60, deadline=None)
def test_nobody_gets_more_than_the_bound_of_its_share(
    names: list[str], slots: int, data: st.DataObject
) -> None:
    weights = data.draw(st.fixed_dictionaries(dict.fromkeys(names, WEIGHTS)))
    total = sum(weights.values())
    for name, count in Counter(share_out(slots, names, weights)).items():
        share = slots * weights[name] / total
        assert count <= max(math.floor(share * 1.05 + 1e-6), math.ceil(share - 1e-6))


@given(NAMES, st.data())
@settings(max_examples=40, deadline=None)
def test_who_leaves_gives_its_slots_away_and_hardly_anything_else_moves(
    names: list[str], data: st.DataObject
) -> None:
    if len(names) == 1:
        return
    gone = data.draw(st.sampled_from(names))
    before = share_out(4096, names)
    after = share_out(4096, [name for name in names if name != gone])
    assert gone not in after
    others = [move for move in moves(before, after) if move.source != gone]
    assert len(others) <= 4096 * 0.05


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7, 10, 30, 100])
def test_shares_are_within_five_percent_of_the_mean_and_joining_moves_one_share(
    count: int,
) -> None:
    before = share_out(SLOTS, members(count))
    assert max(Counter(before).values()) <= 1.05 * SLOTS / count
    after = share_out(SLOTS, [*members(count), "late-comer"])
    moved = moves(before, after)
    fair = SLOTS / (count + 1)
    assert sum(move.target == "late-comer" for move in moved) <= 1.05 * fair
    assert len(moved) <= fair * (1.1 if count <= 30 else 1.5)


def test_the_eleventh_member_moves_an_eleventh_and_its_leaving_undoes_it() -> None:
    ten, eleven = members(10), members(11)
    before, after = share_out(SLOTS, ten), share_out(SLOTS, eleven)
    assert len(moves(before, after)) == pytest.approx(SLOTS / 11, rel=0.06)
    assert share_out(SLOTS, ten) == before


def test_shares_follow_weights() -> None:
    weights = {"slow": 360.0, "middle": 420.0, "fast": 480.0, "resting": 0.0}
    counted = Counter(share_out(SLOTS, list(weights), weights))
    for name, weight in weights.items():
        assert counted[name] == pytest.approx(SLOTS * weight / 1260, rel=0.03)


def test_equal_weights_are_no_weights() -> None:
    names = members(9)
    assert share_out(SLOTS, names, dict.fromkeys(names, 7.5)) == share_out(SLOTS, names)


def test_another_process_shares_out_the_same() -> None:
    code = (
        "import json; from skitter.cluster.assignment import share_out;"
        "print(json.dumps(share_out(512, ['a', 'b', 'ü'], {'a': 2.0})))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, timeout=60)
    assert json.loads(done.stdout) == share_out(512, ["a", "b", "ü"], {"a": 2.0})


def test_the_shares_of_known_members_stay_what_they_are() -> None:
    # Members of two versions of the program must not take slots from each other all the time.
    assert "".join(share_out(32, ["a", "b", "c"])) == PINNED


def test_a_hundred_members_are_served_fast() -> None:
    names = members(100)
    share_out(SLOTS, names)
    began = time.process_time()
    share_out(SLOTS, names)
    assert time.process_time() - began < 0.3


def test_nobody_gets_nothing() -> None:
    assert share_out(SLOTS, []) == []


def test_a_slot_moves_from_its_owner_to_the_next() -> None:
    assert moves(["a", "b", "a"], ["a", "c", "b"]) == [Move(1, "b", "c"), Move(2, "a", "b")]
    assert moves([], ["a"]) == [Move(0, "", "a")]
    assert moves(["a"], []) == [Move(0, "a", "")]


@pytest.mark.parametrize("weight", [-1.0, math.inf, math.nan])
def test_a_weight_that_is_no_size_is_refused(weight: float) -> None:
    with pytest.raises(ValueError, match="weights"):
        share_out(8, ["a", "b"], {"a": weight})


def test_no_weight_at_all_and_a_bound_below_one_are_refused() -> None:
    with pytest.raises(ValueError, match="weights"):
        share_out(8, ["a"], {"a": 0.0})
    with pytest.raises(ValueError, match="bound"):
        share_out(8, ["a"], bound=0.9)
