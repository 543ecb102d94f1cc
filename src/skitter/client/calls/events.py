"""Calls about what happens and how often."""

from collections.abc import Sequence

from skitter.client.calls.base import Call, below, keyed, listed, wished
from skitter.client.events import SeriesAnswer, Stats, Step, WebhookList, WebhookRow, WebhookWish

LAST_EVENT_ID = "Last-Event-ID"


def events(
    *,
    types: Sequence[str] = (),
    job: str | None = None,
    kind: str | None = None,
    host: str | None = None,
    node: str | None = None,
    after: str | None = None,
) -> Call[None]:
    """Listen to what happens, from now on or after an event that was heard."""
    params = {"types": ",".join(types) or None, "job": job, "kind": kind, "host": host}
    headers = {"Accept": "text/event-stream"}
    if after is not None:
        headers[LAST_EVENT_ID] = after
    return Call(type(None), "GET", below("events"), {**params, "node": node}, headers=headers)


def webhooks() -> Call[WebhookList]:
    """List who is told of events."""
    return Call(WebhookList, "GET", below("webhooks"))


def add_webhook(
    url: str,
    *,
    job: str | None = None,
    types: Sequence[str] = ("page",),
    secret: str | None = None,
    key: str | None = None,
) -> Call[WebhookRow]:
    """Have events sent somewhere; the answer holds the secret that signs them."""
    said = {"url": url, "job": job, "types": listed(types), "secret": secret}
    body = wished(WebhookWish, said)
    return Call(WebhookRow, "POST", below("webhooks"), body=body, headers=keyed(key))


def delete_webhook(webhook_id: str) -> Call[None]:
    """Have no more events sent to one receiver."""
    return Call(type(None), "DELETE", below("webhooks", webhook_id))


def stats() -> Call[Stats]:
    """Tell how everything stands at this moment."""
    return Call(Stats, "GET", below("stats"))


def series(
    name: str | Sequence[str],
    *,
    step: Step | str = Step.MINUTE,
    since: str | None = None,
    until: str | None = None,
) -> Call[SeriesAnswer]:
    """Tell counters over time: ``pages``, ``pages|job=ID``, or ``pages|job`` for one of each."""
    params = {"name": name, "step": str(step), "since": since, "until": until}
    return Call(SeriesAnswer, "GET", below("stats", "series"), params)
