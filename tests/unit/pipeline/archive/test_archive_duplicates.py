"""Remembering payloads, within bounds."""

from skitter.pipeline.archive.duplicates import Recent
from skitter.pipeline.archive.model import Original


def original(number: int) -> Original:
    return Original(f"https://a.example/ü{number}", "2025-01-01T00:00:00.000Z", f"sha1:{number}")


def test_what_was_added_is_found() -> None:
    recent = Recent(10)
    recent.add({original(n).payload_digest: original(n) for n in range(3)})
    assert [recent.find(f"sha1:{n}") for n in range(4)] == [*map(original, range(3)), None]


def test_memory_is_bounded_and_what_is_met_again_is_kept() -> None:
    recent = Recent(100)
    for number in range(1000):
        recent.add({original(number).payload_digest: original(number)})
        assert recent.find("sha1:0") == original(0)
        assert len(recent) <= 100
    assert recent.find("sha1:999") == original(999)
    assert recent.find("sha1:950") == original(950)
    assert recent.find("sha1:500") is None
