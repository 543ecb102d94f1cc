"""What recognises aliases in a crawl, and what tells an operator about them."""

from skitter.crawl.aliases.standing import Standing
from skitter.crawl.aliases.undo import AliasDesk
from skitter.crawl.aliases.watch import AliasWatch
from skitter.crawl.discover import LinkFinder
from skitter.crawl.explain import Explainer
from skitter.job.spec import Job
from skitter.types import JobNumber
from skitter.url.normalise import Normaliser
from skitter.url.scope import Scope
from skitter.wiring.store import Store


def make_watch(
    job: Job, number: JobNumber, store: Store, normaliser: Normaliser, known: tuple[Scope, Scope]
) -> AliasWatch | None:
    """Return what recognises aliases, unless the job does not want it.

    ``known`` are the hosts of entries and seeds, and their domains.
    """
    if not job.aliases.enabled:
        return None
    entries = [normaliser.absolute(entry).host for entry in job.entries]
    return AliasWatch(
        number,
        reader=store.reader,
        normaliser=normaliser,
        clock=store.clock,
        seniority=Standing(entries, *known),
        member=store.member,
    )


def make_desk(
    store: Store, finder: LinkFinder, explainer: Explainer, watch: AliasWatch | None
) -> AliasDesk:
    """Return what tells an operator about the aliases of a job that this process works on."""
    return AliasDesk(
        job=explainer.job.id,
        number=explainer.number,
        reader=store.reader,
        frontier=store.frontier,
        control=store.control,
        normaliser=explainer.normaliser,
        judge=explainer.judge,
        finder=finder,
        clock=store.clock,
        heard=lambda row: watch.take([row]) if watch is not None else {},
    )
