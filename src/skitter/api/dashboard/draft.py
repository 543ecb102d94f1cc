"""A job as it is typed into the form, made into one as the API takes it. Pure."""

import json
from dataclasses import dataclass, field
from typing import Any, Final

from skitter.api.dashboard.i18n.words import Words
from skitter.errors import ConfigError
from skitter.job.load import parse_json, parse_toml
from skitter.job.spec import check_job

Spec = dict[str, Any]
Faults = dict[str, str]
"""What is wrong, by the field of the form; "" is what belongs to none."""

KINDS: Final = ("news", "site", "list", "web")
SCOPES: Final = ("", "host", "domain", "subsite", "any")
USED: Final = {
    "news": ("article", "refresh"),
    "site": ("fields", "include", "exclude", "refresh"),
    "list": ("list_from", "list_detail", "list_next", "fields", "refresh"),
    "web": ("keywords", "include", "exclude"),
}
"""Fields that only some kinds have."""
_ONLY_SOME: Final = {name for names in USED.values() for name in names}

_PLACES: Final = {
    "entries": "entries", "id": "id", "owner": "owner", "scope": "scope", "depth": "depth",
    "limits.pages": "pages", "limits.time": "time", "polite.delay": "delay",
    "priority": "priority", "refresh": "refresh", "keywords": "keywords", "order": "keywords",
    "article": "article", "include": "include", "exclude": "exclude", "list.from": "list_from",
    "list.detail_url": "list_detail", "list.next": "list_next", "list": "list_from",
    "detail.fields": "fields", "labels": "labels", "kind": "list_from", "sinks": "sinks",
    "http.render": "render",
}  # fmt: skip
"""Where in a job each field of the form goes, for faults that name the place."""


@dataclass(slots=True)
class Draft:
    """What stands in the form: text as it was typed."""

    kind: str = "news"
    entries: str = ""
    id: str = ""
    owner: str = ""
    scope: str = ""
    depth: str = ""
    pages: str = ""
    time: str = ""
    delay: str = ""
    priority: str = ""
    refresh: str = ""
    keywords: str = ""
    article: str = ""
    include: str = ""
    exclude: str = ""
    list_from: str = ""
    list_detail: str = ""
    list_next: str = ""
    fields: str = ""
    labels: str = ""
    render: str = ""
    """"yes" where the scripts of pages are to run."""
    sinks: list[str] = field(default_factory=list)

    def uses(self, name: str) -> bool:
        """Tell whether this kind of job has a field."""
        return name not in _ONLY_SOME or name in USED[self.kind]


def read_draft(draft: Draft, words: Words) -> tuple[Spec, Faults]:
    """Return the job that a form describes, and what is wrong with it."""
    faults: Faults = {}
    spec: Spec = {"kind": draft.kind, "entries": _lines(draft.entries)}
    if not spec["entries"]:
        faults["entries"] = words("new.entries_wanted")
    for name in ("id", "owner", "scope"):
        _put(spec, (name,), getattr(draft, name).strip())
    for name, place, whole in _NUMBERS:
        _put(spec, place, _number(draft, name, whole=whole, words=words, faults=faults))
    _put(spec, ("labels",), _pairs(draft, "labels", words, faults))
    _put(spec, ("http", "render"), bool(draft.render) or None)
    _put(spec, ("sinks",), [{"name": name} for name in draft.sinks])
    _put_of_kind(draft, spec, words, faults)
    # What was no number is left out of the job, and is none of its faults.
    said = {name: words.said(line) for name, line in check_spec(spec).items()}
    return spec, said | faults


def read_raw(text: str, words: Words) -> tuple[Spec, Faults]:
    """Return the job that a text in TOML or JSON describes, and what is wrong with it."""
    try:
        given = _parsed(text)
    except ConfigError as error:
        return {}, {"": words.said(_without_source(str(error)))}
    if not isinstance(given, dict):
        return {}, {"": words("new.raw_wanted")}
    faults = [words.said(line) for line in check_spec(given).values()]
    if not faults and not given.get("entries"):
        faults = [words("new.entries_wanted")]
    return given, {"": "; ".join(faults)} if faults else {}


def check_spec(spec: Spec) -> Faults:
    """Return what is wrong with a job, by the field of the form it belongs to."""
    checked = {name: value for name, value in spec.items() if name != "sinks"}
    try:
        check_job(checked, "job")
    except ConfigError as error:
        faults: Faults = {}
        for line in str(error).splitlines():
            said = _without_source(line)
            faults.setdefault(_field_of(said), said)
        return faults
    return {}


def shown(spec: Spec) -> str:
    """Return a job as text to go on from."""
    return json.dumps(spec, indent=2, ensure_ascii=False)


_NUMBERS: Final = (
    ("depth", ("depth",), True),
    ("pages", ("limits", "pages"), True),
    ("time", ("limits", "time"), False),
    ("delay", ("polite", "delay"), False),
    ("priority", ("priority",), True),
)


def _put_of_kind(draft: Draft, spec: Spec, words: Words, faults: Faults) -> None:
    """Put in what only some kinds have."""
    for name in ("article", "include", "exclude"):
        if draft.uses(name):
            _put(spec, (name,), _lines(getattr(draft, name)))
    if draft.uses("refresh"):
        _put(spec, ("refresh",), draft.refresh.strip())
    if draft.uses("keywords"):
        given = draft.keywords.replace("\uff0c", ",").replace("、", ",").split(",")
        _put(spec, ("keywords",), [word.strip() for word in given if word.strip()])
    if draft.uses("fields"):
        _put(spec, ("detail", "fields"), _pairs(draft, "fields", words, faults))
    if draft.kind == "list":
        _put(spec, ("list", "from"), draft.list_from.strip())
        _put(spec, ("list", "detail_url"), draft.list_detail.strip())
        _put(spec, ("list", "next"), draft.list_next.strip())


def _put(spec: Spec, place: tuple[str, ...], value: object) -> None:
    """Put a value at its place; one that was left out is not put at all."""
    if value is None or value in ("", [], {}):
        return
    for name in place[:-1]:
        spec = spec.setdefault(name, {})
    spec[place[-1]] = value


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def _number(
    draft: Draft, name: str, *, whole: bool, words: Words, faults: Faults
) -> float | int | None:
    text = getattr(draft, name).strip().replace(",", "")
    if not text:
        return None
    try:
        return int(text) if whole else float(text)
    except ValueError:
        faults[name] = words("new.number_wanted")
        return None


def _pairs(draft: Draft, name: str, words: Words, faults: Faults) -> dict[str, str]:
    found = {}
    for at, line in enumerate(_lines(getattr(draft, name)), start=1):
        key, equals, value = (part.strip() for part in line.partition("="))
        if not (key and equals and value):
            faults.setdefault(name, words("new.pair_wanted", n=at))
        found[key] = value
    return found


def _parsed(text: str) -> object:
    raw = text.strip().encode()
    return parse_json(raw, "job") if raw.startswith(b"{") else parse_toml(raw, "job")


def _without_source(line: str) -> str:
    return line.removeprefix("job: ")


def _field_of(said: str) -> str:
    place = said.partition(":")[0].partition("[")[0]
    while place:
        if place in _PLACES:
            return _PLACES[place]
        place = place.rpartition(".")[0]
    return ""
