"""What can be set, and what is said to somebody who sets something else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.errors import ConfigError
from skitter.job.rate import Rate
from skitter.politeness.settings.values import (
    KEYS,
    Value,
    check_key,
    parse_changes,
    parse_value,
    plain_value,
    write_value,
)


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("delay", "2", 2.0),
        ("delay", "0.25", 0.25),
        ("delay", "1.5s", 1.5),
        ("delay", "0", 0.0),
        ("per_host", "4", 4),
        ("rate", "20/60s", Rate(20, 60_000)),
        ("rate", "100/2m", Rate(100, 120_000)),
        ("blacklist", "true", True),
        ("blacklist", "No", False),
        ("agent", "Spider/1.0 (+https://a.com)", "Spider/1.0 (+https://a.com)"),
        ("concurrency", "200", 200),
        ("depth", "0", 0),
        ("types", "text/html", ("text/html",)),
        ("types", "Text/HTML, application/*", ("text/html", "application/*")),
        ("types", "*/*", ("*/*",)),
    ],
)
def test_good_values_are_read(key: str, text: str, value: Value) -> None:
    assert parse_value(key, text) == value
    assert type(parse_value(key, text)) is type(value)


@pytest.mark.parametrize(
    ("key", "text", "wanted"),
    [
        ("delay", "-1", "seconds, from 0 to 86400"),
        ("delay", "soon", "seconds, from 0 to 86400"),
        ("delay", "nan", "seconds, from 0 to 86400"),
        ("delay", "inf", "seconds, from 0 to 86400"),
        ("delay", "86401", "seconds, from 0 to 86400"),
        ("delay", "", "seconds, from 0 to 86400"),
        ("per_host", "0", "a whole number from 1 to 1000"),
        ("per_host", "1.5", "a whole number from 1 to 1000"),
        ("per_host", "-3", "a whole number from 1 to 1000"),
        ("per_host", "٣", "a whole number from 1 to 1000"),
        ("rate", "0/0s", 'such as "20/60s"'),
        ("rate", "20/0s", 'such as "20/60s"'),
        ("rate", "fast", 'such as "20/60s"'),
        ("blacklist", "maybe", "true or false"),
        ("agent", " ", "printable ASCII text"),
        ("agent", "Spider\r\nX: y", "printable ASCII text"),
        ("agent", "Späher", "printable ASCII text"),
        ("concurrency", "0", "a whole number from 1 to 10000"),
        ("depth", "-1", "a whole number from 0 to 10000"),
        ("types", "html", "media types with commas between"),
        ("types", "text/html,", "media types with commas between"),
    ],
)
def test_bad_values_are_refused_with_what_was_wanted(key: str, text: str, wanted: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse_value(key, text)
    said = str(refused.value)
    assert said.startswith(f"{key}: {text!r}: wanted ")
    assert wanted in said


def test_an_impossible_rate_says_what_stops_a_site() -> None:
    with pytest.raises(ConfigError, match="blacklist=true"):
        parse_value("rate", "0/0s")


@pytest.mark.parametrize(
    ("key", "near"),
    [("dealy", "delay"), ("per-host", "per_host"), ("Rates", "rate"), ("blacklisted", "blacklist")],
)
def test_an_unknown_key_is_told_the_nearest_one(key: str, near: str) -> None:
    with pytest.raises(ConfigError, match=f'{key}: unknown setting; did you mean "{near}"'):
        check_key(key)


def test_a_key_like_no_other_is_told_all_of_them() -> None:
    with pytest.raises(ConfigError, match="wanted one of delay, per_host, rate, rate_ip"):
        check_key("xyzzy")


def test_words_are_taken_all_or_none() -> None:
    assert parse_changes(["delay=2", "types=text/html,text/*"]) == {
        "delay": 2.0,
        "types": ("text/html", "text/*"),
    }
    for words, why in [
        (["delay=2", "rate=0/0s"], "rate: "),
        (["delay"], "'delay': wanted key=value"),
        (["delay=1", "delay=2"], "delay: given twice"),
        ([], "nothing to set"),
        (["=2"], ": unknown setting"),
    ]:
        with pytest.raises(ConfigError, match=why):
            parse_changes(words)


def test_an_agent_may_hold_an_equals_sign() -> None:
    assert parse_changes(["agent=Spider (mode=slow)"]) == {"agent": "Spider (mode=slow)"}


values = st.one_of(
    st.tuples(st.just("delay"), st.floats(0, 86_400)),
    st.tuples(st.just("per_host"), st.integers(1, 1000)),
    st.tuples(
        st.just("rate"),
        st.builds(Rate, st.integers(1, 10_000), st.integers(1_000, 86_400_000)),
    ),
    st.tuples(st.just("blacklist"), st.booleans()),
    st.tuples(st.just("depth"), st.integers(0, 10_000)),
    st.tuples(
        st.just("types"),
        st.lists(st.sampled_from(["text/html", "text/*", "*/*"]), min_size=1).map(tuple),
    ),
)


@given(values)
def test_a_written_value_reads_as_itself(pair: tuple[str, Value]) -> None:
    key, value = pair
    assert parse_value(key, write_value(value)) == value


@given(st.sampled_from(sorted(KEYS)), st.text())
def test_any_text_is_a_value_or_is_refused(key: str, text: str) -> None:
    try:
        value = parse_value(key, text)
    except ConfigError:
        return
    assert parse_value(key, write_value(value)) == value


def test_values_in_json_are_plain() -> None:
    assert plain_value(Rate(20, 60_000)) == "20/60s"
    assert plain_value(("text/html",)) == ["text/html"]
    assert plain_value(2.5) == 2.5
    assert plain_value(True) is True
