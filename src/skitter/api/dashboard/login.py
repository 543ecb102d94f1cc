"""Signing in with a token, and out again.

A page without NiceGUI: whoever has no token is given little.
"""

import asyncio
import html
import time
from functools import cache
from importlib.resources import files
from typing import Final

from fastapi import APIRouter, Request
from pydantic import BaseModel, Field
from starlette.responses import HTMLResponse, JSONResponse, Response

from skitter.api.auth import CHANGES_HEADER, COOKIE, SESSION_S, Keys
from skitter.api.dashboard.i18n.words import NAMES, Words, choose
from skitter.api.errors import problem
from skitter.api.strangers import Strangers

LANGUAGE_COOKIE: Final = "skitter_lang"
_WRONG_S: Final = 0.3
"""What a wrong token costs its sender; right ones are never slowed down."""
_SHOWN: Final = ("title", "token", "enter", "hint", "wrong", "often", "away")

router = APIRouter(include_in_schema=False)


class Credentials(BaseModel):
    """What the page sends."""

    token: str = Field(min_length=1, max_length=1000)


def words_of(request: Request) -> Words:
    """Return the language of whoever asks."""
    cookie = request.cookies.get(LANGUAGE_COOKIE)
    return Words(choose(cookie, request.headers.get("accept-language")))


@router.get("/login")
async def login_page(request: Request) -> Response:
    """Show the field for the token."""
    return HTMLResponse(_page(words_of(request).language), headers={"Cache-Control": "no-store"})


@router.post("/login")
async def login(request: Request, given: Credentials) -> Response:
    """Give a cookie for a token."""
    if CHANGES_HEADER not in request.headers:
        return problem(403, "signing in needs the header X-Skitter: 1", "X-Skitter")
    keys: Keys = request.app.state.keys
    role = keys.role_of(given.token)
    if role is None:
        strangers: Strangers = request.app.state.strangers
        try:
            strangers.refuse(request.scope)
        finally:
            # Also who is told to come back later has tried one more.
            await asyncio.sleep(_WRONG_S)
        return problem(401, "the token is wrong", "token")
    answer = JSONResponse({"role": role.value})
    answer.set_cookie(
        COOKIE,
        keys.cookie(role, time.time()),
        max_age=SESSION_S,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return answer


@router.post("/logout")
async def logout(request: Request) -> Response:
    """Take the cookie back."""
    if CHANGES_HEADER not in request.headers:
        return problem(403, "signing out needs the header X-Skitter: 1", "X-Skitter")
    answer = JSONResponse({})
    answer.delete_cookie(COOKIE, httponly=True, samesite="strict")
    return answer


@cache
def _page(language: str) -> str:
    words = Words(language)
    text = files("skitter.api.dashboard").joinpath("static/login.html").read_text("utf-8")
    other = "zh" if language == "en" else "en"
    values = {name: words(f"login.{name}") for name in _SHOWN}
    values |= {"lang": language, "other": other, "other_name": NAMES[other]}
    for name, value in values.items():
        text = text.replace(f"[[{name}]]", html.escape(value))
    return text
