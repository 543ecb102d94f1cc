"""When pages are visited again, as a job file says it."""

import json

import pytest

from skitter.errors import ConfigError
from skitter.job.refresh import Policy, read_time_s
from skitter.job.spec import Job, Kind, Sitemaps, check_job
from skitter.url.scope import ScopeKind

ENTRY = {"entries": ["https://example.com/"]}


@pytest.mark.parametrize(
    ("said", "policy", "seconds"),
    [
        ("never", Policy.NEVER, None),
        ("90s", Policy.PERIOD, 90),
        ("10m", Policy.PERIOD, 600),
        ("1.5h", Policy.PERIOD, 5_400),
        ("2d", Policy.PERIOD, 172_800),
        ({"policy": "window", "days": 3}, Policy.WINDOW, 259_200),
        ({"policy": "period", "every": "6h"}, Policy.PERIOD, 21_600),
    ],
)
def test_words_times_and_tables_are_read_and_survive_storing(
    said: object, policy: Policy, seconds: float | None
) -> None:
    job = check_job({**ENTRY, "refresh": said}, "job.toml")
    again = Job.from_json(job.to_json())
    for one in (job, again):
        assert one.refresh.policy is policy
        assert one.refresh.seconds == seconds


@pytest.mark.parametrize(
    ("said", "wanted"),
    [
        ("soon", '"soon"|10m'),
        ("0s", "from 1s"),
        ("10", "10m"),
        (7, "never"),
        ({"policy": "window"}, "days"),
        ({"policy": "window", "days": -1}, "days"),
        ({"policy": "period", "days": 1}, "every"),
        ({"policy": "sometimes"}, "never, period or window|policy"),
        ({"policy": "adaptive"}, "not available yet"),
        ("classes", "not available yet"),
        ({"polcy": "window"}, "policy"),
    ],
)
def test_anything_else_is_refused_by_name(said: object, wanted: str) -> None:
    with pytest.raises(ConfigError) as caught:
        check_job({**ENTRY, "refresh": said}, "job.toml")
    assert "job.toml: refresh" in str(caught.value)
    assert any(word in str(caught.value) for word in wanted.split("|")), caught.value


def test_what_is_to_come_is_told_in_one_line() -> None:
    said = {"policy": "adaptive", "min": "5m", "max": "7d"}
    with pytest.raises(ConfigError) as caught:
        check_job({**ENTRY, "refresh": said, "http": {"proxy": "p"}}, "job.toml")
    assert str(caught.value).splitlines() == [
        'job.toml: refresh.policy: "adaptive" is not available yet',
        "job.toml: http.proxy: not available yet",
    ]


def test_kinds_have_their_defaults() -> None:
    news = check_job({**ENTRY, "kind": "news"}, "job")
    assert (news.depth, news.scope, news.sitemaps) == (2, ScopeKind.DOMAIN, Sitemaps.NO)
    resolve = check_job({**ENTRY, "kind": "resolve"}, "job")
    assert (resolve.depth, resolve.scope) == (0, ScopeKind.ANY)
    assert check_job({**ENTRY, "kind": "news", "depth": 5}, "job").depth == 5
    assert {kind.value for kind in Kind} == {"site", "web", "list", "news", "resolve"}


def test_article_patterns_are_for_news_jobs_and_checked_in_all() -> None:
    assert check_job({**ENTRY, "article": ["/a/"]}, "job").unused == [
        "article: only kind news uses it, not site"
    ]
    assert check_job({**ENTRY, "kind": "news", "article": ["/a/"]}, "job").unused == []
    with pytest.raises(ConfigError, match=r"article\[0\].*RE2"):
        check_job({**ENTRY, "article": ["(?=x)"]}, "job")
    with pytest.raises(ConfigError, match=r"article\[0\].*RE2"):
        check_job({**ENTRY, "kind": "news", "article": ["(?=x)"]}, "job")


def test_the_schema_takes_both_forms() -> None:
    said = Job.model_json_schema()["properties"]["refresh"]
    assert {"string", None} == {choice.get("type") for choice in said["anyOf"]}, json.dumps(said)


def test_a_time_has_a_unit() -> None:
    with pytest.raises(ValueError, match="wanted a time"):
        read_time_s("10 minutes")
