"""What one call of the REST API is: where it goes, what it carries, what comes back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Generic, Literal, Protocol, TypeVar
from urllib.parse import quote
from uuid import uuid4

from pydantic import BaseModel, ValidationError

from skitter.client.base import Health, Me, Wish
from skitter.job.problem import Vocabulary, refuse

Answer = TypeVar("Answer")
Row = TypeVar("Row")
Page = TypeVar("Page", bound="Paged")
Method = Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
Value = str | int | float | bool | Sequence[str] | None
IDEMPOTENCY_KEY = "Idempotency-Key"


class Paged(Protocol):
    """A piece of a long list."""

    next: str | None


@dataclass(frozen=True, slots=True)
class Call(Generic[Answer]):
    """One request, before anybody sends it."""

    answer: type[Answer]
    """The model of what comes back; ``type(None)`` where nothing does."""
    method: Method
    path: str
    params: Mapping[str, Value] = field(default_factory=dict)
    body: object = None
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool = True
    """Whether it may be sent again when nobody knows what came of it."""
    accepts: frozenset[int] = frozenset()
    """Statuses of faults whose body is an answer all the same."""
    wait_s: float = 0.0
    """How long the service is asked to wait before it answers."""

    def query(self) -> list[tuple[str, str]]:
        """Return the parameters that were given, as text; one with several values repeated."""
        return [
            (name, text)
            for name, value in self.params.items()
            if value is not None
            for text in _texts(value)
        ]

    def following(self, after: str) -> "Call[Answer]":
        """Return the call for the next page of a list."""
        return replace(self, params={**self.params, "after": after})


def _texts(value: str | float | bool | Sequence[str]) -> Sequence[str]:
    match value:
        case bool():
            return [str(value).lower()]
        case str() | int() | float():
            return [str(value)]
        case _:
            return value


def below(*parts: str | int) -> str:
    """Return a path of the API; what stands between two slashes is one part whatever it holds."""
    return "/v1/" + "/".join(quote(str(part), safe="") for part in parts)


def wish(model: BaseModel) -> dict[str, object]:
    """Return what was said of a wish, for the body of a request."""
    return model.model_dump(mode="json", by_alias=True, exclude_unset=True)


def wished(kind: type[Wish], said: Mapping[str, object]) -> dict[str, object]:
    """Return what was said as the body of a request; ConfigError names the field it cannot be."""
    try:
        return wish(kind.model_validate(said))
    except ValidationError as error:
        raise refuse(error, Vocabulary(model=kind), lambda name: name) from error


def listed(urls: str | Sequence[str]) -> list[str]:
    """Return URLs as a list; a text alone is one, not as many as it has letters."""
    return [urls] if isinstance(urls, str) else list(urls)


def keyed(key: str | None) -> dict[str, str]:
    """Return the header that makes a POST safe to repeat; a key that is not given is drawn."""
    return {IDEMPOTENCY_KEY: key or uuid4().hex}


def health() -> Call[Health]:
    """Tell whether the service can do its work; needs no token."""
    return Call(Health, "GET", "/healthz", accepts=frozenset({503}))


def me() -> Call[Me]:
    """Tell what the token may do, and how the service is set up."""
    return Call(Me, "GET", below("me"))
