"""What the rules of a job take of its pages; records that lack a required field are set aside."""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from skitter.clock import Clock
from skitter.crawl.link_rules import LinkRules
from skitter.frontier.model import Lease
from skitter.job.rules import NOTHING
from skitter.job.spec import Job
from skitter.parse.page import ParsedPage
from skitter.parse.rules.ruleset import Fields, Picked, make_sight
from skitter.pipeline.record import PageRecord
from skitter.types import Outcome, PageClass

DETAIL: Final = "detail"
_EMPTY: Final = "is empty"
_REJECT = re.compile(r"rule ([^:]+): field ([^:]+): (.*)")


class Reject(NamedTuple):
    """Why a record was set aside."""

    rule: str
    field: str
    reason: str


class Extraction:
    """The rule sets of one job, compiled."""

    def __init__(self, job: Job, links: LinkRules | None, clock: Clock) -> None:
        self._links = links
        self._clock = clock
        named = {DETAIL: job.detail, **job.rules}
        self._sets: Mapping[str, Fields] = {
            name: Fields(rules.fields) for name, rules in named.items() if rules.fields
        }

    @classmethod
    def of(cls, job: Job, links: LinkRules | None, clock: Clock) -> "Extraction | None":
        """Return what a job takes of its pages; None where it takes nothing."""
        made = cls(job, links, clock)
        return made if made._sets else None

    def rule_of(self, lease: Lease) -> str:
        """Return the name of the rule set for a page; "none" for nothing."""
        if self._links is not None:
            said = self._links.decide(lease.url, lease.host).extract
            if said is not None:
                return said
        return DETAIL if lease.page_class is PageClass.DATA else NOTHING

    def read(self, record: PageRecord, page: ParsedPage, lease: Lease) -> None:
        """Fill in the fields of a page; without a required one its record is set aside."""
        rule = self.rule_of(lease)
        fields = self._sets.get(rule)
        if fields is None or page.document is None or page.joiner is None:
            return
        sight = make_sight(page.document, page.joiner, now=self._clock.now_ms() / 1000)
        picked = fields.read(page.document, sight)
        record.fields = picked.fields
        if picked.missing:
            record.outcome = Outcome.REJECTED
            record.error = reject_words(rule, picked)


def reject_words(rule: str, picked: Picked) -> str:
    """Say in the words of a record why it is set aside."""
    reasons = {name: _reason(name, picked) for name in picked.missing}
    return "; ".join(f"rule {rule}: field {name}: {why}" for name, why in reasons.items())


def _reason(name: str, picked: Picked) -> str:
    # What was there and could not be used says more than that nothing came of it.
    told = [text.removeprefix(f"{name}: ") for text in picked.problems if text.startswith(name)]
    return told[0].replace(";", ",") if told else _EMPTY


def read_rejects(error: str | None) -> list[Reject]:
    """Read such words again."""
    found = (_REJECT.fullmatch(part) for part in (error or "").split("; "))
    return [Reject(*match.groups()) for match in found if match is not None]
