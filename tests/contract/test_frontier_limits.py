"""Limits over all members, on every back end: windows, tokens, and values shared for a while."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from frontier_backends import BACKENDS, Rig, Store, open_rig
from hypothesis import given, settings
from hypothesis import strategies as st

from skitter.frontier.embedded.windows import KEEP_ROW, ROW, SWEEP_ABOVE
from skitter.frontier.limits import Permit, TokenWish, Window, Wish
from skitter.testing.virtual_clock import VirtualClock

SHARED = ("redis", "redis-cluster", "valkey")
KIND = Window("kind:site", 3, 10_000)
ADDRESS = Window("from:192.0.2.7", 2, 4_000)
DOMAIN = "example.com"
TTL_MS = 6_000


@pytest.fixture(params=BACKENDS)
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    backend = BACKENDS[request.param](tmp_path, VirtualClock())
    yield await open_rig(backend)
    await backend.close()


async def ask(rig: Rig, *windows: Window, domain: str = DOMAIN, unused_ms: int = 0) -> Permit:
    [permit] = await rig.store.permit([Wish(domain, windows, unused_ms)])
    return permit


async def granted(rig: Rig, n: int, *windows: Window, domain: str = DOMAIN) -> int:
    """Ask for many at once; answers how many were granted."""
    permits = await rig.store.permit([Wish(domain, windows)] * n)
    return sum(permit.granted for permit in permits)


# Rate windows


async def test_a_window_grants_its_number_and_then_tells_when_there_is_more(rig: Rig) -> None:
    began = rig.now_ms
    permits = await rig.store.permit([Wish(DOMAIN, (KIND,))] * 3)
    assert permits == [Permit(granted=True, at_ms=began)] * 3
    rig.tick(4)
    assert await ask(rig, KIND) == Permit(granted=False, at_ms=began + 10_000)
    rig.tick(5.999)
    assert await granted(rig, 1, KIND) == 0
    rig.tick(0.001)
    assert await granted(rig, 5, KIND) == 3


async def test_a_burst_at_the_edge_does_not_count_for_two_windows(rig: Rig) -> None:
    assert await granted(rig, 1, KIND) == 1
    rig.tick(9.9)
    assert await granted(rig, 5, KIND) == 2
    rig.tick(0.2)
    assert await granted(rig, 5, KIND) == 1


async def test_those_who_are_refused_together_are_told_to_come_one_after_the_other(
    rig: Rig,
) -> None:
    began = rig.now_ms
    for _ in range(3):
        assert await granted(rig, 1, KIND) == 1
        rig.tick(1)
    permits = await rig.store.permit([Wish(DOMAIN, (KIND,))] * 5)
    assert [permit.at_ms - began for permit in permits] == [10_000, 11_000, 12_000, 20_000, 21_000]


async def test_a_request_is_granted_by_all_its_windows_or_counts_in_none(rig: Rig) -> None:
    assert await granted(rig, 9, KIND, ADDRESS) == 2
    assert await granted(rig, 9, KIND) == 1, "what the other window refused is not counted"
    rig.tick(4)
    permit = await ask(rig, KIND, ADDRESS)
    assert (permit.granted, permit.at_ms - rig.now_ms) == (False, 6_000)
    assert await granted(rig, 9, ADDRESS) == 2


async def test_one_who_is_refused_is_not_in_the_way_of_others(rig: Rig) -> None:
    wishes = [Wish(DOMAIN, (KIND, ADDRESS))] * 5 + [Wish(DOMAIN, (KIND,))]
    permits = await rig.store.permit(wishes)
    assert [permit.granted for permit in permits] == [True, True, False, False, False, True]


async def test_domains_and_windows_do_not_share(rig: Rig) -> None:
    assert await granted(rig, 5, KIND) == 3
    assert await granted(rig, 5, KIND, domain="example.org") == 3
    assert await granted(rig, 5, Window("kind:web", 3, 10_000)) == 3


async def test_a_grant_that_was_not_used_is_moved(rig: Rig) -> None:
    first = await ask(rig, KIND)
    assert await granted(rig, 2, KIND) == 2
    rig.tick(3)
    moved = await ask(rig, KIND, unused_ms=first.at_ms)
    assert moved == Permit(granted=True, at_ms=rig.now_ms)
    assert not (await ask(rig, KIND, unused_ms=12_345)).granted, "there was no such grant"
    rig.tick(7)
    assert await granted(rig, 5, KIND) == 2, "the one that was moved counts from then on"


async def test_a_window_may_become_narrower_and_wider(rig: Rig) -> None:
    wide, narrow = Window("w", 5, 10_000), Window("w", 2, 10_000)
    assert await granted(rig, 4, wide) == 4
    rig.tick(1)
    assert await granted(rig, 4, narrow) == 0
    assert await granted(rig, 4, wide) == 1
    rig.tick(9)
    assert await granted(rig, 4, narrow) == 1


async def test_a_short_span_does_not_make_a_long_one_forget(rig: Rig) -> None:
    long, short = Window("w", 4, 60_000), Window("w", 9, 1_000)
    assert await granted(rig, 1, long) == 1
    for _ in range(3):
        rig.tick(10)
        assert await granted(rig, 1, short) == 1
    rig.tick(10)
    assert await granted(rig, 4, long) == 0


async def test_many_wishes_of_many_domains_are_one_call(rig: Rig) -> None:
    wishes = [Wish(f"d{n % 40}.example", (KIND,)) for n in range(400)]
    permits = await rig.store.permit(wishes)
    assert sum(permit.granted for permit in permits) == 120
    assert [permit.granted for permit in permits] == [n < 120 for n in range(400)]
    assert await rig.store.permit([]) == []


@pytest.mark.parametrize("end", ["restart", "crash"])
async def test_grants_outlive_the_store(rig: Rig, end: str) -> None:
    assert await granted(rig, 2, KIND) == 2
    rig.tick(1)
    unused = await ask(rig, KIND)
    assert (await ask(rig, KIND, unused_ms=unused.at_ms)).granted
    await getattr(rig, end)()
    rig.tick(1)
    assert await granted(rig, 5, KIND) == 0
    rig.tick(8)
    assert await granted(rig, 5, KIND) == 2


@pytest.mark.parametrize("end", ["restart", "crash"])
async def test_a_short_span_does_not_make_a_long_one_forget_over_a_restart(
    rig: Rig, end: str
) -> None:
    hour, minute = Window("w", 5, 3_600_000), Window("w", 20, 62_300)
    assert await granted(rig, 6, hour) == 5
    await getattr(rig, end)()
    rig.tick(120)
    assert await granted(rig, 1, minute) == 1
    assert await granted(rig, 6, hour) == 0
    rig.tick(3_480)
    assert await granted(rig, 6, hour) == 4


async def test_more_windows_than_are_kept_without_a_look_outlive_the_store(tmp_path: Path) -> None:
    backend = BACKENDS["embedded"](tmp_path, VirtualClock())
    rig = await open_rig(backend)
    full = [Wish(f"d{n}.example", (KIND,)) for n in range(SWEEP_ABOVE + 100) for _ in range(3)]
    assert all(permit.granted for permit in await rig.store.permit(full))
    await rig.restart()
    rig.tick(2)
    assert await granted(rig, 1, KIND, domain="other.example") == 1
    assert not any(permit.granted for permit in await rig.store.permit(full))
    await backend.close()


async def test_windows_that_nobody_asks_for_leave_the_store(tmp_path: Path) -> None:
    backend = BACKENDS["embedded"](tmp_path, VirtualClock())
    rig = await open_rig(backend)

    def rows() -> int:
        rocks = rig.store._core.rocks  # type: ignore[attr-defined]
        return sum(1 for start in (ROW, KEEP_ROW) for _ in rocks.scan_meta(start))

    wishes = [Wish(f"d{n}.example", (KIND,)) for n in range(SWEEP_ABOVE + 1)]
    await rig.store.permit(wishes)
    assert rows() == 2 * len(wishes)
    rig.tick(2 * KIND.span_ms / 1000)
    await rig.store.permit([Wish(f"e{n}.example", (KIND,)) for n in range(len(wishes) + 1)])
    assert rows() == 2 * (len(wishes) + 1)
    rig.tick(2 * KIND.span_ms / 1000)
    await rig.restart()
    assert rows() == 2 * (len(wishes) + 1), "their grants may be in a longer window"
    await backend.close()


async def test_grants_of_a_release_that_kept_no_spans_are_read(tmp_path: Path) -> None:
    backend = BACKENDS["embedded"](tmp_path, VirtualClock())
    rig = await open_rig(backend)
    assert await granted(rig, 6, Window("w", 5, 3_600_000)) == 5
    rocks = rig.store._core.rocks  # type: ignore[attr-defined]
    change = rig.store._core.change()  # type: ignore[attr-defined]
    for row, _ in rocks.scan_meta(KEEP_ROW):
        change.delete_meta(row)
    change.commit()
    await rig.restart()
    rig.tick(120)
    assert await granted(rig, 1, Window("w", 20, 62_300)) == 1
    assert await granted(rig, 6, Window("w", 5, 3_600_000)) == 0
    await backend.close()


@pytest.mark.parametrize("kind", SHARED)
async def test_members_share_windows(kind: str, tmp_path: Path) -> None:
    backend: Any = BACKENDS[kind](tmp_path, VirtualClock())
    rig = await open_rig(backend)
    other: Store = await backend.join()
    assert await granted(rig, 2, KIND) == 2
    assert [permit.granted for permit in await other.permit([Wish(DOMAIN, (KIND,))] * 2)] == [
        True,
        False,
    ]
    await backend.close()


steps = st.lists(
    st.tuples(st.integers(0, 2_500), st.integers(1, 4), st.booleans(), st.booleans()),
    min_size=1,
    max_size=40,
)


@pytest.mark.parametrize("kind", ["embedded", "redis", "remote"])
@settings(max_examples=25, deadline=None)
@given(history=steps, most=st.integers(1, 4))
def test_no_history_has_more_grants_than_a_window_allows(
    kind: str,
    history: list[tuple[int, int, bool, bool]],
    most: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    asyncio.run(_live_through(kind, history, most, tmp_path_factory.mktemp("history")))


async def _live_through(
    kind: str, history: list[tuple[int, int, bool, bool]], most: int, root: Path
) -> None:
    backend = BACKENDS[kind](root, VirtualClock())
    rig = await open_rig(backend)
    window, other = Window("w", most, 5_000), Window("v", 2, 3_000)
    used: dict[str, list[int]] = {"w": [], "v": []}
    for gap_ms, n, both, moves in history:
        rig.tick(gap_ms / 1000)
        windows = (window, other) if both else (window,)
        asked_ms = rig.now_ms
        for permit in await rig.store.permit([Wish(DOMAIN, windows)] * n):
            if not permit.granted:
                assert permit.at_ms > asked_ms
                continue
            at_ms = permit.at_ms
            if moves:
                rig.tick(0.3)
                again = await ask(rig, *windows, unused_ms=at_ms)
                assert again.granted, "what one has may be moved at any time"
                at_ms = again.at_ms
            for one in windows:
                used[one.name].append(at_ms)
    await backend.close()
    for one in (window, other):
        times = used[one.name]
        for begin in times:
            assert sum(begin <= time < begin + one.span_ms for time in times) <= one.most


# Tokens


async def take(rig: Rig, holder: str, used: int, wanted: int, most: int = 8) -> int:
    wish = TokenWish("192.0.2.1", most, used, wanted)
    [allowed] = await rig.store.tokens(holder, [wish], TTL_MS)
    return allowed


async def test_tokens_are_given_as_far_as_they_go(rig: Rig) -> None:
    assert await take(rig, "a", 0, 3) == 3
    assert await take(rig, "b", 0, 9) == 5
    assert await take(rig, "a", 3, 3) == 3
    assert await take(rig, "c", 0, 1) == 0


async def test_tokens_that_are_given_back_are_there_for_others(rig: Rig) -> None:
    assert await take(rig, "a", 0, 8) == 8
    assert await take(rig, "b", 0, 8) == 0
    assert await take(rig, "a", 0, 0) == 0
    assert await take(rig, "b", 0, 8) == 8


async def test_who_has_more_than_its_share_gives_way_when_its_requests_end(rig: Rig) -> None:
    assert await take(rig, "a", 0, 20) == 8
    assert await take(rig, "b", 0, 20) == 0
    assert await take(rig, "a", 8, 20) == 4
    assert await take(rig, "b", 0, 20) == 0, "all are in use"
    assert await take(rig, "a", 6, 20) == 4
    assert await take(rig, "b", 0, 20) == 2
    assert await take(rig, "a", 4, 20) == 4
    assert await take(rig, "b", 2, 20) == 4


async def test_tokens_of_the_dead_end(rig: Rig) -> None:
    assert await take(rig, "a", 8, 8) == 8
    rig.tick(5.999)
    assert await take(rig, "b", 0, 8) == 0
    rig.tick(0.001)
    assert await take(rig, "b", 0, 8) == 8


async def test_more_holders_than_tokens_take_turns(rig: Rig) -> None:
    served: set[str] = set()
    names = [f"m{n}" for n in range(5)]
    for _ in range(12):
        shares = {name: await take(rig, name, 0, 3, most=2) for name in names}
        assert sum(shares.values()) <= 2
        served |= {name for name, share in shares.items() if share}
        rig.tick(2)
    assert served == set(names)


async def test_names_have_tokens_of_their_own(rig: Rig) -> None:
    wishes = [TokenWish(f"192.0.2.{n}", 8, 0, 20) for n in range(50)]
    assert await rig.store.tokens("a", wishes, TTL_MS) == [8] * 50
    assert await rig.store.tokens("b", wishes, TTL_MS) == [0] * 50
    assert await rig.store.tokens("b", [], TTL_MS) == []


moves = st.lists(
    st.tuples(st.sampled_from("abc"), st.integers(0, 5), st.integers(0, 6), st.integers(0, 4_000)),
    min_size=1,
    max_size=40,
)


@pytest.mark.parametrize("kind", ["embedded", "redis", "remote"])
@settings(max_examples=25, deadline=None)
@given(history=moves, most=st.integers(1, 4))
def test_no_history_has_more_in_use_than_there_are(
    kind: str,
    history: list[tuple[str, int, int, int]],
    most: int,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    asyncio.run(_use(kind, history, most, tmp_path_factory.mktemp("history")))


async def _use(kind: str, history: list[tuple[str, int, int, int]], most: int, root: Path) -> None:
    """Holders begin as many requests as they may, end some, and are gone when they are late."""
    backend = BACKENDS[kind](root, VirtualClock())
    rig = await open_rig(backend)
    used = dict.fromkeys("abc", 0)
    until = dict.fromkeys("abc", 0)
    for holder, ended, wanted, gap_ms in history:
        rig.tick(gap_ms / 1000)
        for name in used:
            if until[name] <= rig.now_ms:
                used[name] = 0
        used[holder] = max(0, used[holder] - ended)
        allowed = await take(rig, holder, used[holder], used[holder] + wanted, most)
        used[holder] = max(used[holder], min(allowed, used[holder] + wanted))
        until[holder] = rig.now_ms + TTL_MS
        assert sum(used.values()) <= most
    await backend.close()


# Values shared for a while


async def test_values_are_shared_until_their_time_is_over(rig: Rig) -> None:
    await rig.store.share({"dns:a.example": b"1 2.3", "dns:b.example": b""}, 5_000)
    names = ["dns:b.example", "dns:none.example", "dns:a.example"]
    assert await rig.store.shared(names) == [b"", None, b"1 2.3"]
    assert await rig.store.shared([]) == []
    rig.tick(4.999)
    await rig.store.share({"dns:b.example": b"again \x00\xff"}, 5_000)
    rig.tick(0.001)
    assert await rig.store.shared(names) == [b"again \x00\xff", None, None]
    await rig.store.share({}, 5_000)


async def test_values_that_are_shared_for_a_day_outlive_a_restart(rig: Rig) -> None:
    await rig.store.share({"t:a": b"1", "t:b": b"\x00"}, 86_400_000)
    rig.tick(10)
    await rig.store.share({"t:b": b"later"}, 86_400_000)
    await rig.restart()
    assert await rig.store.shared(["t:a", "t:b", "t:c"]) == [b"1", b"later", None]
    rig.tick(86_390)
    assert await rig.store.shared(["t:a", "t:b"]) == [None, b"later"]
    # What is over makes room for others, and takes nothing along that was shared anew.
    await rig.store.share({f"t:{n}": b"" for n in range(5)}, 86_400_000)
    assert await rig.store.shared(["t:a", "t:b", "t:4"]) == [None, b"later", b""]
    rig.tick(10)
    await rig.store.share({"t:5": b""}, 86_400_000)
    assert await rig.store.shared(["t:b", "t:4", "t:5"]) == [None, b"", b""]


@pytest.mark.parametrize("kind", SHARED)
async def test_members_see_what_others_share(kind: str, tmp_path: Path) -> None:
    backend: Any = BACKENDS[kind](tmp_path, VirtualClock())
    rig = await open_rig(backend)
    other: Store = await backend.join()
    await rig.store.share({f"n{n}": b"%d" % n for n in range(50)}, 5_000)
    assert await other.shared([f"n{n}" for n in range(50)]) == [b"%d" % n for n in range(50)]
    await backend.close()
