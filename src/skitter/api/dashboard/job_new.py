"""A new job: a form that is checked as it is filled in, or the whole job as text."""

from typing import Any

from nicegui import ui
from nicegui.elements.mixins.validation_element import ValidationElement

from skitter.api.dashboard.draft import (
    KINDS,
    SCOPES,
    Draft,
    Faults,
    Spec,
    read_draft,
    read_raw,
    shown,
)
from skitter.api.dashboard.format import part_of_path
from skitter.api.dashboard.parts import bar, button, heading, inside, panel, stack
from skitter.api.dashboard.session import Viewer
from skitter.api.dashboard.trial import Trial
from skitter.client.base import Role
from skitter.client.calls import jobs as calls
from skitter.errors import ApiError

_PROPS = "outlined dense stack-label"


async def show(viewer: Viewer) -> None:
    """Draw the page."""
    NewJob(viewer)


class NewJob:
    """The form, the text, and what is wrong with them."""

    def __init__(self, viewer: Viewer) -> None:
        words = self._words = viewer.words
        self._viewer = viewer
        self._may = viewer.may(Role.OPERATOR)
        self._draft = Draft()
        self._inputs: dict[str, ValidationElement[Any]] = {}
        self._touched: set[str] = set()
        self._kinds: dict[str, ui.element] = {}
        ui.page_title(f"{words('new.title')} · Skitter")
        with stack():
            with bar():
                inside(words("nav.jobs"), "/jobs")
                ui.label("/").classes("faint")
                heading(words("new.title"))
            if not self._may:
                role = words(f"role.{viewer.me.role}")
                ui.label(words("new.role", role=role)).classes("bad wrap").props('role="alert"')
            with ui.element("div").classes("wide-narrow"):
                with stack():
                    self._write()
                    self._create_bar()
                self._trial = Trial(viewer, self.spec)
        self._check()

    def _write(self) -> None:
        words = self._words
        with panel():
            with ui.tabs().props("align=left dense no-caps") as tabs:
                form = ui.tab("form", words("new.tab_form"))
                raw = ui.tab("raw", words("new.tab_raw"))
            self._tabs = tabs
            with ui.tab_panels(tabs, value=form).props("animated=false"):
                with ui.tab_panel(form):
                    self._form()
                with ui.tab_panel(raw):
                    ui.label(words("new.raw_hint")).classes("soft small")
                    self._raw = ui.textarea(on_change=self._check).props("outlined autogrow")
                    self._raw.classes("code").props["aria-label"] = words("new.tab_raw")
            tabs.on_value_change(self._switched)

    def _form(self) -> None:
        words = self._words
        self._kind_cards()
        with ui.element("div").classes("form").style("margin-top: 14px"):
            self._area("entries", rows=2)
            self._line("id", "half", hint=words("new.id_hint"))
            self._line("pages", "quarter")
            self._line("delay", "quarter")
            self._area("article", rows=1)
            self._line("keywords")
            self._line("list_from")
            self._line("list_detail", "half")
            self._line("list_next", "half")
            self._area("fields", rows=3)
        more = ui.expansion(words("new.more")).classes("grow").props("dense")
        with more, ui.element("div").classes("form").style("margin-top: 10px"):
            self._more()

    def _more(self) -> None:
        words = self._words
        scopes = {scope: words(f"new.scope_{scope or 'default'}") for scope in SCOPES}
        self._choice("scope", scopes)
        self._line("depth", "quarter")
        self._line("time", "quarter")
        self._line("refresh", "half", hint=words("new.refresh_hint"))
        self._line("owner", "quarter")
        self._line("priority", "quarter")
        box = ui.checkbox(words("new.render")).classes("half").props("dense")
        box.on_value_change(lambda event: self._typed("render", "yes" if event.value else ""))
        box.props["data-field"] = "render"
        self._area("include", rows=2, classes="half")
        self._area("exclude", rows=2, classes="half")
        self._area("labels", rows=2)
        if self._viewer.me.sinks:
            made = ui.select(self._viewer.me.sinks, multiple=True, label=words("new.sinks"))
            made.props(f"{_PROPS} use-chips").on_value_change(
                lambda event: self._typed("sinks", list(event.value or ()))
            )
            self._inputs["sinks"] = made

    def _kind_cards(self) -> None:
        words = self._words
        heading(words("new.kind"), 3)
        with (
            ui.element("div")
            .classes("kinds")
            .props('role="radiogroup"')
            .style("margin-top: 8px") as group
        ):
            group.props["aria-label"] = words("new.kind")
            for kind in KINDS:
                with (
                    ui.element("button").classes("kind").props('type="button" role="radio"') as card
                ):
                    with ui.element("b"):
                        ui.label(words(f"kind.{kind}")).style("display: contents")
                    with ui.element("span"):
                        ui.label(words(f"new.kind_{kind}")).style("display: contents")
                card.on("click", lambda kind=kind: self._choose(kind))
                card.props["data-kind"] = kind
                self._kinds[kind] = card

    def _choose(self, kind: str) -> None:
        self._draft.kind = kind
        self._check()

    def _line(self, name: str, classes: str = "", hint: str = "") -> None:
        made = ui.input(self._words(f"new.{name}"), on_change=lambda e: self._typed(name, e.value))
        self._place(name, made, classes)
        if hint:
            made.props["hint"] = hint

    def _area(self, name: str, *, rows: int, classes: str = "") -> None:
        made = ui.textarea(
            self._words(f"new.{name}"), on_change=lambda e: self._typed(name, e.value)
        )
        made.props(f"autogrow rows={rows}")
        self._place(name, made, f"code {classes}")

    def _choice(self, name: str, options: dict[str, str]) -> None:
        made = ui.select(options, value="", label=self._words(f"new.{name}"))
        made.on_value_change(lambda event: self._typed(name, event.value))
        self._place(name, made, "half")

    def _place(self, name: str, made: ValidationElement[Any], classes: str) -> None:
        made.props(f"{_PROPS} debounce=150").classes(classes)
        # Its own check, of nothing, would come after ours and take back what that has said.
        made.without_auto_validation()
        made.props["data-field"] = name
        self._inputs[name] = made

    def _typed(self, name: str, value: object) -> None:
        setattr(self._draft, name, value if name == "sinks" else value or "")
        self._touched.add(name)
        self._check()

    def _switched(self) -> None:
        if self._tabs.value == "raw" and not self._raw.value:
            self._raw.value = shown(read_draft(self._draft, self._words)[0])
        self._check()

    def spec(self) -> tuple[Spec, Faults]:
        """Return the job as it stands, and what is wrong with it."""
        if self._tabs.value == "raw":
            return read_raw(self._raw.value or "", self._words)
        return read_draft(self._draft, self._words)

    def _check(self) -> None:
        """Show what is wrong, at the field where it is."""
        faults = self.spec()[1]
        for kind, card in self._kinds.items():
            card.props["aria-checked"] = "true" if kind == self._draft.kind else "false"
        for name, element in self._inputs.items():
            element.set_visibility(self._draft.uses(name))
            element.error = faults.get(name) if name in self._touched else None
        what = next(iter(faults.values()), "")
        untouched = not self._touched and self._tabs.value != "raw"
        said = self._words("new.fix", what=what) if what else self._words("new.good")
        self._said.set_text("" if untouched or not self._may else said)
        self._said.classes(replace="bad small wrap" if what else "good small")
        self._create.set_enabled(self._may and not what)

    def _create_bar(self) -> None:
        with bar():
            self._create = button(self._words("new.create"), self._add, icon="add", style="main")
            self._said = ui.label().props('role="status"')

    async def _add(self) -> None:
        spec, faults = self.spec()
        if faults:
            self._touched.update(faults)
            self._check()
            return
        try:
            job = await self._viewer.api.send(calls.add_job(spec))
        except ApiError as error:
            self._refused(error)
            return
        ui.notify(self._words("new.created"), type="positive", position="top", icon="check")
        ui.navigate.to(f"/jobs/{part_of_path(job.id)}")

    def _refused(self, error: ApiError) -> None:
        """Show what the service does not like, at the field it names where that is one of ours."""
        element = self._inputs.get((error.field or "").partition("[")[0])
        if element is not None and self._tabs.value == "form":
            element.error = self._words.said(error.message)
        self._viewer.refused(error)
