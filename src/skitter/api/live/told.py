"""One event as listeners are sent it: read once and encoded once, however many listen."""

from typing import Final

import msgspec

Facts = dict[str, object]
EventKey = tuple[int, ...]
"""What orders events: the numbers of their ids."""

HEARTBEAT: Final = b": \n\n"
"""A comment: it keeps proxies from closing a quiet connection, and programs do not see it."""
GREETING: Final = b"retry: 1000\n: \n\n"
"""The first bytes of every answer: when to come back after a break."""
OFTEN: Final = frozenset({"page", "resolve"})
"""Types of events that come by the thousand; what is left out is left out of these first."""

_decode = msgspec.json.Decoder(Facts).decode
_encode = msgspec.json.Encoder().encode


class Told:
    """One event of the store."""

    __slots__ = ("_plain", "facts", "id", "is_often", "key", "type")

    def __init__(self, event_id: str, facts: Facts) -> None:
        self.id = event_id
        self.key = key_of(event_id) or ()
        self.facts = facts
        self.type = str(facts.get("type", ""))
        self.is_often = self.type in OFTEN
        self._plain = b""

    def message(self, dropped: int = 0) -> bytes:
        """Return the event as a server-sent message; ``dropped`` others came before it."""
        if dropped:
            return self._encoded(dropped)
        if not self._plain:
            self._plain = self._encoded(0)
        return self._plain

    def body(self) -> Facts:
        """Return the event as it is told in JSON."""
        return {"id": self.id, **self.facts}

    def _encoded(self, dropped: int) -> bytes:
        facts = self.body()
        if dropped:
            # Whoever published it may have left some out already.
            earlier = facts.get("dropped", 0)
            facts["dropped"] = dropped + (earlier if isinstance(earlier, int) else 0)
        # JSON has no line breaks of its own, so one data line is enough; a type is a plain word,
        # and what is not must not end the line it is in.
        kind = "".join(self.type.split()) or "message"
        return b"id: %b\nevent: %b\ndata: %b\n\n" % (
            self.id.encode(),
            kind.encode(),
            _encode(facts),
        )


def key_of(event_id: str) -> EventKey | None:
    """Return what orders events; None for text that is no id."""
    parts = event_id.split("-")
    if len(parts) > 2 or not all(p.isascii() and p.isdigit() and len(p) <= 19 for p in parts):
        return None
    return tuple(int(part) for part in parts)


def id_of(key: EventKey) -> str:
    """Return the id of the event with that key."""
    return "-".join(map(str, key))


def read_event(event_id: str, raw: bytes) -> Told | None:
    """Read an event of the store; None for something that is none."""
    try:
        return Told(event_id, _decode(raw))
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
