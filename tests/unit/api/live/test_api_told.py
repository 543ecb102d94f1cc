"""Events as they are read from a store."""

import pytest

from skitter.api.live.told import read_event


def test_an_event_is_told_with_its_id() -> None:
    event = read_event("7-1", b'{"type": "job", "job": "a"}')
    assert event is not None
    assert event.body() == {"id": "7-1", "type": "job", "job": "a"}


@pytest.mark.parametrize("raw", [b"", b"[1]", b'{"type": "\xff"}', b"\xff"])
def test_what_is_none_is_left_out(raw: bytes) -> None:
    assert read_event("1", raw) is None
