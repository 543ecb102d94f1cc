"""What nodes, and those who give them orders, leave for each other in the store: marks.

| mark | who writes it | what it holds |
|---|---|---|
| ``nodes:list:NODE`` | the node, at every change | what it is and its list of workers |
| ``nodes:pulse:NODE`` | the node, every two seconds | that it is there, and how its workers stand |
| ``nodes:order:NODE:BOX`` | whoever gives an order | the order |
| ``nodes:bell:NODE`` | the same, in one step with it | a number of its own |
| ``nodes:answer:NODE:BOX`` | the node | what came of it |

A node looks at its bell alone, so waiting for orders costs one small read. A box is used again when
its order was answered or is past its deadline, so that marks do not pile up.
"""

from typing import Final

import msgspec

from skitter.cluster.manager.logs import Piece
from skitter.cluster.manager.roster import ALL_KINDS, DEFAULT_PRIORITY, ListedWorker

VERSION: Final = 1
PULSE_S: Final = 2.0
AWAY_MS: Final = 8_000
"""A node that has been silent for this long does not take orders."""
BOXES: Final = 8
SHOWN: Final = 20
"""Ended workers that a node tells of."""
LIST: Final = "nodes:list:"
MANAGER: Final = 0
"""The number under which a manager's own log is asked for."""


class Reading(msgspec.Struct, frozen=True, omit_defaults=True):
    """How one worker stands."""

    pages: int = 0
    """Over all its processes."""
    per_minute: float = 0.0
    in_flight: int = 0
    member: str = ""
    """What it is called where members meet."""
    note: str = ""


class Pulse(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """That a node is there."""

    session: str
    at_ms: int
    """On the store's clock."""
    queued: int = 0
    """URLs that wait in the store, when the node last looked."""
    workers: dict[int, Reading] = {}


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What a node is, and its list of workers."""

    version: int = VERSION
    name: str
    session: str
    machine: str = ""
    pid: int = 0
    limit: int = 0
    since_ms: int = 0
    stopped: bool = False
    """Whether it has ended in good order."""
    workers: tuple[ListedWorker, ...] = ()


class Start(msgspec.Struct, frozen=True, kw_only=True, tag="start"):
    """List more workers."""

    kind: str = ALL_KINDS
    priority: int = DEFAULT_PRIORITY
    count: int = 1


class Stop(msgspec.Struct, frozen=True, kw_only=True, tag="stop"):
    """Let one worker finish its requests and end for good."""

    worker: int


class ReadLogs(msgspec.Struct, frozen=True, kw_only=True, tag="logs"):
    """Return lines of logs: the last ones, or those behind the places named."""

    worker: int | None = None
    """None for the manager and everyone at work."""
    lines: int = 20
    after: dict[int, str] = {}


Deed = Start | Stop | ReadLogs


class Order(msgspec.Struct, frozen=True, kw_only=True):
    """One order to one node."""

    id: str
    deadline_ms: int
    """On the store's clock; behind it the order is not carried out any more."""
    deed: Deed


class Answer(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What came of an order."""

    id: str
    refused: str = ""
    """Why nothing was done."""
    workers: tuple[ListedWorker, ...] = ()
    """Those it concerned, as they stand."""
    logs: dict[int, Piece] = {}


encode = msgspec.json.Encoder().encode
decode_order = msgspec.json.Decoder(Order).decode
decode_answer = msgspec.json.Decoder(Answer).decode
decode_pulse = msgspec.json.Decoder(Pulse).decode
decode_report = msgspec.json.Decoder(Report).decode


def list_mark(node: str) -> str:
    """Return where a node's list is."""
    return LIST + node


def pulse_mark(node: str) -> str:
    """Return where a node's sign of life is."""
    return f"nodes:pulse:{node}"


def order_mark(node: str, box: int) -> str:
    """Return where an order is left."""
    return f"nodes:order:{node}:{box}"


def answer_mark(node: str, box: int) -> str:
    """Return where the answer to it comes."""
    return f"nodes:answer:{node}:{box}"


def bell_mark(node: str) -> str:
    """Return what a node looks at for new orders."""
    return f"nodes:bell:{node}"
