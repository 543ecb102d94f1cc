"""What is wrong with a sitemap, in one sentence for a person."""

from dataclasses import dataclass
from typing import Final

from skitter.parse.sitemap.model import Kind

_MEGABYTE: Final = 1024 * 1024
_SHOWN_CHARS: Final = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known of a document when all of it is read."""

    kind: Kind
    found: int
    """How many addresses it listed."""
    max_bytes: int
    is_damaged: bool
    """Its gzip data breaks the format's rules."""
    is_cut: bool
    """Its gzip data lacks its end."""
    is_too_big: bool
    is_barren: bool
    """It was left because nothing was found in it for long."""
    first: str | None = None
    """The name of its first element, which may be empty; None when it is not markup."""
    has_ended: bool = False
    """Its root element is closed."""
    has_entities: bool = False


def problem(evidence: Evidence) -> str | None:
    """Return what is wrong, the cause before its effects; None when nothing is."""
    return _of_bytes(evidence) or _of_kind(evidence) or _of_markup(evidence)


def _of_bytes(evidence: Evidence) -> str | None:
    if evidence.is_damaged:
        return f"gzip data is damaged {_after(evidence.found)}"
    if evidence.is_cut:
        return f"gzip data breaks off {_after(evidence.found)}"
    if evidence.is_too_big:
        return f"more than {_size(evidence.max_bytes)}; the rest is left out"
    return None


def _of_kind(evidence: Evidence) -> str | None:
    match evidence:
        case Evidence(kind="html"):
            return "an HTML page, not a sitemap"
        case Evidence(kind="empty"):
            return "empty"
        case Evidence(kind="unknown", first=str(first)) if first:
            return f"an XML document of <{first[:_SHOWN_CHARS]}>, not a sitemap"
        case Evidence(kind="unknown", first=str(), has_entities=False):
            return "markup without any element, not a sitemap"
        case Evidence(kind="unknown", first=None):
            return "neither XML nor a list of URLs"
        case _:
            return None


def _of_markup(evidence: Evidence) -> str | None:
    if evidence.has_entities:
        return "declares entities, which are not expanded"
    if evidence.is_barren:
        return f"lists nothing for long {_after(evidence.found)}; the rest is left out"
    if evidence.first is not None and not evidence.has_ended:
        return f"breaks off {_after(evidence.found)}"
    return None


def _after(found: int) -> str:
    return f"after {found:,} URL{'' if found == 1 else 's'}"


def _size(count: int) -> str:
    megabytes, rest = divmod(count, _MEGABYTE)
    return f"{count:,} bytes" if rest else f"{megabytes:,} MB"
