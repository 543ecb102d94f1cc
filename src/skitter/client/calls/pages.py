"""Calls about single pages: explained, looked up, resolved, fetched, tried."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from skitter.client.calls.base import Call, below, listed, wished
from skitter.client.pages import (
    Archived,
    Explanation,
    Fetched,
    FetchWish,
    LookupAnswer,
    LookupWish,
    ResolveAnswer,
    ResolveWish,
    TrialAnswer,
    TrialWish,
)

Media = Literal["image", "video", "audio"]


def explain(url: str, *, job: str | None = None) -> Call[Explanation]:
    """Tell everything known of a URL, and why."""
    return Call(Explanation, "GET", below("pages"), {"url": url, "job": job})


def archived(url: str, job: str) -> Call[Archived]:
    """Return the response to a URL as the archive of a job has it."""
    return Call(Archived, "GET", below("pages", "archived"), {"url": url, "job": job})


def lookup(urls: Sequence[str], *, job: str | None = None) -> Call[LookupAnswer]:
    """Look URLs up in the page index, by requested or final URL; more than 300 in several calls."""
    body = wished(LookupWish, {"urls": listed(urls), "job": job})
    return Call(LookupAnswer, "POST", below("pages", "lookup"), body=body)


def resolve(
    urls: Sequence[str] = (),
    *,
    text: str = "",
    max_age: float = 86_400.0,
    wait: float = 0.0,
    media: Sequence[Media] = (),
) -> Call[ResolveAnswer]:
    """Ask for what is behind URLs, or those of a text; ``wait`` seconds, then with a ticket."""
    said = {"urls": listed(urls), "text": text, "max_age": max_age, "wait": wait}
    body = wished(ResolveWish, {**said, "media": listed(media)})
    # What was fetched by a call whose answer was lost is known to the next one.
    return Call(ResolveAnswer, "POST", below("resolve"), body=body, wait_s=wait)


def resolved(ticket: str, *, wait: float = 0.0) -> Call[ResolveAnswer]:
    """Tell what has come of a resolve by now, or within ``wait`` seconds."""
    params = {"wait": wait or None}
    return Call(ResolveAnswer, "GET", below("resolve", ticket), params, wait_s=wait)


def fetch(url: str, *, body: bool = False) -> Call[Fetched]:
    """Fetch one URL now, beside every queue."""
    asked = wished(FetchWish, {"url": url, "body": body})
    # The site that is asked would see it twice.
    return Call(Fetched, "POST", below("fetch"), body=asked, repeatable=False)


def try_rules(
    job: Mapping[str, Any], url: str, *, html: str | None = None, rule: str | None = None
) -> Call[TrialAnswer]:
    """Try the rules of a job on a page that is fetched, or given."""
    body = wished(TrialWish, {"job": dict(job), "url": url, "html": html, "rule": rule})
    return Call(TrialAnswer, "POST", below("rules", "try"), body=body)
