"""Everything known of one URL, and why: the answer to "why was this URL not fetched?"."""

from dataclasses import dataclass

import msgspec

from skitter.clock import time_text
from skitter.crawl.aliases.book import AliasBook
from skitter.crawl.history import PastVisit, history_mark, past_visit, read_history
from skitter.crawl.judge import Judge
from skitter.crawl.manners import Manners
from skitter.crawl.traps.guard import TrapGuard
from skitter.errors import UrlError
from skitter.frontier.base import FrontierReader
from skitter.frontier.model import Sighting, UrlState, is_pointer, pointed_url
from skitter.job.spec import Job, Sitemaps
from skitter.pipeline.record import decode_line
from skitter.types import Fingerprint, JobNumber, Role
from skitter.url.normalise import Normaliser, NormalUrl

_STATE_WORDS = {
    UrlState.QUEUED: "waits in its host's queue",
    UrlState.LEASED: "is being fetched",
    UrlState.SCHEDULED: "waits for another try",
    UrlState.DONE: "was fetched",
    UrlState.DEAD: "was given up or refused",
    UrlState.DROPPED: "was dropped: the queue was full or the job cancelled",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Explainer:
    """Answers questions about the URLs of one job."""

    job: Job
    number: JobNumber
    reader: FrontierReader
    judge: Judge
    normaliser: Normaliser
    manners: Manners
    guard: TrapGuard | None = None
    aliases: AliasBook | None = None

    async def explain(self, url: str) -> dict[str, object]:
        """Return facts and reasons about ``url``, ready for JSON."""
        try:
            normal = self.normaliser.absolute(url)
        except UrlError as error:
            return {"url": url, "state": "unknown", "why": str(error)}
        sighting, fp = await self.reader.look(self.number, normal.host, normal.fp), normal.fp
        for role in (Role.SITEMAP, Role.MEDIA):
            if sighting.state is UrlState.UNKNOWN:
                other = self.normaliser.in_role(normal, role)
                found_so = await self.reader.look(self.number, other.host, other.fp)
                if found_so.state is not UrlState.UNKNOWN:
                    sighting, fp = found_so, other.fp
        found: dict[str, object] = {
            "url": normal.url,
            "job": self.job.id,
            "state": sighting.state.value,
            "why": "",
            "canonical_form": normal.canonical,
            "host": normal.host,
        }
        note, fp = await self._note(sighting, fp)
        record = msgspec.json.decode(note) if note else None
        found["why"] = await self._why(normal.url, sighting, record)
        ruling = self.judge.ruling(normal.url, normal.host)
        if ruling is not None:
            found["link_rule"] = ruling.sentence_of_url
        found |= _waiting(sighting)
        if sighting.state is not UrlState.UNKNOWN:
            visits = await self._visits(fp, note)
            found["visits"] = [msgspec.structs.asdict(visit) for visit in visits]
        if record is not None:
            found["record"] = record
        return found

    async def _visits(self, fp: Fingerprint, note: bytes) -> list[PastVisit]:
        """Return what each visit saw; of a page that never came again the record says it."""
        history = read_history(await self.reader.mark(history_mark(self.number, fp)))
        if history.visits or not note:
            return history.visits
        return [past_visit(decode_line(note))]

    async def _note(self, sighting: Sighting, fp: Fingerprint) -> tuple[bytes, Fingerprint]:
        """Return the note of a URL, or of the one that led to it by a redirect; and whose it is."""
        if not is_pointer(sighting.note):
            return sighting.note, fp
        # A hop was met in the role of the URL that led there.
        first = self.normaliser.absolute(pointed_url(sighting.note))
        roles = [self.normaliser.in_role(first, role) for role in Role]
        wanted = [(self.number, normal.host, normal.fp) for normal in roles]
        notes = zip(await self.reader.notes_of(wanted), roles, strict=True)
        own = ((note, normal.fp) for note, normal in notes if note and not is_pointer(note))
        return next(own, (b"", fp))

    async def _why(self, url: str, sighting: Sighting, record: object) -> str:
        if sighting.state is UrlState.UNKNOWN:
            return await self._why_unknown(url)
        if is_pointer(sighting.note):
            return f"was reached by a redirect; its record is that of {pointed_url(sighting.note)}"
        words = _STATE_WORDS[sighting.state]
        if sighting.state is UrlState.SCHEDULED and not sighting.attempts and record is not None:
            words = "was fetched, and waits for its next visit"
        if isinstance(record, dict):
            outcome, error = record.get("outcome"), record.get("error")
            duplicate = record.get("duplicate_of")
            if outcome == "duplicate" and error:
                words = f"was not fetched: {error}; see {duplicate}"
            elif outcome == "duplicate":
                words = f"redirects to {duplicate}, which has a record of its own"
            elif error:
                words = f"{words} ({outcome}): {error}"
        elif sighting.state is UrlState.DONE:
            words = "was reached by a redirect; its record is under the URL that redirects"
        return words

    async def _why_unknown(self, url: str) -> str:
        normal = self.normaliser.absolute(url)
        never = self._why_never(normal)
        if never is not None:
            return f"never queued: {never}"
        robots = await self.manners.robots_known(normal.url)
        if robots is not None and not robots.decide(normal.url).allowed:
            return f"not met yet; {robots.judge(normal.url).sentence}"
        if self.job.sitemaps is Sitemaps.ONLY:
            return "no sitemap that was read lists it, and links of pages are not followed"
        if not self.judge.follows_plain:
            return "no list has led to it, and a list job without link rules follows nothing else"
        return "no fetched page links to it, or only with rel=nofollow or too deep"

    def _why_never(self, normal: NormalUrl) -> str | None:
        """Say what keeps a URL from being queued, wherever it is met."""
        decision = self.judge.explain(normal.url, normal.host)
        if not decision.allowed:
            return decision.sentence
        ruling = self.judge.ruling(normal.url, normal.host)
        if ruling is not None and not ruling.follow:
            return ruling.sentence_of_url
        alias = self.aliases.explain(normal.url, normal.host) if self.aliases else None
        if alias is not None:
            return alias
        return self.guard.explain(normal.url) if self.guard is not None else None


def _waiting(sighting: Sighting) -> dict[str, object]:
    found: dict[str, object] = {}
    if (link := sighting.link) is not None:
        found |= {
            "depth": link.depth,
            "priority": link.priority,
            "referrer": link.referrer or None,
            "failed_tries": sighting.attempts,
        }
    if sighting.due_ms is not None:
        found["next_visit"] = time_text(sighting.due_ms)
    return found
