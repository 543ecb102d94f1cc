import pytest

from skitter.cli.probes.robots import answer
from skitter.errors import ConfigError


def test_the_answer_holds_the_verdict_the_delay_and_the_sitemaps() -> None:
    robots = "User-agent: *\nDisallow: /x\nCrawl-delay: 2\nSitemap: https://a.example/s.xml\n"
    assert answer({"robots_txt": robots, "agent": "a", "url": "https://a.example/x"}) == {
        "allowed": False,
        "crawl_delay": 2.0,
        "sitemaps": ["https://a.example/s.xml"],
        "rule": "Disallow: /x",
        "line": 2,
        "group": "*",
    }


def test_an_empty_question_is_allowed() -> None:
    assert answer({"robots_txt": "", "agent": "", "url": ""})["allowed"] is True


@pytest.mark.parametrize("field", ["robots_txt", "agent", "url"])
def test_a_missing_or_wrong_field_is_named(field: str) -> None:
    question: dict[str, object] = {"robots_txt": "", "agent": "a", "url": "/"}
    with pytest.raises(ConfigError, match=f"{field}: int; wanted a string"):
        answer({**question, field: 7})
    del question[field]
    with pytest.raises(ConfigError, match=f"{field}: missing"):
        answer(question)
