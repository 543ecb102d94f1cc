"""The end of a crawl, in words for people and in one line for programs."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from skitter.cli import wording
from skitter.crawl.standing import CANCELLED
from skitter.crawl.summary import Summary
from skitter.database.address import without_secrets
from skitter.frontier.redis.address import without_password

_SHOWN_KINDS = 8
_ENDS = {
    "finished": "Finished",
    "interrupted": "Interrupted, everything so far is kept",
    "waiting": "Nothing may be fetched for a while",
    CANCELLED: "Cancelled, the records so far are kept",
}
_JSON_FIELDS = (
    *("pages", "ok", "failed", "refused", "duplicates", "rejected", "media", "queued"),
    "seconds",
)


def summary_json(summary: Summary) -> dict[str, object]:
    """Return the counters that ``--json`` promises; where there is more to tell, that as well."""
    values = {name: getattr(summary, name) for name in _JSON_FIELDS}
    values["seconds"] = round(summary.seconds, 3)
    if summary.stopped_by == CANCELLED:
        values["stopped_by"] = CANCELLED
    if summary.warnings:
        values["warnings"] = summary.warnings
    return values


def summary_lines(summary: Summary, resume: str, look: str = "") -> list[str]:
    """Return what was fetched, what was not and why, where it is, and what can be done next.

    ``look`` is the command that explains a page; left out, that of the state directory.
    """
    hints = _hints(summary, resume, look or page_command(summary.data))
    blocks = [[_headline(summary)], _counts(summary), _places(summary), hints]
    lines: list[str] = []
    for block in blocks:
        lines += ["", *block] if block and lines else block
    return lines


def resume_command(argv: Sequence[str]) -> str:
    """Return the command that goes on: the same one, without what would start over."""
    kept = [word for word in argv if word != "--fresh"]
    return f"{wording.program()} {shlex.join(kept)}"


def _headline(summary: Summary) -> str:
    how = _ENDS.get(summary.stopped_by, f"Stopped by the {summary.stopped_by}")
    if summary.stopped_by == "finished" and summary.finished_before:
        how = "Finished before, nothing was left to fetch (--fresh starts over)"
    pages = wording.plural(summary.pages, "page")
    hosts = wording.plural(summary.hosts, "host")
    return f"{how}: {pages} from {hosts} in {wording.duration(summary.seconds)}"


def _counts(summary: Summary) -> list[str]:
    rows = [
        ("ok", summary.ok, ""),
        ("duplicates", summary.duplicates, "same page at another address, or same content"),
        ("refused", summary.refused, "by robots, address guard, scope or media type"),
        ("failed", summary.failed, "network faults, HTTP errors and broken pages"),
        ("dropped", summary.dropped, "links beyond the bound of the queue"),
        ("again", summary.again, "visits to pages that were visited before"),
        (
            "set aside",
            summary.rejected,
            f"see {wording.program()} job rejects; --again tries them once more",
        ),
        ("error pages", summary.error_pages, "came as if all were well, and say there is nothing"),
        ("garbled", summary.garbled, "some of their bytes are no characters of their encoding"),
        ("still queued", summary.queued, _waiting(summary)),
    ]
    shown = [row for row in rows if row[1] or row[0] == "ok"]
    width = max(len(wording.count(number)) for _, number, _ in shown)
    lines = [
        f"  {name:<12}  {wording.count(number):>{width}}  {meaning}".rstrip()
        for name, number, meaning in shown
    ]
    if summary.status_codes:
        lines.append(f"  {'status':<12}  {_ranked(summary.status_codes)}")
    if summary.errors:
        lines.append(f"  {'reasons':<12}  {_ranked(summary.errors)}")
    if summary.cut:
        lines.append(f"  {'not followed':<12}  {_ranked(summary.cut)}")
    if summary.sitemaps or summary.sitemap_faults or summary.only_sitemaps:
        lines.append(f"  {'sitemaps':<12}  {_sitemaps(summary)}")
    if summary.media:
        files = wording.plural(summary.media, "file")
        lines.append(f"  {'media':<12}  {files} that pages show, in the archive")
    lines += [f"  {'warning':<12}  {words}" for words in summary.warnings]
    lines += [f"  {'alarm':<12}  {words}" for words in summary.alarms]
    lines += _aliases(summary)
    lines += _traps(summary)
    if summary.trouble:
        lines.append(f"\n  No page came. The start says: {summary.trouble}")
    return lines


def _sitemaps(summary: Summary) -> str:
    if not summary.sitemaps and not summary.sitemap_faults:
        return "none found, by robots.txt or at the usual places"
    words = f"{wording.count(summary.sitemaps)} read"
    words += f", {wording.plural(summary.sitemap_urls, 'URL')} of this crawl listed"
    if summary.sitemap_faults:
        words += f", {wording.count(summary.sitemap_faults)} broken or missing"
    return words


def _aliases(summary: Summary) -> list[str]:
    """Return the hosts that turned out to be other names of a site."""
    if not summary.aliases:
        return []
    hosts = wording.plural(len(summary.aliases), "host")
    left = wording.plural(summary.left_out, "URL")
    words = f"{hosts} crawled under another name, {left} not fetched there"
    lines = [f"  {'aliases':<12}  {words} (see {wording.program()} aliases list)"]
    for alias, kept in sorted(summary.aliases.items())[:_SHOWN_KINDS]:
        lines.append(f"  {'':<12}    {alias} as {kept}")
    return lines


def _traps(summary: Summary) -> list[str]:
    """Return the URL templates that were cut most, with the reason for each."""
    if not summary.traps:
        return []
    ranked = sorted(summary.traps.items(), key=lambda item: -item[1].count)
    total = sum(cut.count for cut in summary.traps.values())
    links = wording.plural(total, "link")
    templates = wording.plural(len(ranked), "URL template")
    lines = [f"  {'traps':<12}  {links} cut in {templates} (--no-traps follows them)"]
    for template, cut in ranked[:_SHOWN_KINDS]:
        lines.append(f"  {'':<12}    {wording.count(cut.count):>6}  {template}: {cut.why}")
    return lines


def _waiting(summary: Summary) -> str:
    return f"the next may be asked for at {summary.waiting_until}" if summary.waiting_until else ""


def _ranked(counts: Mapping[int, int] | Mapping[str, int]) -> str:
    """Return the commonest kinds first; the rest is one number."""
    ranked = sorted(counts.items(), key=lambda item: -item[1])
    parts = [f"{kind}: {wording.count(number)}" for kind, number in ranked[:_SHOWN_KINDS]]
    rest = sum(number for _, number in ranked[_SHOWN_KINDS:])
    return "  ".join([*parts, f"other: {wording.count(rest)}"] if rest else parts)


def _places(summary: Summary) -> list[str]:
    names = ["results", *[""] * len(summary.out)]
    lines = [f"  {name:<12}  {out}" for name, out in zip(names, summary.out, strict=False)]
    if summary.warc is not None:
        lines.append(f"  {'archive':<12}  {summary.warc}")
    return [*lines, f"  {'state':<12}  {summary.data}"]


def _hints(summary: Summary, resume: str, look: str) -> list[str]:
    hints = [f"  {'one page':<12}  {look}"]
    larger = {"pages limit": "--pages", "bytes limit": "--total-bytes"}.get(summary.stopped_by)
    if larger is not None:
        hints.append(f"  {'go on':<12}  the same command with a larger {larger}")
    elif summary.queued:
        hints.append(f"  {'go on':<12}  {resume}")
    return hints


def page_command(data: Path) -> str:
    """Return the command that explains one page of a crawl."""
    return f"{wording.program()} page URL --data {shlex.quote(str(data))}"


def shared_page_command(job: str, typed: Mapping[str, object]) -> str:
    """Return the same of a crawl whose pages are in a store that others use as well.

    ``typed`` holds the flags of the crawl: what the environment says,
    the command finds there as well.
    """
    words = [wording.program(), "page", "URL", "--job", shlex.quote(job)]
    for name, shown in (("store", without_password), ("index", without_secrets)):
        if url := typed.get(name):
            words += [f"--{name}", shlex.quote(shown(str(url)))]
    return " ".join(words)
