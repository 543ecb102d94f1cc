"""Notices when a field that used to be found is found no more: a site has changed its pages.

What counts is how often a field was found on the last pages, against all pages before them, those
of earlier runs included.
"""

import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from skitter.crawl.fitted import LIST, NEXT
from skitter.types import JobNumber

RECENT: Final = 40
"""Pages that are compared with those before."""
_USUAL: Final = 0.5
"""A field found more rarely than this was never to be counted on."""
_FALLEN: Final = 0.5
_RECOVERED: Final = 0.8
_ENDS: Final = f"{LIST}.{NEXT}"
"""The last pages of lists, which may all come last, have no link to a next one."""
log = logging.getLogger(__name__)


class Alarm(msgspec.Struct, frozen=True):
    """A field that is found more rarely than it was."""

    field: str
    """The rule set and the field: "detail.title"."""
    before: float
    """On which share of the pages it was found until then."""
    now: float
    """On which share of the last pages."""

    @property
    def words(self) -> str:
        """The alarm as a sentence."""
        return (
            f"rule {self.field} was found on {self.before:.0%} of the pages and on {self.now:.0%}"
            f" of the last {RECENT}: the site may have changed"
        )


class _Rule:
    """One rule set."""

    def __init__(self) -> None:
        self.pages = 0
        self.filled: Counter[str] = Counter()
        self.recent: deque[frozenset[str]] = deque()

    def saw(self, names: Sequence[str]) -> None:
        """Take in a page; what is no longer recent counts as before."""
        self.recent.append(frozenset(names))
        if len(self.recent) > RECENT:
            self.pages += 1
            self.filled.update(self.recent.popleft())

    def shares(self) -> dict[str, tuple[float, float]]:
        """Return how often each field was found before and of late, once that can be told."""
        if len(self.recent) < RECENT or self.pages < RECENT:
            return {}
        late = Counter(name for names in self.recent for name in names)
        return {name: (n / self.pages, late[name] / RECENT) for name, n in self.filled.items()}


class Drift:
    """Watches the rules of one job."""

    def __init__(self) -> None:
        self._rules: dict[str, _Rule] = {}
        self._fallen: dict[str, Alarm] = {}
        self._news: dict[str, bytes] = {}
        self.on_alarm: Callable[[Alarm], None] = lambda _: None
        """Called with each new alarm."""
        self.prefix = ""
        """How the names of the marks begin under which alarms are kept."""

    def restore(self, filled: Mapping[str, int]) -> None:
        """Take up what earlier runs have found: pages by rule set, and by rule set and field."""
        for name, n in filled.items():
            rule, _, field = name.partition(".")
            of = self._rules.setdefault(rule, _Rule())
            if field:
                of.filled[field] = n
            else:
                of.pages = n

    def take_up(self, alarms: Iterable[Alarm]) -> None:
        """Go on with alarms that are not settled."""
        self._fallen |= {alarm.field: alarm for alarm in alarms}

    def saw(self, filled: Sequence[str]) -> None:
        """Take in the rule set that was read on a page, and its fields that were found there."""
        rule, *names = filled
        of = self._rules.setdefault(rule, _Rule())
        of.saw(names)
        for field, (before, now) in of.shares().items():
            self._judge(f"{rule}.{field}", before, now)

    def _judge(self, name: str, before: float, now: float) -> None:
        if name == _ENDS:
            return
        if name in self._fallen:
            if now >= before * _RECOVERED:
                del self._fallen[name]
                self._news[self.prefix + name] = b""
            return
        if before < _USUAL or now >= before * _FALLEN:
            return
        alarm = self._fallen[name] = Alarm(name, before, now)
        self._news[self.prefix + name] = msgspec.json.encode(alarm)
        self.on_alarm(alarm)
        log.warning("%s; try it on a page with: skitter rule try", alarm.words)

    def take_marks(self) -> dict[str, bytes]:
        """Return what is to be stored since the last call, by name."""
        news, self._news = self._news, {}
        return news


def drift_mark(job: JobNumber) -> str:
    """Return the beginning of the names under which alarms of a job are kept."""
    return f"drift:{job}:"


def read_alarms(marks: Mapping[str, bytes]) -> list[Alarm]:
    """Return the alarms among marks that have not been settled."""
    return [msgspec.json.decode(value, type=Alarm) for value in marks.values() if value]
