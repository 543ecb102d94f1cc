"""What the rules of a job take of its pages; records that lack a required field are set aside."""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Final, NamedTuple

from turbohtml import Document
from xxhash import xxh3_64_hexdigest

from skitter.clock import Clock
from skitter.crawl.fitted import DETAIL, ITEM_FIELD, ITEM_URL, ITEMS, LIST, NEXT, editions
from skitter.crawl.link_rules import (
    Carried,
    LinkRules,
    RuledLink,
    decode_carried,
    encode_carried,
)
from skitter.crawl.trip import Visit
from skitter.frontier.model import MAX_DATA_BYTES, Lease
from skitter.job.spec import Job, Kind
from skitter.parse.article.missing import beginning, says_missing
from skitter.parse.page import ParsedPage
from skitter.parse.rules.field import Sight
from skitter.parse.rules.ruleset import Fields, Listed, ListPage, Picked, make_sight
from skitter.parse.simhash import visible_texts
from skitter.pipeline.record import PageRecord
from skitter.types import Outcome, PageClass

NAV: Final = "nav"
WHOLE: Final = "*"
"""In place of a field, where a page is set aside for what it is."""
_NOTHING: Final[tuple[object, ...]] = (None, "", [])
_EMPTY: Final = "is empty"
_OVER: Final = f"rule {LIST}: field {NEXT}: not followed, the items are those of the page before"
_REJECT = re.compile(r"rule (\S+): field (\S+): (.*)")


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
        self._list = None if job.list_ is None else ListPage(job.list_)
        self._continues = job.list_ is not None and job.list_.continue_
        self._editions = editions(job)
        self._leads_on = job.list_ is not None or job.kind is Kind.NEWS
        """Whether entries are there for the pages they lead to."""
        self._required = [
            name
            for name, rule in (job.list_.fields.items() if job.list_ is not None else ())
            if rule.required
        ]

    @classmethod
    def of(cls, job: Job, links: LinkRules | None, clock: Clock) -> "Extraction | None":
        """Return what a job takes of its pages; None where it takes nothing."""
        made = cls(job, links, clock)
        return made if made._sets or made._list is not None else None

    def rule_of(self, lease: Lease, record: PageRecord) -> str:
        """Return the name of the rule set for a page; "none" for nothing."""
        named = False
        if self._links is not None:
            carried = decode_carried(lease.data) if lease.data else Carried()
            if carried.fields or carried.required:
                return DETAIL
            said = carried.rule
            if said is None:
                ruling = self._links.decide(lease.url, lease.host)
                said, named = ruling.extract, ruling.page_class is not None
            if said:
                return said
        if lease.depth == 0 and not self._leads_on and not named:
            # It may be of the class for pages that come again, and is still what was asked for.
            return DETAIL
        return LIST if record.page_class == NAV else DETAIL

    def read(
        self, visit: Visit, page: ParsedPage, lease: Lease, *, noindex: bool
    ) -> list[RuledLink]:
        """Fill in the fields of a page; answers the links that its rules found.

        Without a required field the record is set aside. Of a page that asks not to be kept only
        the links are taken.
        """
        record = visit.record
        if page.document is None or page.joiner is None or record is None:
            return []
        rule = self.rule_of(lease, record)
        sight = make_sight(page.document, page.joiner, now=self._clock.now_ms() / 1000)
        if rule == LIST:
            if self._list is None:
                return []
            listed = self._list.read(page.document, sight)
            visit.filled = (LIST, *_found_in(listed))
            visit.edition = self._editions[LIST]
            links = self._take_list(record, listed, lease, noindex=noindex)
            if not listed.items and not listed.unread and not noindex:
                # Where the list is the result, an empty one is a result, too.
                _mind_error_page(visit, page.document, keep=not self._continues)
            return links
        if not noindex:
            own = self._read_fields(rule, record, page.document, sight, lease)
            if rule in self._sets:
                visit.filled = (rule, *own)
                visit.edition = self._editions[rule]
                if self._sets[rule].has_few(own):
                    _mind_error_page(visit, page.document, keep=self._is_whole(rule, visit))
        return []

    def _read_fields(
        self, rule: str, record: PageRecord, document: Document, sight: Sight, lease: Lease
    ) -> Collection[str]:
        """Fill in the fields of a page; answers those it had itself."""
        fields = self._sets.get(rule)
        picked = Picked() if fields is None else fields.read(document, sight)
        carried = decode_carried(lease.data) if lease.data else Carried()
        # What both have is the page's own, unless it is empty there.
        own = {name: value for name, value in picked.fields.items() if value not in _NOTHING}
        record.fields = {**picked.fields, **carried.fields, **own}
        wanting = [name for name in picked.missing if record.fields[name] in _NOTHING]
        words = [reject_words(rule, Picked(missing=wanting, problems=picked.problems))]
        listed = [name for name in carried.required if record.fields.get(name) in _NOTHING]
        words.append(reject_words(LIST, Picked(missing=listed)))
        if any(words):
            record.outcome = Outcome.REJECTED
            record.error = "; ".join(filter(None, words))
        return own

    def _is_whole(self, rule: str, visit: Visit) -> bool:
        """Tell whether fields are required for a page, and all of them were found."""
        assert visit.record is not None
        data = visit.lease.data
        requires = self._sets[rule].requires or bool(data and decode_carried(data).required)
        return requires and visit.record.outcome != Outcome.REJECTED

    def _take_list(
        self, record: PageRecord, found: Listed, lease: Lease, *, noindex: bool
    ) -> list[RuledLink]:
        wanting: Counter[str] = Counter({ITEMS: found.unread} if found.unread else {})
        links = _next_pages(found, lease)
        over = _OVER if found.next_urls and not links else None
        if not self._continues:
            whole = [item.picked for item in found.items if not item.picked.missing]
            record.fields = {} if noindex else {"items": [picked.fields for picked in whole]}
            wanting.update(name for one in found.items for name in one.picked.missing)
            record.error = _list_words(wanting, len(found.items) + found.unread, over)
            return links
        for item in found.items:
            if item.url is None:
                wanting[ITEM_URL] += 1
                continue
            data = encode_carried(Carried(fields=item.picked.fields, required=self._required))
            if len(data) > MAX_DATA_BYTES:
                # Its own page is fetched all the same, and set aside where it lacks a field.
                wanting["fields"] += 1
                data = encode_carried(Carried(required=self._required))
            links.append(RuledLink(item.url, PageClass.DATA, data))
        record.error = _list_words(wanting, len(found.items) + found.unread, over)
        return links


def _mind_error_page(visit: Visit, document: Document, *, keep: bool) -> None:
    """Set the record of a page aside that says that there is nothing, and not what else it lacks.

    What it may say is not looked for where the rules have found what they are for. What is to be
    kept has a note.
    """
    record = visit.record
    assert record is not None
    text = beginning(visible_texts(document))
    why = says_missing(record.title, text)
    if why is None:
        return
    visit.says_missing = True
    if keep:
        record.error = "; ".join(filter(None, (record.error, why)))
    else:
        record.outcome = Outcome.REJECTED
        record.error = f"rule {visit.filled[0]}: field {WHOLE}: {why}"


def _found_in(listed: Listed) -> Iterator[str]:
    """Yield which rules of a list have found something on a page of it."""
    if listed.items:
        yield ITEMS
    if any(item.url is not None for item in listed.items):
        yield ITEM_URL
    if listed.next_urls:
        yield NEXT
    tables = (item.picked.fields.items() for item in listed.items)
    found = {name for table in tables for name, value in table if value not in _NOTHING}
    yield from (f"{ITEM_FIELD}{name}" for name in sorted(found))


def _next_pages(found: Listed, lease: Lease) -> list[RuledLink]:
    """Return where a list goes on: nowhere from a page with the items of the one before."""
    said = encode_carried([(item.url, item.picked.fields) for item in found.items])
    items = xxh3_64_hexdigest(said)
    if lease.data and decode_carried(lease.data).items == items:
        return []
    data = encode_carried(Carried(items=items))
    return [RuledLink(url, PageClass.NAV, data, deeper=0) for url in found.next_urls]


def _list_words(wanting: Mapping[str, int], items: int, over: str | None) -> str | None:
    """Say in the words of a record what was wanting in how many items of a list."""
    told = [f"rule {LIST}: field {name}: {n} of {items} items" for name, n in wanting.items()]
    return "; ".join([*told, *([over] if over else [])]) or None


def reject_words(rule: str, picked: Picked) -> str:
    """Say in the words of a record why it is set aside."""
    reasons = {name: _reason(name, picked) for name in picked.missing}
    return "; ".join(f"rule {rule}: field {name}: {why}" for name, why in reasons.items())


def _reason(name: str, picked: Picked) -> str:
    # What was there and could not be used says more than that nothing came of it.
    begins = f"{name}: "
    told = [text.removeprefix(begins) for text in picked.problems if text.startswith(begins)]
    return told[0].replace(";", ",") if told else _EMPTY


def read_rejects(error: str | None) -> list[Reject]:
    """Read such words again."""
    found = (_REJECT.fullmatch(part) for part in (error or "").split("; "))
    return [Reject(*match.groups()) for match in found if match is not None]
