"""Whether two hosts are one site, and under which of the names it is crawled. Pure functions.

To call different sites one loses pages; to miss a mirror only costs time. So all of this has to
come together: several pages that are equal to the byte at equal paths, hardly one that differs,
home pages that do not differ, and hardly a page of the one to be left out that the other lacks.
"""

from collections.abc import Callable, Container, Mapping
from typing import NamedTuple

from skitter.crawl.aliases.facts import LEAST_BYTES, Fact, Likeness, likeness
from skitter.types import HostKey

HOME = "/"
FEWEST = 6
"""Equal pages of different content that are needed where the home pages are among them."""
FEWEST_WITHOUT_HOME = 10
"""The same where they are not: legal notices and manuals are alike on many sites."""
LEAST_AGREEMENT = 0.9
"""Equal pages among those that are equal or different."""
LEAST_EQUAL = 0.8
"""Equal pages among all that both hosts have."""
LEAST_COVER = 0.8
"""Pages of the host to be left out that the other has, too."""

Facts = Mapping[str, Fact]
"""The pages of one host, by path."""
Seniority = Callable[[HostKey], int]
"""How well known a host is to the job, lower is better: an entry, a seed, found by a link."""


class Comparison(NamedTuple):
    """What two hosts have in common."""

    equal: tuple[str, ...]
    """Paths with equal pages, one for each content."""
    near: int
    different: int
    pages: int
    """Pages of the host to be left out."""
    shared: int
    """Those of them that the other host has, too, alike or not."""
    home: Likeness | None
    """How the home pages compare; None where one of them is not known."""

    @property
    def common(self) -> int:
        """How many pages of both hosts were compared."""
        return len(self.equal) + self.near + self.different


def compare(kept: Facts, alias: Facts, known: Container[str] = ()) -> Comparison:
    """Compare the pages of two hosts at equal paths; at those ``known`` they are equal."""

    def judged(path: str) -> Likeness:
        return Likeness.EQUAL if path in known else likeness(kept[path], alias[path])

    equal: dict[bytes, str] = {}
    near = different = 0
    common = [path for path in alias if path in kept]
    for path in sorted(common):
        one, other = kept[path], alias[path]
        match judged(path):
            case Likeness.EQUAL if min(one.size, other.size) >= LEAST_BYTES:
                equal.setdefault(one.digest, path)
            case Likeness.NEAR:
                near += 1
            case Likeness.DIFFERENT if one.digest or other.digest:
                different += 1
            case _:
                pass
    home = judged(HOME) if HOME in common else None
    own = [path for path, fact in alias.items() if fact.digest]
    shared = sum(path in kept for path in own)
    return Comparison(tuple(equal.values()), near, different, len(own), shared, home)


def objection(found: Comparison) -> str | None:
    """Say why two hosts are not taken for one site; None when they are."""
    equal = len(found.equal)
    same_home = found.home is Likeness.EQUAL
    fewest = FEWEST if same_home else FEWEST_WITHOUT_HOME
    missing = found.pages - found.shared
    objections = (
        (found.home is Likeness.DIFFERENT, "their home pages differ"),
        (equal < fewest, f"{equal} pages are equal; wanted {fewest}"),
        (not same_home and _levels(found.equal) == 1, "all equal pages are at one level"),
        (
            equal < LEAST_AGREEMENT * (equal + found.different),
            f"{found.different} pages differ",
        ),
        (equal < LEAST_EQUAL * found.common, f"{found.near} pages differ a little"),
        (
            found.shared < LEAST_COVER * found.pages,
            f"{missing} of its pages were not found on the other",
        ),
    )
    return next((why for holds, why in objections if holds), None)


def _levels(paths: tuple[str, ...]) -> int:
    """Return on how many levels of a site paths are."""
    return len({path.partition("?")[0].count("/") for path in paths})


def elder(
    one: tuple[HostKey, Facts], other: tuple[HostKey, Facts], seniority: Seniority
) -> tuple[HostKey, HostKey]:
    """Return which of two hosts is kept, and which is left out.

    What the job names stays, else what was known first: whoever copies a site comes later.
    """

    def order(host: HostKey, facts: Facts) -> tuple[int, str, int, str]:
        first = min((fact.at for fact in facts.values()), default="~")
        return seniority(host), first, len(host), host

    if order(*one) <= order(*other):
        return one[0], other[0]
    return other[0], one[0]
