"""Who asks: a token in the request, or the cookie of somebody who has shown one."""

import hmac
from base64 import urlsafe_b64decode, urlsafe_b64encode
from binascii import Error as BadBase64
from collections.abc import Mapping
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from typing import Annotated

from fastapi import Depends, Request, params

from skitter.api.errors import ApiError
from skitter.client.base import Role
from skitter.wiring.tokens import OPERATOR, READER, derived

COOKIE = "skitter"
SESSION_S = 12 * 3600
RANKS = {Role.READER: 1, Role.OPERATOR: 2, Role.ADMIN: 3}
CALLED = {Role.READER: "a reader", Role.OPERATOR: "an operator", Role.ADMIN: "an admin"}
SAFE = frozenset({"GET", "HEAD", "OPTIONS"})
CHANGES_HEADER = "x-skitter"
"""No other site can make a browser send it; what changes something with a cookie must have it."""


class Keys:
    """Tells tokens and cookies from others."""

    def __init__(self, admin: str) -> None:
        self._tokens = {
            Role.ADMIN: admin.encode("utf-8", "surrogateescape"),
            Role.OPERATOR: derived(admin, OPERATOR).encode(),
            Role.READER: derived(admin, READER).encode(),
        }
        self._key = derived(admin, "cookie").encode()

    def role_of(self, token: str) -> Role | None:
        """Return what a token may do, in a time that says nothing about it."""
        given = token.encode("utf-8", "surrogateescape")
        found = [role for role, known in self._tokens.items() if hmac.compare_digest(given, known)]
        return found[0] if found else None

    def cookie(self, role: Role, now: float) -> str:
        """Return what stands for a token for some hours."""
        told = f"{role.value}:{int(now) + SESSION_S}".encode()
        return f"{_text(told)}.{_text(self._signed(told))}"

    def role_in(self, cookie: str, now: float) -> Role | None:
        """Return what a cookie of ours says; None for others and for old ones."""
        told, _, signature = cookie.partition(".")
        try:
            said, signed = _bytes(told), _bytes(signature)
        except (ValueError, BadBase64):
            return None
        if not hmac.compare_digest(signed, self._signed(said)):
            return None
        role, _, until = said.decode("ascii").partition(":")
        return Role(role) if now < int(until) else None

    def _signed(self, told: bytes) -> bytes:
        return hmac.digest(self._key, told, sha256)


def bearer(header: str) -> str | None:
    """Return the token of an Authorization header."""
    scheme, _, token = header.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else None


def who_asks(keys: Keys, method: str, headers: Mapping[str, str], now: float) -> Role:
    """Return the role of a request; raises when it has none."""
    if given := headers.get("authorization"):
        token = bearer(given)
        role = keys.role_of(token) if token else None
    else:
        role = keys.role_in(cookie_in(headers), now)
        if role is not None and method not in SAFE and CHANGES_HEADER not in headers:
            raise ApiError(403, "a change by cookie needs the header X-Skitter: 1", "X-Skitter")
    if role is None:
        challenge = {"WWW-Authenticate": "Bearer"}
        raise ApiError(401, "the token is missing or wrong", "Authorization", challenge)
    return role


def cookie_in(headers: Mapping[str, str]) -> str:
    """Return our cookie of a request; "" without one."""
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


async def role_of(request: Request) -> Role:
    """Return the role of the request at hand."""
    return _role_of(request)


# Dependencies are coroutines: a plain function would be sent to a thread for each request.
def _role_of(request: Request) -> Role:
    role = request.scope.get("skitter.role")
    assert isinstance(role, Role), "a route outside of what is guarded"
    return role


def _needs(wanted: Role) -> params.Depends:
    async def check(request: Request) -> Role:
        role = _role_of(request)
        if RANKS[role] < RANKS[wanted]:
            raise ApiError(
                403, f"this needs the token of {CALLED[wanted]}; this is {CALLED[role]}'s"
            )
        return role

    return params.Depends(check)


reader = _needs(Role.READER)
operator = _needs(Role.OPERATOR)
admin = _needs(Role.ADMIN)

Asking = Annotated[Role, Depends(role_of)]
"""The role of who asks, for routes that want to know."""


def _text(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def _bytes(text: str) -> bytes:
    return urlsafe_b64decode(text + "=" * (-len(text) % 4))
