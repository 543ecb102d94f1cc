"""Answers ``skitter probe robots``: whether an agent may fetch a URL under a robots.txt."""

from collections.abc import Mapping

from skitter.errors import ConfigError
from skitter.politeness.robots import RobotsRules
from skitter.politeness.robots_pattern import path_of


def answer(question: Mapping[str, object]) -> dict[str, object]:
    """Answer ``{"robots_txt", "agent", "url"}``; raises ``ConfigError`` naming a bad field."""
    rules = RobotsRules.parse(_text(question, "robots_txt"))
    ours = rules.for_agent(_text(question, "agent"))
    decision = ours.decide(path_of(_text(question, "url")))
    return {
        "allowed": decision.allowed,
        "crawl_delay": ours.crawl_delay,
        "sitemaps": list(rules.sitemaps),
        "rule": decision.rule,
        "line": decision.line,
        "group": decision.group,
    }


def _text(question: Mapping[str, object], field: str) -> str:
    if field not in question:
        raise ConfigError(f"{field}: missing; wanted a string")
    value = question[field]
    if not isinstance(value, str):
        raise ConfigError(f"{field}: {type(value).__name__}; wanted a string")
    return value
