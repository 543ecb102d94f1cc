"""The tokens of a service: one is made or given, those of lesser rights follow from it."""

import hmac
import secrets
from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from skitter.errors import ConfigError

TOKEN_FILE = "token"  # noqa: S105  the name of a file
OPERATOR, READER, NODE = "operator", "reader", "node"
DERIVED = (OPERATOR, READER, NODE)


LEAST_CHARS = 16


def why_weak(token: str) -> str:
    """Return what makes a token easy to guess, in words; "" for one that is not."""
    if len(token) < LEAST_CHARS:
        return f"a token of {len(token)} characters is soon guessed; wanted {LEAST_CHARS} or more"
    if len(set(token)) < LEAST_CHARS // 4:
        return "a token of so few different characters is soon guessed; wanted a random one"
    return ""


def derived(admin: str, purpose: str) -> str:
    """Return the token for one purpose: the same wherever the first token is the same."""
    digest = hmac.digest(admin.encode("utf-8", "surrogateescape"), purpose.encode(), sha256)
    return urlsafe_b64encode(digest).rstrip(b"=").decode("ascii")


class Token(NamedTuple):
    """The token of an admin."""

    value: str
    file: Path | None = None
    """Where it is; None for one that was given."""
    is_new: bool = False
    """Whether it was made just now."""


def admin_token(given: str, data: Path) -> Token:
    """Return the token that was given, or that of a directory; the others are put beside it."""
    found = Token(given) if given else _kept(data)
    _keep_derived(data, found.value)
    return found


def _kept(data: Path) -> Token:
    """Return the token of a directory, made when there is none, readable for this user alone."""
    path = data / TOKEN_FILE
    try:
        known = path.read_text(encoding="ascii").strip() if path.exists() else ""
        if not known:
            _write(path, secrets.token_urlsafe(32))
        return Token(path.read_text(encoding="ascii").strip(), path, is_new=not known)
    except OSError as error:
        raise _no_file(path, error) from error


def _keep_derived(data: Path, admin: str) -> None:
    """Write the tokens that follow from the first beside it."""
    for purpose in DERIVED:
        path = data / f"{TOKEN_FILE}.{purpose}"
        token = derived(admin, purpose)
        try:
            if not path.exists() or path.read_text(encoding="ascii").strip() != token:
                _write(path, token)
        except OSError as error:
            raise _no_file(path, error) from error


def _write(path: Path, token: str) -> None:
    new = path.with_name(f"{path.name}.new")
    new.unlink(missing_ok=True)
    new.touch(mode=0o600)
    new.write_text(token + "\n", encoding="ascii")
    new.replace(path)


def _no_file(path: Path, error: OSError) -> ConfigError:
    return ConfigError(f"{path}: {error.strerror}; wanted a file for the token")
