"""Try on a page: what a job would take of one page, before it runs on all of them."""

import json
from collections.abc import Callable

from nicegui import ui

from skitter.api.dashboard.draft import Faults, Spec
from skitter.api.dashboard.format import shorten
from skitter.api.dashboard.parts import badge, bar, button, facts, heading, outside, panel
from skitter.api.dashboard.session import Viewer
from skitter.client.base import Role
from skitter.client.calls import pages as calls
from skitter.client.pages import TrialAnswer
from skitter.errors import ApiError

_LINKS = 30
_LONGEST = 300


class Trial:
    """The pane: an address, a button, and what came of it."""

    def __init__(self, viewer: Viewer, spec: Callable[[], tuple[Spec, Faults]]) -> None:
        words = self._words = viewer.words
        self._viewer, self._spec = viewer, spec
        with panel(words("try.title")):
            ui.label(words("try.hint")).classes("soft small")
            with bar():
                self._url = ui.input(words("try.url")).props("outlined dense").classes("grow")
                self._url.props["data-field"] = "try"
                self._url.on("keydown.enter", self._run)
                self._button = button(words("try.run"), self._run, icon="science")
                self._button.set_enabled(viewer.may(Role.OPERATOR))
            self._result = ui.element("div").classes("stack tight")

    async def _run(self) -> None:
        spec, faults = self._spec()
        url = (self._url.value or "").strip() or next(iter(spec.get("entries") or ()), "")
        self._result.clear()
        if faults or not url:
            why = next(iter(faults.values()), self._words("new.entries_wanted"))
            self._say(self._words("new.fix", what=why))
            return
        self._url.value = url
        self._button.props("loading")
        try:
            answer = await self._viewer.api.send(calls.try_rules(spec, url))
        except ApiError as error:
            self._say(self._viewer.sentence(error))
        else:
            with self._result:
                self._show(answer)
        finally:
            self._button.props(remove="loading")

    def _say(self, text: str) -> None:
        with self._result:
            ui.label(text).classes("bad wrap small")

    def _show(self, answer: TrialAnswer) -> None:
        words = self._words
        facts(
            [
                (words("try.rule"), answer.rule),
                (words("try.class"), answer.page_class),
                (words("try.looks"), answer.looks_like),
            ]
        )
        if answer.missing:
            ui.label(words("try.missing", names=", ".join(answer.missing))).classes("bad wrap")
        _values(words("try.fields"), answer.fields)
        for item in answer.items[:5]:
            _values(words("try.items"), item)
        _values(words("try.article"), answer.article)
        followed = [link for link in answer.links if link.follow]
        heading(words("try.links", n=len(followed), all=len(answer.links)), 3)
        for link in followed[:_LINKS]:
            with ui.element("div").classes("bar"):
                badge(link.page_class or "nav")
                outside(link.url, shorten(link.url, 90)).classes("grow small")


def _values(title: str, values: dict[str, object]) -> None:
    filled = {name: value for name, value in values.items() if value not in (None, "", [], {})}
    if filled:
        heading(title, 3)
        facts((name, value_text(value)) for name, value in filled.items())


def value_text(value: object, longest: int = _LONGEST) -> str:
    """Return a value of a record as text."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= longest else text[: longest - 1] + "…"
