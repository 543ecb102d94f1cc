from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skitter.errors import ConfigError
from skitter.job.keywords import (
    MAX_FILE_BYTES,
    MAX_KEYWORD_CHARS,
    MAX_KEYWORDS,
    fold_keyword,
    read_keywords,
)


@pytest.mark.parametrize(
    ("text", "keywords"),
    [
        ("election", ("election",)),
        ("election ballot  vote", ("election", "ballot", "vote")),
        ("election, climate change", ("election", "climate change")),
        ("climate change;\tsea  level ;", ("climate change", "sea level")),
        ("one\ntwo words", ("one", "two words")),
        ('"climate change" flood', ("climate change", "flood")),
        ('"a, b", c', ("a, b", "c")),
        ("“sea level” storm", ("sea level", "storm")),
        ("选举，气候变化、洪水", ("选举", "气候变化", "洪水")),
        ("選挙\u3000投票", ("選挙", "投票")),
        ("Election ELECTION election", ("election",)),
        ("ＡＢＣ abc ﾐﾗｲ", ("abc", "ミライ")),
        ("Straße STRASSE", ("strasse",)),
        ("c++ .net 5G", ("c++", ".net", "5g")),
        (",, a ,,", ("a",)),
    ],
)
def test_a_flag_holds_words_or_phrases(text: str, keywords: tuple[str, ...]) -> None:
    assert read_keywords(text) == keywords


@pytest.mark.parametrize("text", ["", "  ", ",;,", '""', "\n"])
def test_a_flag_without_a_word_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"--keywords: no keyword given; wanted words"):
        read_keywords(text)


def test_a_word_without_letter_or_digit_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"--keywords: '--' has no letter or digit"):
        read_keywords("vote, --")


def test_an_open_quote_is_refused() -> None:
    with pytest.raises(ConfigError, match="a quote is not closed"):
        read_keywords('"climate change, flood')


def test_an_argument_in_another_encoding_is_refused_at_its_byte() -> None:
    argument = "née, ".encode() + "élection".encode("latin-1")
    with pytest.raises(ConfigError, match=r"--keywords: not UTF-8 text \(byte 6\)"):
        read_keywords(argument.decode("utf-8", "surrogateescape"))


def test_a_file_has_one_word_or_phrase_a_line(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(
        "\ufeff# topic\nElection\r\n\n  climate change \n# end\n选举\nflood\n".encode()
    )
    assert read_keywords(f"@{path}") == ("election", "climate change", "选举", "flood")


def test_commas_separate_in_a_file_too(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text('sea level, "storm surge"\ntide', "utf-8")
    assert read_keywords(f"@{path}") == ("sea level", "storm surge", "tide")


@pytest.mark.parametrize(
    ("raw", "byte"),
    [
        (b"vote\n\xe9lection\n", 5),
        ("选举\n".encode("gbk"), 2),
        ("vote\n".encode("utf-16"), 0),
        ("vote\n".encode("utf-16-le"), 1),
    ],
)
def test_a_file_in_another_encoding_is_refused_at_its_byte(
    tmp_path: Path, raw: bytes, byte: int
) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(raw)
    with pytest.raises(ConfigError) as caught:
        read_keywords(f"@{path}")
    assert str(caught.value).startswith(f"{path}: not UTF-8 text (byte {byte}); wanted words")


def test_a_bad_line_of_a_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_text("vote\n" + "x" * (MAX_KEYWORD_CHARS + 1), "utf-8")
    with pytest.raises(ConfigError) as caught:
        read_keywords(f"@{path}")
    assert f"{path}:2: 'xxxx" in str(caught.value)
    assert "longer than 100 characters" in str(caught.value)


@pytest.mark.parametrize("text", ["", "# only a comment\n\n"])
def test_a_file_without_a_word_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "words.txt"
    path.write_text(text, "utf-8")
    with pytest.raises(ConfigError, match=rf"{path}: no keyword given"):
        read_keywords(f"@{path}")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    missing = tmp_path / "missing.txt"
    with pytest.raises(ConfigError, match=rf"--keywords: {missing}: cannot be read: No such file"):
        read_keywords(f"@{missing}")
    with pytest.raises(ConfigError, match=rf"{tmp_path}: cannot be read"):
        read_keywords(f"@{tmp_path}")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_keywords("@a\0b")


def test_an_endless_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "words.txt"
    path.write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    with pytest.raises(ConfigError, match=f"longer than {MAX_FILE_BYTES} bytes"):
        read_keywords(f"@{path}")


def test_too_many_keywords_are_refused() -> None:
    words = [f"word{n}" for n in range(MAX_KEYWORDS + 1)]
    assert len(read_keywords(",".join(words[:-1]))) == MAX_KEYWORDS
    with pytest.raises(ConfigError, match="more than 1000 keywords"):
        read_keywords(",".join(words))


@settings(max_examples=50)
@given(st.text(max_size=30))
def test_any_text_is_taken_apart_or_refused(text: str) -> None:
    if text.startswith("@"):
        return
    try:
        keywords = read_keywords(text)
    except ConfigError:
        return
    assert keywords
    assert [fold_keyword(word) for word in keywords] == list(keywords)
    assert len(set(keywords)) == len(keywords)
