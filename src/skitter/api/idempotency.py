"""A POST that is repeated with its key is done once, and answered the same for a day.

When very much is kept, it is for less than a day, and in the end refused (``crawl/room.py``).

What was answered is kept in the store, so that it does not matter which service is asked. While one
is at work on a key, others who come with it are told to come back.
"""

import secrets
from base64 import b64decode, b64encode
from hashlib import blake2b

import msgspec
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from skitter.api.errors import ApiError, problem
from skitter.client.base import Role
from skitter.crawl.room import NoRoom
from skitter.wiring.resolve import room_of
from skitter.wiring.service import Service

HEADER = "idempotency-key"
LOCK_MS = 60_000
MOST_KEY_CHARS = 200
MOST_KEPT_BYTES = 256 << 10
READS = frozenset({"/v1/pages/lookup", "/v1/rules/try", "/v1/fetch"})
"""Posts that leave nothing behind."""


class _Kept(msgspec.Struct):
    """An answer, and what it was the answer to."""

    asked: str
    status: int
    headers: list[tuple[str, str]]
    body: str


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Kept).decode


class Idempotency:
    """Answers a POST with a key from what was answered before."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app = app
        self._frontier = service.store.frontier
        self._room = room_of(service)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        key = Headers(scope=scope).get(HEADER) if _is_guarded_post(scope) else None
        if key is None:
            await self._app(scope, receive, send)
            return
        try:
            await self._once(scope, receive, send, key)
        except ApiError as error:
            refusal = problem(error.status, error.message, error.field, error.headers)
            await refusal(scope, receive, send)
        except HTTPException as error:
            # What is wrong with the body is found where it is read.
            refusal = problem(error.status_code, error.detail, None, error.headers)
            await refusal(scope, receive, send)

    async def _once(self, scope: Scope, receive: Receive, send: Send, key: str) -> None:
        if not 0 < len(key) <= MOST_KEY_CHARS:
            raise ApiError(422, f"wanted a key of 1 to {MOST_KEY_CHARS} signs", "Idempotency-Key")
        body = await _whole(receive)
        name = _name(scope["skitter.role"], scope["path"], key)
        asked = blake2b(body, digest_size=16).hexdigest()
        holder = secrets.randbits(48)
        if await self._frontier.lock(name, holder, LOCK_MS):
            raise ApiError(
                409,
                "a request with this key is being answered; ask again",
                "Idempotency-Key",
                {"Retry-After": "1"},
            )
        try:
            [kept] = await self._frontier.shared([name])
            if kept is not None:
                await _again(_decode(kept), asked, send)
                return
            # Asked before anything is done: what cannot be kept could not be repeated safely.
            stay_ms = await self._stay_ms()
            answer = _Recorder(send)
            await self._app(scope, _given(body, receive), answer.send)
            if kept_bytes := answer.kept(asked):
                await self._frontier.share({name: kept_bytes}, stay_ms)
                self._room.add(len(kept_bytes))
        finally:
            await self._frontier.lock(name, holder, 0)

    async def _stay_ms(self) -> int:
        try:
            return await self._room.stay_ms(0)
        except NoRoom as error:
            retry = {"Retry-After": str(error.retry_s)}
            raise ApiError(429, str(error), headers=retry) from error


class _Recorder:
    """Passes an answer on, and remembers it."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._status = 0
        self._headers: list[tuple[bytes, bytes]] = []
        self._body = bytearray()

    async def send(self, message: Message) -> None:
        """Pass one part of the answer on."""
        if message["type"] == "http.response.start":
            self._status, self._headers = message["status"], list(message["headers"])
        elif len(self._body) <= MOST_KEPT_BYTES:
            self._body += message.get("body", b"")
        await self._send(message)

    def kept(self, asked: str) -> bytes:
        """Return what is to be kept; b"" for what may be tried again."""
        again = self._status >= 500 or self._status in (0, 408, 409, 429)
        if again or len(self._body) > MOST_KEPT_BYTES:
            return b""
        headers = [
            (name.decode("latin-1"), value.decode("latin-1")) for name, value in self._headers
        ]
        body = b64encode(self._body).decode("ascii")
        return _encode(_Kept(asked, self._status, headers, body))


def _is_guarded_post(scope: Scope) -> bool:
    if scope["type"] != "http" or scope["method"] != "POST" or "skitter.role" not in scope:
        return False
    # What changes nothing can be asked again; readers would fill the store with its answers.
    return scope["path"] not in READS


async def _again(kept: _Kept, asked: str, send: Send) -> None:
    if kept.asked != asked:
        raise ApiError(422, "this key was used for another request", "Idempotency-Key")
    headers = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in kept.headers]
    headers.append((b"idempotency-replayed", b"true"))
    await send({"type": "http.response.start", "status": kept.status, "headers": headers})
    await send({"type": "http.response.body", "body": b64decode(kept.body)})


async def _whole(receive: Receive) -> bytes:
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return bytes(body)
        body += message.get("body", b"")
        if not message.get("more_body", False):
            return bytes(body)


def _given(body: bytes, receive: Receive) -> Receive:
    """Return how the app reads a body that was read already."""
    told = False

    async def again() -> Message:
        nonlocal told
        if told:
            return await receive()
        told = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again


def _name(role: Role, path: str, key: str) -> str:
    digest = blake2b(f"{role.value}\n{path}\n{key}".encode("utf-8", "surrogateescape"))
    return f"api:once:{digest.hexdigest()[:32]}"
