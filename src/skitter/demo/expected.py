"""What must be true of one URL after a crawl, as far as its own page tells."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from skitter.demo.model import Delivery, Page, Target
from skitter.types import Outcome

HTML_TYPES = frozenset({"text/html", "application/xhtml+xml"})
_OK, _FAILED, _REFUSED = Outcome.OK, Outcome.FAILED, Outcome.REFUSED
# A torn or mislabelled page may be kept as far as it can be read, or given up: both are honest.
TORN = frozenset({_OK, _FAILED})
LOST = frozenset({_FAILED})
_FAULTS: Mapping[Delivery, frozenset[Outcome]] = {
    Delivery.CLOSE: LOST,
    Delivery.BAD_STATUS_LINE: LOST,
    Delivery.HUGE_HEADERS: LOST,
    Delivery.UNKNOWN_CODING: LOST,
    Delivery.RESET: TORN,
    Delivery.NOT_GZIP: TORN,
    Delivery.CHUNKS_CUT: TORN,
    Delivery.GZIP_CUT: TORN,
    Delivery.LONG_LENGTH: TORN,
}
_SKIPPED_SUFFIXES = (".pdf", ".bin")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What must be true of one URL after the crawl. None means that nothing is claimed."""

    target: Target
    least: int
    """Requests, at least."""
    most: int
    """Requests, at most."""
    outcomes: frozenset[Outcome]
    status: int | None = None
    title: str | None = None
    encodings: frozenset[str] = frozenset()
    n_links: int | None = None
    chain: tuple[Target, ...] = ()
    """The URLs asked one after the other from here; more than one after redirects."""
    end: Target | None = None
    """Where the redirects lead; None where they lead to nothing that is kept."""
    twins: frozenset[Target] = frozenset()
    """Every URL with the same content, this one included, where there are several."""
    optional: bool = False
    """A crawl may do without it."""


def not_asked(target: Target, outcome: Outcome) -> Expected:
    """Return what is expected of a URL that is known and must not be requested."""
    return Expected(target=target, least=0, most=0, outcomes=frozenset({outcome}), chain=(target,))


def page_expected(page: Page, tries: int) -> Expected:
    """Return what is expected of ``page``, where nothing leads on from it by itself."""
    answer = page.answer
    fault = _FAULTS.get(answer.delivery)
    least = most = 1 + len(answer.first)
    if answer.status >= 500:
        least = most = tries
    elif fault is not None:
        # A client may ask twice where a kept connection fails, and may or may not try again.
        least, most = 1, 2 * tries
    bare = Expected(
        target=page.at,
        least=least,
        most=most,
        outcomes=fault or frozenset({_OK}),
        chain=(page.at,),
        end=page.at,
    )
    if fault == LOST:
        return bare
    if answer.status >= 400:
        return replace(bare, outcomes=frozenset({Outcome.HTTP_ERROR}), status=answer.status)
    if answer.media_type not in HTML_TYPES:
        return _file_expected(bare, page)
    return _html_expected(bare, page)


def _file_expected(bare: Expected, page: Page) -> Expected:
    bare = replace(bare, outcomes=frozenset({_REFUSED, Outcome.SKIPPED}), end=None)
    if page.at.path.endswith(_SKIPPED_SUFFIXES):
        return replace(bare, least=0, optional=True)
    return bare


def _html_expected(bare: Expected, page: Page) -> Expected:
    charset = page.charset
    if "noindex" in page.directives:
        # Nothing of its content is to be kept, so nothing is claimed.
        return replace(bare, outcomes=frozenset({Outcome.NOINDEX}), status=200)
    if page.answer.body is not None or bare.outcomes == TORN:
        return replace(bare, status=200)
    return replace(
        bare,
        status=200,
        title=" ".join(page.title.split()) if page.title else None,
        encodings=charset.lookalikes | {charset.name},
        n_links=None if page.uncounted else page.n_links,
    )
