"""Everything known of one address, job by job: the record, the text, the visits, and why."""

from collections.abc import Sequence
from typing import Any

from nicegui import ui

from skitter.api.dashboard import tables
from skitter.api.dashboard.format import (
    NOTHING,
    ago,
    exact,
    number,
    part_of_path,
    shorten,
    size,
)
from skitter.api.dashboard.i18n.words import Words
from skitter.api.dashboard.parts import (
    bar,
    facts,
    heading,
    inside,
    outside,
    panel,
    stack,
    state_badge,
)
from skitter.api.dashboard.session import Viewer
from skitter.api.dashboard.trial import value_text
from skitter.client.jobs import PageRow
from skitter.client.pages import Explained, Explanation

_TEXT = 20_000
_UNKNOWN = "unknown"
_MOST_OTHERS = 50


def show_explained(viewer: Viewer, found: Explanation) -> None:
    """Draw what is known of an address."""
    words = viewer.words
    with stack():
        with bar():
            outside(found.url).classes("grow")
            if found.submitted:
                ui.label(f"{words('pages.submitted')}: {number(found.submitted)}").classes("soft")
        known, others = parted(found.jobs)
        for one in known:
            _of_job(words, one)
        if others:
            _others(words, others)
        if found.left_out:
            ui.label(words("pages.left_out", n=number(found.left_out))).classes("soft")


def parted(jobs: Sequence[Explained]) -> tuple[list[Explained], list[Explained]]:
    """Return the jobs that know an address, and those that do not."""
    known = [one for one in jobs if one.state != _UNKNOWN]
    return known, [one for one in jobs if one.state == _UNKNOWN]


def _others(words: Words, others: Sequence[Explained]) -> None:
    """Say which jobs know nothing of an address, folded: they are many, and say little."""
    with panel(), ui.expansion(words("pages.others", n=number(len(others)))).classes("soft"):
        for one in others[:_MOST_OTHERS]:
            with bar():
                inside(one.job, f"/jobs/{part_of_path(one.job)}")
                ui.label(words.said(one.why)).classes("wrap soft")


def _of_job(words: Words, one: Explained) -> None:
    with panel():
        with ui.element("div").classes("head"):
            title = one.record.title if one.record is not None else None
            heading(shorten(title, 300) or one.url, 2).classes("wrap large")
            state_badge(one.state, words)
            inside(one.job, f"/jobs/{part_of_path(one.job)}")
        with ui.element("p").classes("why"):
            ui.label(words("pages.why")).classes("soft")
            ui.label(words.said(one.why)).classes("wrap")
        with ui.element("div").classes("wide-narrow"):
            with stack():
                if one.record is not None:
                    _text_and_fields(words, one.record)
                _visits(words, one.visits)
            with stack():
                facts(standing(words, one))
                if one.record is not None:
                    _record(words, one.record)


def standing(words: Words, one: Explained) -> list[tuple[str, str | None]]:
    """Return how an address stands in the queue of a job."""
    return [
        (words("pages.host"), one.host),
        (words("pages.depth"), None if one.depth is None else str(one.depth)),
        (words("pages.rule"), one.link_rule),
        (words("pages.next"), _time(words, one.next_visit)),
        (words("pages.tries"), number(one.failed_tries) if one.failed_tries else None),
    ]


def _record(words: Words, page: PageRow) -> None:
    heading(words("pages.record"), 3)
    facts(
        [
            (words("pages.fetched"), _time(words, page.fetched_at)),
            (words("pages.outcome"), words.known("state", page.outcome)),
            (words("pages.status"), str(page.status or NOTHING)),
            (words("pages.error"), page.error),
            (words("pages.final"), page.final_url if page.final_url != page.url else None),
            (words("pages.redirects"), " → ".join(page.redirects)),
            (words("pages.referrer"), page.referrer),
            (words("pages.type"), page.content_type),
            (words("pages.size"), size(page.bytes)),
            (words("pages.took"), None if page.elapsed_ms is None else f"{page.elapsed_ms:,} ms"),
            (words("pages.language"), page.language),
            (words("pages.author"), page.author),
            (words("pages.published"), page.published),
            (words("pages.description"), page.description),
            (words("pages.image"), page.image),
            (words("pages.links"), None if page.n_links is None else number(page.n_links)),
            (words("pages.class"), page.page_class),
            (words("pages.duplicate"), page.duplicate_of),
        ]
    )


def _time(words: Words, at: str | None) -> str | None:
    return f"{exact(at)} ({ago(at, words)})" if at else None


def _text_and_fields(words: Words, page: PageRow) -> None:
    if page.fields:
        heading(words("pages.fields"), 3)
        facts((name, value_text(value)) for name, value in page.fields.items())
    heading(words("pages.text"), 3)
    if page.text:
        with ui.element("pre").classes("text").props('tabindex="0"'):
            ui.label(page.text[:_TEXT]).style("display: contents")
    else:
        ui.label(words("pages.no_text")).classes("faint")


def _visits(words: Words, visits: list[dict[str, Any]]) -> None:
    if not visits:
        return
    heading(words("pages.visits"), 3)
    columns = [
        tables.Column("visit", words("pages.visit"), "number"),
        tables.Column("outcome", words("pages.outcome"), "badge"),
        tables.Column("status", words("pages.status"), "number"),
        tables.Column("at", words("pages.fetched")),
    ]
    tables.table(columns, (_visit(words, at, one) for at, one in enumerate(visits)))


def _visit(words: Words, at: int, visit: dict[str, Any]) -> tables.Cells:
    when = visit.get("fetched_at") or visit.get("at")
    return (
        {"id": str(at)}
        | tables.cell("visit", visit.get("number", at + 1))
        | tables.badge_cell("outcome", str(visit.get("outcome") or ""), words)
        | tables.cell("status", visit.get("status"), str(visit.get("status") or ""))
        | tables.time_cell("at", str(when) if when else None, words)
    )
