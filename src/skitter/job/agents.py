"""By which name a host is asked: the one of the job, or of several always the same for a host."""

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

from skitter import __version__
from skitter.types import HostKey

DEFAULT_AGENT: Final = f"Skitter/{__version__}"
_OWN: Final = re.compile(r"Skitter/[\w.+-]+")


def is_default(agent: str) -> bool:
    """Tell whether an agent is the default, of this version or another."""
    return _OWN.fullmatch(agent) is not None


def choose_agent(agents: Sequence[str], host: HostKey) -> str:
    """Return which of several names a host is asked by: the same on every machine and day."""
    digest = blake2b(host.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return agents[int.from_bytes(digest) % len(agents)]


def with_contact(agent: str, contact: str | None) -> str:
    """Return an agent that says where its operator is to be reached."""
    return agent if contact is None or contact in agent else f"{agent} (+{contact})"
