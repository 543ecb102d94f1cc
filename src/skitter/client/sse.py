"""Server-sent events, line by line. Pure."""

from dataclasses import dataclass, field

from pydantic import ValidationError

from skitter.client.events import Event


@dataclass(slots=True)
class EventReader:
    """Puts lines together to events; ``last_id`` is where to go on after a break."""

    last_id: str | None = None
    retry_s: float | None = None
    """How long the service wants a listener to wait before it comes back."""
    _data: list[str] = field(default_factory=list)
    _id: str | None = None

    def feed(self, line: str) -> Event | None:
        """Take one line without its end; return the event that it completes, if any."""
        if not line:
            return self._end()
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        match name:
            case "data":
                self._data.append(value)
            case "id" if "\0" not in value:
                self._id = value
            case "retry" if value.isdecimal():
                self.retry_s = int(value) / 1000
        return None

    def broken(self) -> None:
        """Forget what had come of an event when the connection broke."""
        self._data.clear()
        self._id = None

    def _end(self) -> Event | None:
        text, event_id = "\n".join(self._data), self._id
        self.broken()
        if event_id is not None:
            self.last_id = event_id
        if not text:
            return None
        try:
            event = Event.model_validate_json(text)
        except ValidationError:
            # Of a newer service, which may say what this client does not know.
            return None
        event.id = event.id or self.last_id or ""
        return event
