"""One viewer: who looks, in which language, and how the pages reach the API for them."""

from dataclasses import dataclass, field
from typing import Final

from nicegui import ui

from skitter.api.dashboard.i18n.words import Words
from skitter.client.base import Me, Role
from skitter.client.calls.base import Answer, Call
from skitter.client.http import AsyncClient
from skitter.errors import ApiAway, ApiError

_RANKS: Final = {Role.READER: 0, Role.OPERATOR: 1, Role.ADMIN: 2}


@dataclass(slots=True)
class Viewer:
    """Whoever has a page open."""

    api: AsyncClient
    me: Me
    words: Words
    _lost: ui.element | None = field(default=None)
    _lost_text: ui.label | None = field(default=None)

    def may(self, role: Role) -> bool:
        """Tell whether the viewer may do what ``role`` may."""
        return _RANKS[self.me.role] >= _RANKS[role]

    def place_for_trouble(self) -> None:
        """Make the line that says that the service does not answer, hidden while it does."""
        with ui.element("div").classes("lost").props('role="alert"') as self._lost:
            ui.icon("cloud_off")
            self._lost_text = ui.label()
        self._lost.set_visibility(False)

    async def read(self, call: Call[Answer]) -> Answer | None:
        """Return an answer; None where there is none, and then the page says why."""
        try:
            answer = await self.api.send(call)
        except ApiError as error:
            self.say_lost(error)
            return None
        if self._lost is not None and self._lost.visible:
            self._lost.set_visibility(False)
        return answer

    async def find(self, call: Call[Answer]) -> Answer | None:
        """Return an answer, or None for what the service does not know."""
        try:
            return await self.api.send(call)
        except ApiError as error:
            if error.status not in (404, 422):
                self.say_lost(error)
            return None

    async def do(self, call: Call[Answer], done: str = "") -> Answer | None:
        """Have something done and say what came of it; None where nothing did."""
        try:
            answer = await self.api.send(call)
        except ApiError as error:
            self.refused(error)
            return None
        if done:
            ui.notify(done, type="positive", position="top", icon="check")
        return answer

    async def done(self, call: Call[None], said: str) -> bool:
        """Have something done that has no answer; tell whether it was."""
        try:
            await self.api.send(call)
        except ApiError as error:
            self.refused(error)
            return False
        ui.notify(said, type="positive", position="top", icon="check")
        return True

    def refused(self, error: ApiError) -> None:
        """Say that something was not done, and why."""
        if error.status == 401:
            ui.run_javascript("skitter.signIn()")
            return
        ui.notify(
            self.sentence(error), type="negative", position="top", multi_line=True, timeout=8000
        )

    def sentence(self, error: ApiError) -> str:
        """Return an error in words of the viewer."""
        match error:
            case ApiAway():
                return self.words("error.away", why=error.message)
            case ApiError(status=403):
                return self.words("error.role", role=self.words(f"role.{self.me.role}"))
            case ApiError(status=429):
                return self.words("error.busy")
            case _:
                return self.words.said(error.message)

    def say_lost(self, error: ApiError) -> None:
        """Say that the service did not answer, until it does."""
        if error.status == 401:
            ui.run_javascript("skitter.signIn()")
        elif self._lost is not None and self._lost_text is not None:
            self._lost_text.set_text(self.sentence(error))
            self._lost.set_visibility(True)
