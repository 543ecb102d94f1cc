"""The messages between a child and its master: one msgpack array for a call, one for its answer.

A call is ``[version, number, settled, arguments]``, an answer ``[version, kind, value]`` with an
empty kind, or the kind of an error and its words. The verbs are read from the protocols of the
seam: what is added there is a verb here.
"""

import inspect
from collections.abc import Awaitable, Mapping, Sequence
from inspect import Parameter
from typing import Any, Protocol, TypeVar, get_type_hints

import msgspec

from skitter.errors import (
    ConfigError,
    Fenced,
    FrontierError,
    LeaseLost,
    SinkError,
    SkitterError,
    StoreUnavailable,
)
from skitter.frontier.base import Frontier, FrontierControl, FrontierReader
from skitter.frontier.remote.forms import form_of, row_of

VERSION = 4
PATH = "/v1/frontier/"
SESSION_HEADER = "Skitter-Session"
MAX_BODY_BYTES = 64 << 20

T = TypeVar("T")


class Store(Frontier, FrontierControl, FrontierReader, Protocol):
    """All three parts of the seam in one object."""


class SessionLost(FrontierError):
    """The master does not know the session: it has restarted, or given the session up."""


class OtherVersion(FrontierError):
    """The other side speaks another version of these messages."""


class Closing(FrontierError):
    """The master is about to end and takes no calls; another one may follow it."""


class Welcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a master tells a child that has just come."""

    secret: bytes
    """Key of the store's fingerprints."""
    now_ms: int
    """The time on the store's clock."""
    epoch: int
    """Grows each time the master's store is opened."""
    version: int
    """The version of jobs and news, as claims tell it."""
    silence_ms: int
    """After how long without a call a session is given up."""
    settings: dict[str, Any]
    """What the master wants its children to have."""


class Life(Protocol):
    """The life of a session; these calls are not numbered."""

    async def hello(self, name: str, pid: int) -> Welcome:
        """Begin a session; repeating it changes nothing."""

    async def beat(self) -> str:
        """Give a sign of life; answers what troubles the master's store."""

    async def bye(self) -> None:
        """End a session: its leases are handed out anew, as if never given."""


class _Head(msgspec.Struct, array_like=True):
    version: int


class Call(msgspec.Struct, frozen=True):
    """One call as it has arrived."""

    number: int
    """Grows within a session; the repetition of a call has the number of the first."""
    settled: int
    """Every call with a smaller number has been answered."""
    arguments: Sequence[Any]


class Verb:
    """One call of the seam: how it is asked, run and answered."""

    def __init__(self, protocol: type, name: str) -> None:
        function = getattr(protocol, name)
        hints = get_type_hints(function)
        self.name = name
        self.changes = protocol not in (FrontierReader, Life)
        """Whether running it twice may differ from running it once."""
        parameters = list(inspect.signature(function).parameters.values())[1:]
        self.parameters = tuple(parameter.name for parameter in parameters)
        self._named = frozenset(p.name for p in parameters if p.kind is Parameter.KEYWORD_ONLY)
        self._forms = tuple(form_of(hints[name]) for name in self.parameters)
        self._result = form_of(hints["return"])
        arguments = row_of(form.wire for form in self._forms)
        self._call = msgspec.msgpack.Decoder(row_of((int, int, int, arguments)))
        self._answer = msgspec.msgpack.Decoder(self._result.wire)

    def write_call(self, call: Call, boot: float) -> bytes:
        """Return the message of a call."""
        given = zip(self._forms, call.arguments, strict=True)
        packed = [form.pack(value, boot) for form, value in given]
        return _encode((VERSION, call.number, call.settled, packed))

    def read_call(self, message: bytes, boot: float) -> Call:
        """Read a call; raises in words when it is not one of this version."""
        try:
            version, number, settled, packed = self._call.decode(message)
            if version != VERSION:
                raise _other_version(version)
            given = zip(self._forms, packed, strict=True)
            return Call(number, settled, [form.unpack(value, boot) for form, value in given])
        except (msgspec.MsgspecError, ValueError, OverflowError) as error:
            _check_version(message)
            raise FrontierError(f"the call {self.name} cannot be read: {error}") from error

    def run(self, store: object, arguments: Sequence[Any]) -> Awaitable[Any]:
        """Call the verb of a store."""
        given = list(zip(self.parameters, arguments, strict=True))
        ordered = [value for name, value in given if name not in self._named]
        named = {name: value for name, value in given if name in self._named}
        answer: Awaitable[Any] = getattr(store, self.name)(*ordered, **named)
        return answer

    def write_answer(self, value: Any, boot: float) -> bytes:
        """Return the message of an answer."""
        return _encode((VERSION, "", self._result.pack(value, boot)))

    def read_answer(self, message: bytes, boot: float) -> Any:
        """Read an answer, or raise the error it carries."""
        packed = _open_answer(message)
        try:
            return self._result.unpack(self._answer.decode(packed), boot)
        except (msgspec.MsgspecError, ValueError, OverflowError) as error:
            raise FrontierError(f"the answer to {self.name} cannot be read: {error}") from error


_encode = msgspec.msgpack.Encoder().encode
_answers = msgspec.msgpack.Decoder(row_of((int, str, msgspec.Raw)))
_heads = msgspec.msgpack.Decoder(_Head)
_words = msgspec.msgpack.Decoder(str)

KINDS: Mapping[str, type[SkitterError]] = {
    "fenced": Fenced,
    "lease": LeaseLost,
    "store": StoreUnavailable,
    "session": SessionLost,
    "version": OtherVersion,
    "closing": Closing,
    "config": ConfigError,
    "sink": SinkError,
    "frontier": FrontierError,
}
"""Errors by the names they have in messages, particular ones first."""


def checked_token(token: str) -> str:
    """Return a token, or say what is wrong with it without repeating it."""
    if not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError("token: wanted letters, digits and signs of ASCII, and no space")
    return token


def write_error(error: SkitterError) -> bytes:
    """Return the message of an error; one without a name is told as a ``FrontierError``."""
    kinds = (kind for kind, known in KINDS.items() if isinstance(error, known))
    return _encode((VERSION, next(kinds, "frontier"), str(error)))


def _open_answer(message: bytes) -> msgspec.Raw:
    """Return the packed value of an answer, or raise the error it carries."""
    try:
        version, kind, packed = _answers.decode(message)
        if version != VERSION:
            raise _other_version(version)
        if not kind:
            value: msgspec.Raw = packed
            return value
        words = _words.decode(packed)
    except msgspec.MsgspecError as error:
        _check_version(message)
        raise FrontierError(f"an answer that cannot be read: {error}") from error
    raise KINDS.get(kind, FrontierError)(words)


def _check_version(message: bytes) -> None:
    """Raise when a message says that it is of another version, whatever else is in it."""
    try:
        version = _heads.decode(message).version
    except msgspec.MsgspecError:
        return
    if version != VERSION:
        raise _other_version(version)


def _other_version(version: int) -> OtherVersion:
    return OtherVersion(
        f"messages of version {version} where this Skitter speaks version {VERSION};"
        " use the same release of Skitter for the master and for its nodes"
    )


def _verbs() -> dict[str, Verb]:
    found: dict[str, Verb] = {}
    for protocol in (Frontier, FrontierControl, FrontierReader, Life):
        for name, member in vars(protocol).items():
            if inspect.iscoroutinefunction(member):
                found[name] = Verb(protocol, name)
    return found


VERBS: Mapping[str, Verb] = _verbs()
"""Every verb of the seam and of a session's life."""
