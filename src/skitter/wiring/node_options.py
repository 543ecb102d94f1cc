"""What one machine brings into a cluster, and what it is called."""

import socket
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from skitter.cluster.relief import Picker
from skitter.config import DEFAULT_CONCURRENCY


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeOptions:
    """What one machine brings into a cluster."""

    store: str | None = None
    """URL of a Redis or Valkey store."""
    cold: str | None = None
    """URL of a PostgreSQL database for the tails of long queues."""
    index: str | None = None
    """URL of a PostgreSQL database for the page index."""
    picker: Picker = Picker.HASH
    control: str | None = None
    """Address of a master, or the path of its socket."""
    token: str = ""
    name: str = ""
    """What the machine is called; empty takes its host name."""
    workers: int = 1
    """How many are wanted from the start; others come by orders."""
    max_workers: int | None = None
    """Processes at a time, at most; None leaves it to the number of cores."""
    idle_exit: int | None = None
    data: Path = Path(".skitter/node")
    concurrency: int = DEFAULT_CONCURRENCY
    allow_private: bool = False
    egress: str = ""
    """The address of this machine that requests leave from; empty lets the system choose."""
    hosts: Path | None = None
    fast: bool = False
    quiet: bool = False


def machine_name() -> str:
    """Return what this machine calls itself."""
    return socket.gethostname() or "machine"


def _machine_and_place(data: Path) -> str:
    """Return a name for what runs from a directory of this machine, the same every time."""
    path = str(data.resolve()).encode(errors="surrogateescape")
    return f"{machine_name()}-{blake2b(path, digest_size=2).hexdigest()}"


def node_name(options: NodeOptions) -> str:
    """Return what the machine is called by those who give it orders."""
    return options.name or _machine_and_place(options.data)
