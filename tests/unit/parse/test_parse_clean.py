"""Text as it is kept."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.parse.clean import clean
from skitter.parse.metadata import collapse


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("plain", "plain"),
        ("two\nlines\tand a tab", "two\nlines\tand a tab"),
        ("a\x00b\x07c\x7fd\x9fe", "abcde"),
        ("soft\u00adhyphen zero\u200bwidth \ufeffmark", "softhyphen zerowidth mark"),
        ("e\u0301te\u0301", "été"),
        ("1\u00a0000\u202f000", "1 000 000"),
        ("\u202eevil\u202c", "evil"),
        ("line\u2028break\u0085here", "line\nbreak\nhere"),
        ("نمی\u200cخواهم", "نمی\u200cخواهم"),
        ("👩\u200d🔬", "👩\u200d🔬"),
        ("汉字，全角", "汉字，全角"),
    ],
)
def test_invisible_characters_go_and_the_rest_stays(text: str, kept: str) -> None:
    assert clean(text) == kept


@given(st.text())
def test_cleaning_is_done_once(text: str) -> None:
    once = clean(text)
    assert clean(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert not any(unicodedata.category(char) == "Cc" and char not in "\t\n\r" for char in once)


def test_titles_are_cleaned() -> None:
    assert collapse("  The\u00a0\u200bTitle\x00\n of  it ") == "The Title of it"
