"""A hosts table: names the operator maps to addresses by hand, before any DNS question."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Self

from skitter.errors import ConfigError


@dataclass(frozen=True, slots=True)
class HostsTable:
    """Lines of ``/etc/hosts``, plus ``*.name`` for every subdomain and ``*`` for every name.

    An exact name wins over a wildcard, a longer wildcard over a shorter one. Several lines for
    one name add up.
    """

    exact: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    wild: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Keyed by what follows the star: "example.test", or "" for the bare star."""

    @classmethod
    def parse(cls, text: str, *, source: str = "hosts file") -> Self:
        """Read ``text``; a bad line raises ``ConfigError`` with ``source`` and the line number."""
        exact: dict[str, tuple[str, ...]] = {}
        wild: dict[str, tuple[str, ...]] = {}
        for number, line in enumerate(text.splitlines(), start=1):
            words = line.partition("#")[0].split()
            if not words:
                continue
            try:
                _add_line(words[0], words[1:], exact, wild)
            except ValueError as exc:
                raise ConfigError(f"{source}:{number}: {exc}") from exc
        return cls(exact, wild)

    def get(self, host: str) -> tuple[str, ...]:
        """Return the addresses of ``host``; empty when the table does not name it."""
        name = host.lower().rstrip(".")
        found = self.exact.get(name)
        if found is not None or not self.wild:
            return found or ()
        rest = name
        while rest:
            rest = rest.partition(".")[2]
            if rest in self.wild:
                return self.wild[rest]
        return ()


def _add_line(
    address: str,
    names: Iterable[str],
    exact: dict[str, tuple[str, ...]],
    wild: dict[str, tuple[str, ...]],
) -> None:
    try:
        plain = str(ip_address(address))
    except ValueError:
        raise ValueError(f"{address!r} is not an IP address") from None
    empty = True
    for name in names:
        empty = False
        table, key = (wild, name[1:]) if name.startswith("*") else (exact, name)
        key = _plain_name(key, name, wildcard=table is wild)
        known = table.get(key, ())
        if plain not in known:
            table[key] = (*known, plain)
    if empty:
        raise ValueError(f"{address} has no name after it")


def _plain_name(key: str, written: str, *, wildcard: bool) -> str:
    if wildcard:
        if not key:
            return ""
        if not key.startswith("."):
            raise ValueError(f"{written!r}: a wildcard is written '*.example.test' or '*'")
        key = key[1:]
    try:
        plain = key.encode("idna").decode("ascii").lower().rstrip(".")
    except UnicodeError:
        plain = ""
    if not plain or any(not (c.isalnum() or c in "-_.") for c in plain):
        raise ValueError(f"{written!r} is not a host name")
    return plain
