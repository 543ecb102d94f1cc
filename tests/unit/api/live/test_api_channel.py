"""What a listener is sent follows from its place: nothing twice, nothing lost uncounted."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.api.live.channel import HELD, KEPT, Channel, Piece
from skitter.api.live.filters import Filter
from skitter.api.live.told import Told


def event(n: int, kind: str = "page") -> Told:
    return Told(str(n), {"type": kind, "at": "2026-01-01T00:00:00Z"})


def sent(piece: Piece) -> list[tuple[int, int]]:
    """Return ids and drop counts of the messages in a piece."""
    found = []
    for message in piece.data.decode().split("\n\n")[:-1]:
        facts = json.loads(message.partition("data: ")[2])
        found.append((int(facts["id"]), facts.get("dropped", 0)))
    return found


@pytest.fixture
def channel() -> Channel:
    return Channel(Filter())


def test_few_events_are_sent_one_after_the_other(channel: Channel) -> None:
    for n in range(5):
        channel.add(event(n))
    first = channel.piece(0, 2)
    assert sent(first) == [(0, 0), (1, 0)]
    second = channel.piece(first.place, 5)
    assert sent(second) == [(2, 0), (3, 0), (4, 0)]
    assert channel.piece(second.place, 5) == Piece(b"", 0, 0, 5)


def test_a_flood_leaves_out_the_oldest_and_counts_them(channel: Channel) -> None:
    for n in range(100):
        channel.add(event(n))
    piece = channel.piece(0, 1)
    assert sent(piece) == [(100 - HELD, 100 - HELD)]
    assert piece.dropped == 100 - HELD


def test_rare_events_are_sent_before_a_flood_of_pages_goes_on(channel: Channel) -> None:
    for n in range(100):
        channel.add(event(n, "alarm" if n in {10, 30} else "page"))
    piece = channel.piece(0, 5)
    assert sent(piece) == [(10, 10), (30, 19)]
    assert sent(channel.piece(piece.place, 1)) == [(80, 49)]


def test_a_listener_who_is_too_far_behind_learns_how_much_it_lost(channel: Channel) -> None:
    for n in range(KEPT + 50):
        channel.add(event(n))
    piece = channel.piece(0, 1)
    assert sent(piece) == [(KEPT + 50 - HELD, KEPT + 50 - HELD)]


def test_listeners_at_one_place_share_their_bytes(channel: Channel) -> None:
    for n in range(3):
        channel.add(event(n))
    assert channel.piece(0, 2).data is channel.piece(0, 2).data
    before = channel.piece(0, 2)
    channel.add(event(3))
    assert channel.piece(0, 2) == before


steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.integers(1, 60)),
        st.tuples(st.just("rare"), st.integers(1, 3)),
        st.tuples(st.just("send"), st.integers(1, 5)),
    ),
    max_size=60,
)


@given(steps)
def test_every_event_is_sent_once_or_counted_once(script: list[tuple[str, int]]) -> None:
    channel, place, added = Channel(Filter()), 0, 0
    got: list[tuple[int, int]] = []
    for what, n in [*script, *[("send", 5)] * HELD * 60]:
        if what == "send":
            piece = channel.piece(place, n)
            place = piece.place
            assert piece.messages == len(sent(piece)) <= n
            assert piece.dropped == sum(dropped for _, dropped in sent(piece))
            got += sent(piece)
            continue
        for _ in range(n):
            channel.add(event(added, "page" if what == "add" else "job"))
            added += 1
    assert sum(1 + dropped for _, dropped in got) == added
    ids = [n for n, _ in got]
    assert ids == sorted(set(ids))


def test_what_was_left_out_before_it_was_published_is_counted_as_well(channel: Channel) -> None:
    for n in range(30):
        channel.add(Told(str(n), {"type": "page", "dropped": 7}))
    assert sent(channel.piece(0, 1)) == [(10, 17)]
