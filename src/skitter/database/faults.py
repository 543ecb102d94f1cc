"""What went wrong with a database, in words, and what to do about it."""

import re
from typing import Final

import psycopg

from skitter.database.address import DatabaseAddress

READ_ONLY: Final = "is read-only, a standby perhaps; name the server that can be written"
_TABLES = "has lost Skitter's tables, or has others under their names; restore them"
_CROWDED = "takes no more clients; raise max_connections there"
_STARTING = "is starting up or shutting down; try again in a moment"
_RIGHTS = (
    "does not let this user make and use tables ({said});"
    " GRANT CREATE ON SCHEMA public there, or name the owner of the tables"
)
_BY_STATE: Final = {
    "25006": READ_ONLY,
    "3F000": _RIGHTS,
    "42501": _RIGHTS,
    "42703": _TABLES,
    "42P01": _TABLES,
    "53100": "has no room on its disk; make room there",
    "53300": _CROWDED,
    "57P01": _STARTING,
    "57P02": _STARTING,
    "57P03": _STARTING,
}
"""What to say by the state that a server names with its errors."""

_STRANGER = "does not speak PostgreSQL's language; check host and port"
_WHO = "does not know this user and password; check both in the URL"


_ABSENT = "does not answer"
_PASSING = (_ABSENT, _CROWDED, _STARTING)


def _absent(why: str) -> str:
    return f"{_ABSENT} ({why}); start PostgreSQL there or check the address"


_BY_TEXT: Final = [
    (re.compile(pattern, re.IGNORECASE), known)
    for pattern, known in (
        ("password authentication failed", _WHO),
        ('role ".*" does not exist', _WHO),
        ("no password supplied", "wants a password; write postgresql://user:password@host"),
        ('database ".*" does not exist', 'has no "{database}"; make it there, or check the URL'),
        ("no pg_hba.conf entry", "takes no such clients ({said}); allow it in pg_hba.conf there"),
        ("does not support SSL", "does not speak TLS; turn it on there, or leave ?sslmode= out"),
        ("certificate", "is not trusted ({said}); check ?sslrootcert= and the host's name"),
        ("too many clients|remaining connection slots", _CROWDED),
        ("is starting up|is shutting down|in recovery mode|not yet accepting", _STARTING),
        ("session is read-only", READ_ONLY),
        ("response to SSL negotiation|expected authentication request", _STRANGER),
        ("connection refused", _absent("connection refused")),
        ("no such file", _absent("no socket there")),
        ("failed to resolve|translate host name", _absent("the name is not known")),
        ("timeout expired", _absent("silent for too long")),
        ("no route|unreachable", _absent("no route to it")),
        ("closed|reset|broken pipe|EOF|synchronization", _absent("the connection broke off")),
    )
]
"""What to say by what is said of a connection that failed: there is no state then."""


def words(error: Exception, address: DatabaseAddress) -> str:
    """Return why a database could not do what was asked, and what to do, in one line."""
    if isinstance(error, TimeoutError):
        return _absent("silent for too long")
    text = said(error)
    state = error.sqlstate if isinstance(error, psycopg.Error) else None
    if state is not None:
        return _BY_STATE.get(state, "failed ({said}); see its log").format(said=text)
    for pattern, known in _BY_TEXT:
        if pattern.search(text):
            return known.format(said=text, database=address.database)
    return f"refused the connection ({text}); check the URL"


def is_passing(why: str) -> bool:
    """Tell whether these words are of a fault that is gone when the server is back."""
    return any(sign in why for sign in _PASSING)


def said(error: Exception) -> str:
    """Return in one line what the server or the library said, without where."""
    text = (str(error).strip() or type(error).__name__).splitlines()[0]
    text = re.sub(r"^connection (failed|is bad): ", "", text)
    text = re.sub(r"^connection to server .*? failed: ", "", text)
    return re.sub(r"^(FATAL|ERROR): +", "", text)
