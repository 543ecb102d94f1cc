"""Both languages say the same things, and say everything that pages ask for."""

import re
from pathlib import Path
from string import Formatter

import pytest

from skitter.api import dashboard
from skitter.api.dashboard.draft import check_spec
from skitter.api.dashboard.i18n.words import TABLES, Words, choose
from skitter.client.base import Role
from skitter.crawl.explain import _STATE_WORDS

SOURCES = sorted(Path(dashboard.__file__).parent.glob("*.py"))
ASKED = re.compile(r'words\(\s*"([a-z_.]+)"|_words\("([a-z_.]+)"')


def _places(text: str) -> set[str | None]:
    return {name for _, name, _, _ in Formatter().parse(text) if name is not None}


def test_languages_have_the_same_keys() -> None:
    assert TABLES["en"].keys() == TABLES["zh"].keys()


@pytest.mark.parametrize("key", sorted(TABLES["en"]))
def test_languages_have_the_same_places_for_values(key: str) -> None:
    assert _places(TABLES["en"][key]) == _places(TABLES["zh"][key])
    assert TABLES["zh"][key].strip()


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_pages_ask_for_words_that_are_there(path: Path) -> None:
    asked = {one or other for one, other in ASKED.findall(path.read_text())}
    assert asked <= TABLES["en"].keys()


def test_chinese_is_chinese() -> None:
    latin = {key for key, text in TABLES["zh"].items() if text.isascii()}
    assert latin <= {"sites.robots", "sites.agent"}


def test_every_role_has_a_name() -> None:
    assert {f"role.{role}" for role in Role} <= TABLES["en"].keys()


def test_values_come_into_their_places() -> None:
    assert Words("en")("time.ago", span="3 s") == "3 s ago"
    assert Words("zh")("time.ago", span="3 秒") == "3 秒前"


def test_a_state_that_is_newer_than_the_table_is_shown_as_it_is() -> None:
    assert Words("en").known("state", "hibernating") == "hibernating"


@pytest.mark.parametrize(
    ("cookie", "accepted", "chosen"),
    [
        ("zh", "en", "zh"),
        ("xx", "zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        (None, "de-DE, en;q=0.5", "en"),
        (None, None, "en"),
    ],
)
def test_the_language_is_the_remembered_one_or_the_first_known(
    cookie: str | None, accepted: str | None, chosen: str
) -> None:
    assert choose(cookie, accepted) == chosen


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ({"entries": ["no url"]}, 'entries[0]："no url"：应为http 或 https 网址'),
        ({"depth": -1}, "depth：-1：应为不小于 0 的数"),
        ({"priority": 12}, "priority：12：应为不大于 9 的数"),
        ({"polite": {"delay": "fast"}}, 'polite.delay："fast"：应为数字'),
        ({"entris": []}, 'entris：未知的名称，是否指 "entries"？'),
    ],
)
def test_what_a_check_says_is_said_in_chinese(spec: dict[str, object], said: str) -> None:
    [line] = check_spec(spec).values()
    assert Words("zh").said(line) == said
    assert Words("en").said(line) == line


def test_refusals_of_the_service_are_said_in_chinese_and_others_as_they_are() -> None:
    words = Words("zh")
    gone = "job neews: there is none of that id; did you mean news?"
    assert words.said(gone) == "没有任务 neews，是否指 news？"
    private = "entries[0]: a private address; wanted an address that all can reach"
    assert words.said(private) == "entries[0]：private 地址；应为公网可访问的地址"
    assert words.said("something new; nobody has a word for it") == (
        "something new; nobody has a word for it"
    )


def test_why_a_page_is_as_it_is_is_said_in_chinese() -> None:
    words = Words("zh")
    for sentence in _STATE_WORDS.values():
        assert words.said(sentence) != sentence
    failed = "was given up or refused (http_error): status 404"
    assert words.said(failed) == "已放弃或被拒绝：状态 404"
    led = "redirects to http://a.test/x;y=1, which has a record of its own"
    assert words.said(led) == "重定向到 http://a.test/x;y=1，该网址有自己的记录"


def test_what_is_said_of_names_with_braces_does_no_harm() -> None:
    assert Words("zh").said('id: "{x} {0}": wanted a string') == 'id："{x} {0}"：应为文本'
