"""Receivers of events."""

from typing import Annotated

from fastapi import APIRouter, Body, Path, Response

from skitter.api.auth import operator, reader
from skitter.api.examples import WEBHOOK
from skitter.api.herald import Events
from skitter.client.events import WebhookList, WebhookRow, WebhookWish

router = APIRouter(prefix="/v1/webhooks", tags=["events"])

Id = Annotated[str, Path(pattern="^[0-9a-f]{16}$", description="The id of a webhook.")]


@router.get("", dependencies=[reader])
async def list_webhooks(herald: Events) -> WebhookList:
    """Tell who is sent events, and how far each one is."""
    return WebhookList(webhooks=await herald.book.rows())


@router.post("", dependencies=[operator], status_code=201)
async def add_webhook(
    wish: Annotated[WebhookWish, Body(examples=[WEBHOOK])], herald: Events
) -> WebhookRow:
    """Have events sent to a URL from now on.

    Each message is signed with the secret, which is told here and never again:
    `Skitter-Signature: t=SECONDS,v1=HEX`, the HMAC-SHA256 of `SECONDS.BODY`. What does not answer
    with a 2xx within ten seconds is sent again, for a day.
    """
    return await herald.book.add(wish)


@router.delete("/{hook_id}", dependencies=[operator], status_code=204, response_class=Response)
async def delete_webhook(hook_id: Id, herald: Events) -> Response:
    """Have no more events sent to a receiver."""
    await herald.book.delete(hook_id)
    return Response(status_code=204)
