"""What the bench of the store says of its bar."""

import pytest
from bench.store import Measured, verdict


def measured(**fields: object) -> Measured:
    given = {"seen": "exact", "urls": 1_000_000, "hosts": 1_000, "known": 9.2, "queued": 112.0}
    given |= {"total": 122.0} | fields
    rest = dict.fromkeys(
        ("passed_over", "offer_us", "per_host", "claim_s", "ack_s", "client_ms"), 0
    )
    return Measured(**(rest | given))  # type: ignore[arg-type]


@pytest.mark.parametrize(("known", "met"), [(9.2, True), (70.1, False)])
def test_the_bar_is_for_a_known_url_and_those_that_wait_are_told_beside(
    known: float, met: bool
) -> None:
    lines, is_met = verdict([measured(known=known), measured(seen="compact", known=99.0)])
    assert is_met is met
    assert lines[0].endswith("met" if met else "MISSED")
    assert lines[1:] == [
        "with its host and 100% of them waiting, 1,000 hosts: 122.0, above 70",
        "with its host and 30% of them waiting, 1,000 hosts: 43.6, within 70",
    ]


def test_without_an_exact_seen_set_there_is_no_bar() -> None:
    assert verdict([measured(seen="bloom")]) == ([], True)
