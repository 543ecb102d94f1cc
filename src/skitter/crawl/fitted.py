"""Rules that have fitted nothing: a slip in one of them looks like a site without such pages."""

from collections.abc import Collection, Mapping
from typing import Final

from pydantic import BaseModel
from xxhash import xxh3_64_hexdigest

from skitter.crawl.totals import Totals
from skitter.job.spec import Job, Kind
from skitter.types import JobNumber

DETAIL: Final = "detail"
LIST: Final = "list"
ITEMS: Final = "from"
ITEM_URL: Final = "detail_url"
NEXT: Final = "next"
ITEM_FIELD: Final = "fields."
"""What stands before the name of a list's field where rules are counted."""
ARTICLES: Final = "article"
JUMPS: Final = "jump"
EDITION: Final = "~"
"""Stands between a rule set and its digest where rules are counted."""
COUNTED: Final = "counted"
"""Stands among the rules that have fitted where their links are counted from the first page on."""


class Fitted:
    """Which rules for links have fitted a link; told once for each."""

    def __init__(self) -> None:
        self._names: set[str] = set()
        self._told: set[str] = set()
        self.saw = self._names.add
        """Takes the name of a rule that has."""

    def __contains__(self, name: str) -> bool:
        return name in self._names

    def begin(self, totals: Totals) -> None:
        """Say with the first pages of a job, and only with them, that rules are counted."""
        if not totals.pages:
            self.saw(COUNTED)

    def take(self) -> set[str]:
        """Return the rules that have fitted something for the first time since the last call."""
        if len(self._names) == len(self._told):
            return set()
        news = self._names - self._told
        self._told |= news
        return news


def fitted_mark(job: JobNumber) -> str:
    """Return the beginning of the names under which rules of a job are kept that have fitted."""
    return f"fitted:{job}:"


def link_rule(number: int) -> str:
    """Return the name of a rule for links."""
    return f"links[{number}]"


def editions(job: Job) -> dict[str, str]:
    """Return a digest of each rule set of a job: another one once its rules are changed."""
    sets: dict[str, BaseModel] = {DETAIL: job.detail, **job.rules}
    if job.list_ is not None:
        sets[LIST] = job.list_
    said = {name: rules.model_dump_json().encode() for name, rules in sets.items()}
    return {name: xxh3_64_hexdigest(words)[:8] for name, words in said.items()}


def of_today(job: Job, filled: Mapping[str, int]) -> dict[str, int]:
    """Return what was counted of the rules that a job has now, not of those it had once."""
    now, counted = editions(job), {}
    for name, n in filled.items():
        rule, _, field = name.partition(".")
        rule, _, edition = rule.partition(EDITION)
        if not edition or now.get(rule) == edition:
            counted[f"{rule}.{field}" if field else rule] = n
    return counted


def unmatched(job: Job, filled: Mapping[str, int]) -> dict[str, int]:
    """Return the rules that found nothing on any page, and on how many they were tried."""
    named = {DETAIL: list(job.detail.fields)}
    named |= {name: list(rules.fields) for name, rules in job.rules.items()}
    if (rules := job.list_) is not None:
        named[LIST] = [ITEMS]
        if filled.get(f"{LIST}.{ITEMS}"):
            # Without items there is nothing in them either.
            named[LIST] += [ITEM_URL] if rules.continue_ else []
            named[LIST] += [f"{ITEM_FIELD}{name}" for name in rules.fields]
            named[LIST] += [NEXT] if rules.next is not None else []
    return {
        f"{rule}.{name}": filled[rule]
        for rule, names in named.items()
        for name in names
        if filled.get(rule) and not filled.get(f"{rule}.{name}")
    }


def warnings_of(job: Job, totals: Totals, marks: Collection[str]) -> list[str]:
    """Return in words what a job says that has come to nothing so far.

    ``marks`` are the names under which rules for links are kept that have fitted. Of a job that has
    begun where nobody counted them it is not known.
    """
    nothing = unmatched(job, of_today(job, totals.filled))
    told = [f"rule {rule} found nothing on {_pages(n)}" for rule, n in nothing.items()]
    fitted = {mark.rpartition(":")[2] for mark in marks}
    rules = [link_rule(number) for number in range(len(job.links))]
    rules += [JUMPS] if job.jump else []
    rules += [ARTICLES] if job.article and job.kind is Kind.NEWS else []
    if totals.ok and COUNTED in fitted:
        left = (rule for rule in rules if rule not in fitted)
        told += [f"rule {rule} fits no link of {_pages(totals.ok)}" for rule in left]
    return [*job.unused, *told]


def _pages(n: int) -> str:
    return f"{n:,} page{'' if n == 1 else 's'}"
