"""Signatures, when a message is sent again, and what is kept of it."""

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.api.hooks.kept import Hook, HookState, read_hook, read_state
from skitter.api.hooks.schedule import GIVE_UP_S, LONGEST_S, delay_s
from skitter.api.hooks.signature import is_signed, new_secret, sign
from skitter.api.hooks.step import after_failure, after_nothing, after_success

SECRET = "0123456789abcdef"


def test_the_signature_is_the_hmac_of_time_and_body() -> None:
    made = hmac.new(SECRET.encode(), b'1750000000.{"a":1}', hashlib.sha256).hexdigest()
    assert sign(SECRET, 1_750_000_000, b'{"a":1}') == f"t=1750000000,v1={made}"


@pytest.mark.parametrize(
    ("secret", "header", "body", "now_s"),
    [
        ("another secret!!", None, b"body", 100),
        (SECRET, None, b"other", 100),
        (SECRET, None, b"body", 500),
        (SECRET, "v1=abc", b"body", 100),
        (SECRET, "t=x,v1=abc", b"body", 100),
        (SECRET, "", b"body", 100),
    ],
)
def test_what_is_not_signed_so_is_refused(
    secret: str, header: str | None, body: bytes, now_s: int
) -> None:
    made = sign(SECRET, 100, b"body")
    assert is_signed(SECRET, made, b"body", 100)
    assert not is_signed(secret, made if header is None else header, body, now_s)


def test_no_secret_is_made_twice() -> None:
    assert len({new_secret() for _ in range(50)}) == 50


@given(st.integers(1, 10_000), st.floats(0, 1))
def test_waits_grow_to_an_hour_and_are_spread(failures: int, chance: float) -> None:
    wait = delay_s(failures, chance)
    full = delay_s(failures, 0)
    assert full / 2 <= wait <= full <= LONGEST_S
    assert delay_s(failures + 1, 0) >= full


def test_a_message_is_tried_for_a_day_and_then_given_up() -> None:
    state, now_ms, tries = HookState(after="1"), 1_000_000, 0
    while not state.failed:
        state = after_failure(state, "refused", now_ms, 0.5, ("5", 4))
        tries += 1
        waited_ms = state.next_try_ms - now_ms
        now_ms = state.next_try_ms
    assert (state.after, state.failed, state.first_try_ms) == ("5", 4, 0)
    assert now_ms - waited_ms - 1_000_000 >= GIVE_UP_S * 1000
    assert 30 < tries < 80
    assert state.failures == tries


def test_what_arrives_ends_the_trouble() -> None:
    failed = after_failure(HookState(after="1", delivered=3), "refused", 1_000, 0, ("2", 1))
    assert failed.after == "1"
    assert failed.last_error == "refused"
    assert after_success(failed, "2", 1) == HookState(after="2", delivered=4)
    assert after_nothing(failed, "9").after == "9"


def test_what_is_kept_can_be_read_again() -> None:
    hook = Hook(
        id="a", url="http://x/", secret=SECRET, types=("page",), created_ms=5, start="7", job="j"
    )
    assert read_hook(hook.encode()) == hook
    assert read_hook(b"") is None
    assert hook.filter.wants({"type": "page", "job": "j"})
    assert not hook.filter.wants({"type": "job", "job": "j"})
    state = HookState(after="9", delivered=2)
    assert read_state(state.encode(), "7") == state
    assert read_state(None, "7") == HookState(after="7")
