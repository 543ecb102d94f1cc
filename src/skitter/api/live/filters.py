"""Which events somebody wants to hear of.

A filter names values for some of an event's fields: of each field that it names, an event has to
have one of the values. Filters that say the same are equal, so that their listeners share work.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from skitter.api.live.told import Facts

FIELDS: Final = ("host", "job", "type", "kind", "node")
"""What can be asked for, the most telling first: it decides under which one a filter is kept."""

Values = frozenset[str]
NONE: Final[Values] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """What of the events is wanted; nothing named means everything."""

    host: Values = NONE
    job: Values = NONE
    type: Values = NONE
    kind: Values = NONE
    node: Values = NONE

    def wants(self, facts: Facts) -> bool:
        """Tell whether an event is wanted."""
        return (
            (not self.host or facts.get("host") in self.host)
            and (not self.job or facts.get("job") in self.job)
            and (not self.type or facts.get("type") in self.type)
            and (not self.kind or facts.get("kind") in self.kind)
            and (not self.node or facts.get("node") in self.node)
        )

    def places(self) -> Iterator[tuple[str, str]]:
        """Yield the field and the values of it under which events for this filter are found."""
        for name in FIELDS:
            if values := getattr(self, name):
                yield from ((name, value) for value in values)
                return
        yield ("", "")


def places_of(facts: Facts) -> Iterator[tuple[str, str]]:
    """Yield where filters are kept that may want an event."""
    yield ("", "")
    for name in FIELDS:
        value = facts.get(name)
        if isinstance(value, str):
            yield (name, value)


def split_values(given: Iterable[str]) -> Values:
    """Return the values of a parameter that may be repeated, or have several with commas."""
    return frozenset(word.strip() for text in given for word in text.split(",") if word.strip())
