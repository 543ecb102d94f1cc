"""What becomes of a webhook's state when something was sent, or could not be. Pure."""

import msgspec

from skitter.api.hooks.kept import HookState
from skitter.api.hooks.schedule import delay_s, is_given_up

MOST_ERROR: int = 300


def after_success(state: HookState, upto: str, events: int) -> HookState:
    """Return the state when events up to an id have arrived."""
    return msgspec.structs.replace(
        state,
        after=upto,
        delivered=state.delivered + events,
        failures=0,
        first_try_ms=0,
        next_try_ms=0,
        last_error=None,
    )


def after_nothing(state: HookState, upto: str) -> HookState:
    """Return the state when nothing up to an id is wanted."""
    return msgspec.structs.replace(state, after=upto)


def after_failure(
    state: HookState, why: str, now_ms: int, chance: float, given_up: tuple[str, int]
) -> HookState:
    """Return the state when a try came to nothing.

    ``given_up`` says where the events end that were tried, and how many they are: those are left
    out when they have been tried for a day. The next ones are then tried as seldom, until one
    arrives.
    """
    failures = state.failures + 1
    first_ms = state.first_try_ms or now_ms
    next_ms = now_ms + round(delay_s(failures, chance) * 1000)
    changed = msgspec.structs.replace(
        state,
        failures=failures,
        first_try_ms=first_ms,
        next_try_ms=next_ms,
        last_error=why[:MOST_ERROR],
    )
    if not is_given_up(first_ms, now_ms):
        return changed
    upto, events = given_up
    return msgspec.structs.replace(
        changed, after=upto, failed=state.failed + events, first_try_ms=0
    )
