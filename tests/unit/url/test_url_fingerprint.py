import pytest
from hypothesis import given
from url_strategies import HREFS

from skitter.url.canonical import canonicalize
from skitter.url.fingerprint import Fingerprinter, new_key

KEY = bytes(range(32))
PINNED = 0xECA05C94772B07CD


@given(HREFS, HREFS)
def test_fingerprints_are_equal_exactly_when_the_canonical_forms_are(one: str, two: str) -> None:
    fingerprint = Fingerprinter(KEY)
    first, second = canonicalize(one), canonicalize(two)
    assert (fingerprint(first) == fingerprint(second)) == (first == second)


@given(HREFS)
def test_spellings_of_one_page_have_one_fingerprint(href: str) -> None:
    fingerprint = Fingerprinter(KEY)
    spellings = {canonicalize(href), canonicalize(canonicalize(href) + "#part")}
    assert len({fingerprint(spelling) for spelling in spellings}) == 1


def test_a_fingerprint_has_64_bits_and_uses_them() -> None:
    fingerprint = Fingerprinter(KEY)
    found = [fingerprint(f"http://site.test/{number}") for number in range(2000)]
    assert len(set(found)) == 2000
    assert max(found) < 2**64
    assert max(found) > 2**63
    assert min(found) < 2**60


def test_fingerprints_stay_the_same_between_versions() -> None:
    assert Fingerprinter(KEY)("http://site.test/") == PINNED


def test_another_key_gives_other_fingerprints() -> None:
    assert Fingerprinter(new_key())("http://site.test/") != Fingerprinter(KEY)("http://site.test/")


def test_fresh_keys_differ_and_fit() -> None:
    assert new_key() != new_key()
    Fingerprinter(new_key())


@pytest.mark.parametrize("length", [0, 15, 65])
def test_a_key_that_is_too_short_or_too_long_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match=f"{length} bytes"):
        Fingerprinter(bytes(length))
