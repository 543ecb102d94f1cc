"""The URL of a database, checked as far as that goes without asking it.

``postgresql://[user[:password]@]host[:port][,host[:port]...]/database[?option=value&...]``, with
the options that PostgreSQL's own library takes. No message shows a password.
"""

import re
from dataclasses import dataclass, field
from typing import Final, Self
from urllib.parse import parse_qsl, unquote

from skitter.errors import ConfigError

WANTED: Final = "postgresql://user:password@host:port/database"

_SCHEMES = {"postgresql", "postgres"}
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,20}")
_PERCENT = re.compile(r"%(?:00|(?![0-9A-Fa-f]{2}))")
_BLANK = re.compile(r"[\s\x00-\x1f]")
_HOSTS = re.compile(r"[A-Za-z0-9._:,%\[\]-]*")
_PLAIN_HOST = r"(?:\[[0-9A-Fa-f:.]*\]|[^:,\[\]]*)(?::[0-9]*)?"
_PLAIN_HOSTS = re.compile(f"{_PLAIN_HOST}(?:,{_PLAIN_HOST})*")


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """One database, and how to name it in messages."""

    url: str = field(repr=False)
    """As PostgreSQL's library takes it, with the password."""
    shown: str
    """The URL without password and options."""
    what: str = "database"
    """How messages begin: what the database is for."""
    user: str = ""
    database: str = ""
    several: bool = False
    """Whether it names several servers, of which one can be written."""

    @classmethod
    def parse(cls, url: str, what: str = "database") -> Self:
        """Read a URL; raises ``ConfigError`` naming what is wrong with it."""
        try:
            return cls._read(url.strip(), what)
        except ValueError as error:
            shown = without_secrets(url.strip())
            raise ConfigError(f"{what}{shown and f' {shown}'}: {error}") from None

    @classmethod
    def _read(cls, url: str, what: str) -> Self:
        scheme, colon, rest = url.partition("://")
        if not colon or scheme.lower() not in _SCHEMES:
            raise ValueError(f"this is not a URL of PostgreSQL; write {WANTED}")
        if _BLANK.search(rest) or _PERCENT.search(rest):
            raise ValueError("a space or a bad % is in it; write a space as %20 and % as %25")
        rest, _, query = rest.partition("?")
        authority, _, path = rest.partition("/")
        login, _, hosts = authority.rpartition("@")
        if "@" in login + path + query:
            raise ValueError("write @ as %40, / as %2F and ? as %3F within user and password")
        options = _options(query)
        user = options.get("user", unquote(login.partition(":")[0]))
        database = options.get("dbname", unquote(path))
        if not database:
            raise ValueError(f"it names no database; write {WANTED}")
        _check_hosts(hosts)
        _check_ports(options.get("port", ""))
        hosts = _shown_hosts(hosts, options)
        return cls(
            url=f"postgresql://{rest}{'?' * bool(query)}{query}",
            shown=f"postgresql://{user}{'@' * bool(user)}{hosts}/{database}",
            what=what,
            user=user,
            database=database,
            several="," in hosts,
        )


def without_secrets(url: str) -> str:
    """Return of a URL, however broken, what is no password for certain; "" when that is nothing."""
    scheme, colon, rest = url.partition("://")
    if not colon or not _SCHEME.fullmatch(scheme):
        return ""
    address, _, query = rest.partition("?")
    authority, slash, path = address.partition("/")
    login, at, hosts = authority.rpartition("@")
    # Where an @ is out of place, anything before it may be of a password, and so may a port.
    if "@" in login + path + query or not (at or _PLAIN_HOSTS.fullmatch(hosts)):
        return f"{scheme}://***"
    return f"{scheme}://{login.partition(':')[0]}{at}{hosts}{slash}{path}"


def _options(query: str) -> dict[str, str]:
    for part in query.split("&") if query else ():
        if "=" not in part:
            raise ValueError("an option has no value; write ?name=value&name=value")
    return dict(parse_qsl(query, keep_blank_values=True))


def _check_hosts(hosts: str) -> None:
    if not _HOSTS.fullmatch(hosts):
        raise ValueError(f"its host is none; write {WANTED}")
    for one in hosts.split(","):
        if one.startswith("["):
            _, bracket, port = one.partition("]")
            if not bracket or (port and not port.startswith(":")):
                raise ValueError("an IPv6 address has no end; write it in brackets: [::1]:5432")
            _check_ports(port[1:])
        elif one.count(":") > 1:
            raise ValueError("put the IPv6 address in brackets: [::1]:5432")
        else:
            _check_ports(one.partition(":")[2])


def _check_ports(ports: str) -> None:
    """Refuse what is no list of ports; it is not shown, since it may be half of a password."""
    for port in ports.split(","):
        number = int(port or 1) if port.isascii() and (port.isdigit() or not port) else 0
        if not 0 < number < 65_536:
            raise ValueError("its port is not a number from 1 to 65535")


def _shown_hosts(hosts: str, options: dict[str, str]) -> str:
    """Return the hosts that count: options go before what the URL begins with."""
    host = options.get("host") or options.get("hostaddr")
    if host is None:
        return hosts
    return f"{host}:{options['port']}" if options.get("port") else host
