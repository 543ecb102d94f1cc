from hypothesis import given
from hypothesis import strategies as st

from skitter.politeness.sealed import seal, unseal


@given(st.binary(), st.integers(0, 255))
def test_what_was_sealed_comes_back_under_its_own_version_only(payload: bytes, v: int) -> None:
    data = seal(v, payload)
    assert unseal(v, data) == payload
    assert unseal((v + 1) % 256, data) is None


@given(st.binary(min_size=1), st.data())
def test_a_changed_or_cut_record_is_noticed(payload: bytes, data: st.DataObject) -> None:
    sealed = seal(1, payload)
    at = data.draw(st.integers(0, len(sealed) - 1))
    bit = 1 << data.draw(st.integers(0, 7))
    assert unseal(1, sealed[:at] + bytes([sealed[at] ^ bit]) + sealed[at + 1 :]) is None
    assert unseal(1, sealed[:4]) is None
