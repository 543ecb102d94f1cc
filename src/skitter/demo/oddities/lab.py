"""The site that shows every odd page."""

from skitter.demo import portal
from skitter.demo.model import Link, LinkList, Page, Prose
from skitter.demo.oddities.charsets import charsets
from skitter.demo.oddities.exhibit import HOME, Exhibit
from skitter.demo.oddities.faults import faults, formats
from skitter.demo.oddities.markup import spellings, structures
from skitter.demo.oddities.redirects import redirects
from skitter.demo.oddities.rules import ROBOTS, rules
from skitter.demo.pages import FixedSite


def lab_site() -> FixedSite:
    """Return the cabinet."""
    exhibits: list[Exhibit] = [
        redirects(), charsets(), formats(), rules(), spellings(), structures(), faults(),
    ]  # fmt: skip
    home = Page(
        at=HOME,
        title="The cabinet of odd pages",
        summary="Everything a crawler meets in the wild, one page each.",
        nav=(Link(portal.HOME, "Demo Harbour"),),
        blocks=(
            Prose(("Each page here has one peculiarity, and says which.",)),
            *(LinkList(exhibit.title, exhibit.links) for exhibit in exhibits),
        ),
    )
    return FixedSite([home, *(page for group in exhibits for page in group.pages)], ROBOTS)
