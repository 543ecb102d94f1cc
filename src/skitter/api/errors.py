"""Every error in one shape: a word for programs, a sentence for people, and the field."""

import logging
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from skitter.errors import ConfigError, Conflict, NotFound, SinkError, SkitterError, UrlError

log = logging.getLogger(__name__)

CODES = {
    400: "bad_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    408: "too_slow",
    409: "conflict",
    412: "changed",
    413: "too_large",
    421: "misdirected",
    422: "invalid",
    424: "fetch_failed",
    429: "too_many",
    500: "internal",
    503: "unavailable",
}
RETRY_S = 2
TOO_DEEP = "the body is nested more deeply than can be read"
NOT_UTF8 = "the body is not JSON: it is not UTF-8"


class ApiError(Exception):
    """An answer that is an error."""

    def __init__(
        self,
        status: int,
        message: str,
        field: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.field = field
        self.headers = dict(headers or {})


def problem(
    status: int,
    message: str,
    field: str | None = None,
    headers: Mapping[str, str] | None = None,
) -> JSONResponse:
    """Return an error as every error looks."""
    error = {"code": CODES.get(status, "error"), "message": message, "field": field}
    return JSONResponse({"error": error}, status, headers=dict(headers or {}))


def install(app: FastAPI) -> None:
    """Let every error of an app have the one shape."""
    app.add_exception_handler(ApiError, _api_error)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(SkitterError, _own_error)
    app.add_exception_handler(RecursionError, _too_deep)
    app.add_exception_handler(Exception, _unexpected)


async def _api_error(request: Request, error: Exception) -> Response:
    del request
    assert isinstance(error, ApiError)
    if error.status == 304:
        return Response(status_code=304, headers=error.headers)
    return problem(error.status, error.message, error.field, error.headers)


async def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    if unread := _why_unread(error.__cause__):
        return problem(422, unread)
    words = {404: f"there is nothing at {request.url.path}"}
    words[405] = f"{request.method} is not possible at {request.url.path}"
    message = words.get(error.status_code) or str(error.detail)
    return problem(error.status_code, message, None, error.headers)


def _why_unread(cause: BaseException | None) -> str | None:
    """Return why FastAPI could not read a body, which says itself only that it could not."""
    match cause:
        case UnicodeDecodeError():
            return NOT_UTF8
        case RecursionError():
            return TOO_DEEP
        case _:
            return None


async def _own_error(request: Request, error: Exception) -> Response:
    del request
    message = str(error)
    if isinstance(error, NotFound):
        return problem(404, message)
    if isinstance(error, Conflict):
        return problem(409, message)
    if isinstance(error, ConfigError):
        field, words = field_of(message)
        return problem(422, words, field)
    if isinstance(error, UrlError):
        return problem(422, message, "url")
    if isinstance(error, SinkError):
        return problem(503, message, headers={"Retry-After": str(RETRY_S)})
    log.warning("a request could not be answered: %s", error)
    waits = "the store does not answer at the moment; ask again"
    return problem(503, waits, headers={"Retry-After": str(RETRY_S)})


async def _too_deep(request: Request, error: Exception) -> Response:
    log.info("%s %s: %s", request.method, request.url.path, error)
    return problem(422, TOO_DEEP)


async def _unexpected(request: Request, error: Exception) -> Response:
    # What went wrong inside is for the log of the operator alone.
    log.error("%s %s failed", request.method, request.url.path, exc_info=error)
    return problem(500, HTTPStatus(500).phrase)


async def _invalid(request: Request, error: Exception) -> Response:
    del request
    assert isinstance(error, RequestValidationError)
    faults = error.errors()
    field, words = describe(faults[0]) if faults else (None, "the request cannot be read")
    return problem(422, words, field)


_NO_OBJECT = frozenset({"dict_type", "model_type", "model_attributes_type"})


def describe(fault: Mapping[str, Any]) -> tuple[str | None, str]:
    """Return the field of a fault, and a sentence that names it."""
    place, *path = fault["loc"]
    field = _dotted(path) if path else str(place)
    if fault["type"] == "json_invalid":
        why = str(fault.get("ctx", {}).get("error", "broken"))
        return None, TOO_DEEP if "recursion" in why else f"the body is not JSON: {why}"
    if not path and isinstance(fault.get("input"), bytes):
        # It is left as it came when it is not said to be JSON, as curl does by itself.
        return "Content-Type", "the body is wanted with the header Content-Type: application/json"
    if not path and fault["type"] in _NO_OBJECT:
        return field, f"{field}: wanted a JSON object"
    if fault["type"] == "missing":
        return field, f"{field}: missing"
    if fault["type"] == "extra_forbidden":
        return field, f"{field}: unknown name"
    words = str(fault["msg"]).removeprefix("Value error, ").removeprefix("Input should be ")
    return field, f"{field}: wanted {words}" if words != fault["msg"] else f"{field}: {words}"


def _dotted(path: list[str | int]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else str(part)
    return text


_SOURCE = re.compile(r"^job(?: \S+)?: ")
_FIELD = re.compile(r"[A-Za-z_][\w.\[\]-]*(?=: )")


def field_of(message: str) -> tuple[str | None, str]:
    """Return the field that a message of ours begins with, and the message in one sentence."""
    lines = [_SOURCE.sub("", line) for line in message.splitlines()]
    found = _FIELD.match(lines[0]) if lines else None
    return found[0] if found else None, "; ".join(lines)
