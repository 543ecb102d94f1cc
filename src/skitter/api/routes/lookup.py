"""Pages looked up by URL, up to 300 at once.

Neither the question nor the answer goes through pydantic: at thousands of URLs a second that would
take longer than the look-up. A question that is not as it should be is read once more, by the model
of the API, which says what is wrong with it.
"""

from typing import Annotated, Any

import msgspec
from fastapi import APIRouter, Request, Response
from fastapi.exceptions import RequestValidationError
from msgspec import Meta
from pydantic import ValidationError

from skitter.api.auth import reader
from skitter.api.served import service_of
from skitter.client.pages import MAX_LOOKUP, LookupAnswer, LookupWish
from skitter.wiring.resolve import index_of

router = APIRouter(prefix="/v1/pages", tags=["pages"])
JSON = "application/json"


class _Wish(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    urls: Annotated[list[str], Meta(min_length=1, max_length=MAX_LOOKUP)]
    job: str | None = None


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(_Wish).decode
_EXAMPLE = {"urls": ["https://example.com/", "https://example.com/about"], "job": None}
_BODY: dict[str, Any] = {
    "required": True,
    "content": {JSON: {"schema": LookupWish.model_json_schema(), "example": _EXAMPLE}},
}


@router.post(
    "/lookup",
    dependencies=[reader],
    response_model=LookupAnswer,
    openapi_extra={"requestBody": _BODY},
)
async def look_up(request: Request) -> Response:
    """Tell what the page index holds of URLs, requested or final; one answer each, in order.

    Of several jobs that have a URL the newest record counts.
    """
    wish = _read(await request.body())
    found = await index_of(await service_of(request)).find(wish.urls, wish.job)
    return Response(_encode({"pages": found}), media_type=JSON)


def _read(body: bytes) -> _Wish:
    try:
        return _decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        try:
            wish = LookupWish.model_validate_json(body)
        except ValidationError as error:
            raise RequestValidationError(
                [{**fault, "loc": ("body", *fault["loc"])} for fault in error.errors()]
            ) from error
        return _Wish(wish.urls, wish.job)
