import dataclasses

import pytest

from skitter.politeness.decision import ALLOWED, Code, Decision


def test_a_refusal_says_why_in_a_word_and_in_a_sentence() -> None:
    refusal = Decision.refuse(Code.DEPTH, "depth 4 is beyond 3", retry_at_ms=5)
    assert not refusal.allowed
    assert f"{refusal.code}: {refusal.sentence}" == "depth: depth 4 is beyond 3"
    assert refusal.retry_at_ms == 5
    assert ALLOWED.allowed


def test_a_decision_is_a_value() -> None:
    one, two = (Decision.refuse(Code.SCOPE, "another host") for _ in range(2))
    assert one == two
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.allowed = True  # type: ignore[misc]
