"""Tide tables: a small site whose sitemap is mentioned nowhere and lies at the well-known place."""

from skitter.demo.listing import WELL_KNOWN
from skitter.demo.model import (
    Answer,
    LinkList,
    Listed,
    Listing,
    ListingKind,
    Page,
    Prose,
    Table,
    Target,
)
from skitter.demo.pages import FixedSite, link_row
from skitter.demo.web import Robots
from skitter.demo.words import dice, paragraph

NAME = "tides"
LINKED = ("Outer pier", "North lock", "Fish market", "Ferry stairs")
UNLINKED = ("Old dry dock", "Pilot house", "Salt gate")
"""Places whose tables only the sitemap lists."""


def tides_site(seed: int) -> FixedSite:
    """Return the site."""
    home = Page(
        at=Target(NAME, "/"),
        title="Tide tables of the harbour",
        blocks=(
            Prose((paragraph(dice(seed, NAME)),)),
            LinkList("Places", link_row(NAME, {_path(place): place for place in LINKED})),
        ),
    )
    tables = [_table(seed, place) for place in (*LINKED, *UNLINKED)]
    return FixedSite([home, *tables, _sitemap([home, *tables])], Robots(disallow=("/raw/",)))


def _path(place: str) -> str:
    return f"/table/{place.lower().replace(' ', '-')}"


def _table(seed: int, place: str) -> Page:
    draw = dice(seed, NAME, place)
    hours = [
        (f"{hour:02d}:{draw.randrange(60):02d}", f"{draw.randint(2, 58) / 10} m")
        for hour in range(1, 24, 6)
    ]
    return Page(
        at=Target(NAME, _path(place)),
        title=f"Tides at the {place.lower()}",
        blocks=(Table((("Time", "Height"), *hours)), Prose((paragraph(draw),))),
    )


def _sitemap(pages: list[Page]) -> Page:
    entries = tuple(
        Listed(to=page.at, lastmod=f"2025-04-{day:02d}", priority="0.5")
        for day, page in enumerate(pages, 1)
    )
    return Page(
        at=Target(NAME, WELL_KNOWN),
        answer=Answer(media_type="text/xml"),
        listing=Listing(kind=ListingKind.URLSET, entries=entries),
    )
