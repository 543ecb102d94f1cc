"""Webhooks added, listed and deleted."""

import secrets
from typing import Final

from skitter.api.hooks.behind import Place, count_waiting
from skitter.api.hooks.kept import WISHES, Hook, HookState, read_hook, read_state, state_mark
from skitter.api.hooks.signature import new_secret
from skitter.api.live.history import EventLog
from skitter.client.events import WebhookRow, WebhookWish
from skitter.clock import time_text
from skitter.errors import ConfigError, Conflict, NotFound
from skitter.fetch.guard import AddressGuard, special_kind
from skitter.url.host import host_key, host_name
from skitter.url.parse import parse_http
from skitter.wiring.store import Store

TYPES: Final = ("page", "job", "node", "setting", "alarm", "resolve")
MOST: Final = 100


class HookBook:
    """The webhooks of a store."""

    def __init__(self, store: Store, log: EventLog, guard: AddressGuard) -> None:
        self._store = store
        self._log = log
        self._guard = guard

    async def rows(self) -> list[WebhookRow]:
        """Return every webhook and how far it is, the oldest first."""
        hooks = sorted(await self._hooks(), key=lambda hook: (hook.created_ms, hook.id))
        marks = await self._store.reader.marks_of([state_mark(hook.id) for hook in hooks])
        states = [read_state(mark, hook.start) for hook, mark in zip(hooks, marks, strict=True)]
        places = [Place(hook.filter, at.after) for hook, at in zip(hooks, states, strict=True)]
        waiting = await count_waiting(self._log, places)
        return [_row(*facts) for facts in zip(hooks, states, waiting, strict=True)]

    async def add(self, wish: WebhookWish) -> WebhookRow:
        """Have events sent from now on; the answer is the only one with the secret."""
        url = check_url(wish.url, self._guard)
        check_types(wish.types)
        if len(await self._hooks()) >= MOST:
            raise Conflict(f"there are {MOST} webhooks already; delete one first")
        hook = Hook(
            id=secrets.token_hex(8),
            url=url,
            secret=wish.secret or new_secret(),
            types=tuple(dict.fromkeys(wish.types)),
            job=wish.job,
            created_ms=self._store.clock.now_ms(),
            start=await self._log.latest_event(),
        )
        await self._store.frontier.ack([], marks={hook.mark: hook.encode()})
        row = _row(hook, read_state(None, hook.start), 0)
        return row.model_copy(update={"secret": hook.secret})

    async def delete(self, hook_id: str) -> None:
        """Have no more events sent there."""
        if hook_id not in {hook.id for hook in await self._hooks()}:
            raise NotFound(f"there is no webhook {hook_id!r}")
        marks = {WISHES + hook_id: b"", state_mark(hook_id): b""}
        await self._store.frontier.ack([], marks=marks)

    async def _hooks(self) -> list[Hook]:
        marks = await self._store.reader.marks(WISHES)
        return [hook for raw in marks.values() if (hook := read_hook(raw))]


def _row(hook: Hook, state: HookState, waiting: int | None) -> WebhookRow:
    return WebhookRow(
        id=hook.id,
        url=hook.url,
        job=hook.job,
        types=list(hook.types),
        created_at=time_text(hook.created_ms),
        delivered=state.delivered,
        failed=state.failed,
        waiting=waiting,
        last_error=state.last_error,
    )


def check_url(text: str, guard: AddressGuard) -> str:
    """Return the URL of a receiver as it is asked; raises when it cannot be one."""
    url = parse_http(text)
    host = host_name(host_key(url))
    if "@" in url.partition("://")[2].partition("/")[0]:
        raise ConfigError("url: wanted one without a user name and a password")
    address = host.strip("[]")
    why = None if special_kind(address) == "malformed" else guard.why_not(address)
    if host == "localhost" or host.endswith(".localhost"):
        why = guard.why_not("127.0.0.1")
    if why is not None:
        raise ConfigError(f"url: {why}; this service sends to public addresses only")
    return url


def check_types(types: list[str]) -> None:
    """Raise when somebody wants to hear of nothing, or of what never happens."""
    if not types:
        raise ConfigError(f"types: wanted at least one of {', '.join(TYPES)}")
    for at, name in enumerate(types):
        if name not in TYPES:
            raise ConfigError(f"types[{at}]: {name[:40]!r} never happens; {', '.join(TYPES)} do")
