"""The shop: categories with pagers in the query, details, reviews, an outlet, old addresses."""

import random
import re
from dataclasses import replace

from skitter.demo.model import Answer, Link, LinkList, Page, Prose, Spelling, Table, Target
from skitter.demo.pages import link_row, moved, steps
from skitter.demo.web import Robots
from skitter.demo.words import GOODS, dice, paragraph, product_name, sentence, slug

NAME = "shop"
CATEGORIES = tuple(GOODS)
PER_LIST = 10
_PRODUCT = re.compile(r"(/outlet)?/p/(\d+)-[a-z0-9-]+(/reviews)?")
_LIST = re.compile(r"/c/([a-z]+)(?:\?page=(\d+)|\?sort=(price|name))?")
_OLD = re.compile(r"/item\?id=(\d+)")
_NAV = link_row(NAME, {"/": "Shop"} | {f"/c/{key}": key.capitalize() for key in CATEGORIES})


class ShopSite:
    """``products`` products over five categories; product ``i`` belongs to category ``i % 5``."""

    robots = Robots(disallow=("/cart", "/account/", "/*?sort="))

    def __init__(self, seed: int, products: int) -> None:
        self._seed = seed
        self._products = products

    def page(self, path: str) -> Page | None:
        """Return the page at ``path``."""
        if path == "/":
            return self._home()
        if match := _LIST.fullmatch(path):
            return self._list(path, match[1], int(match[2] or 1), match[3])
        if match := _PRODUCT.fullmatch(path):
            return self._product_page(path, int(match[2]))
        if match := _OLD.fullmatch(path):
            number = int(match[1])
            at, known = Target(NAME, path), number < self._products
            return moved(at, Target(NAME, self._path(number)), 302) if known else None
        if path.startswith(("/cart", "/account/")):
            return Page(at=Target(NAME, path), title="Your basket", nav=_NAV)
        return None

    def _draw(self, *key: object) -> random.Random:
        return dice(self._seed, NAME, *key)

    def _title(self, number: int) -> str:
        category = CATEGORIES[number % len(CATEGORIES)]
        return product_name(self._draw("name", number), category)

    def _path(self, number: int) -> str:
        return f"/p/{number}-{slug(self._title(number))}"

    def _link(self, number: int, spelling: Spelling = Spelling.PLAIN) -> Link:
        return Link(Target(NAME, self._path(number)), self._title(number), spelling)

    def _home(self) -> Page:
        draw = self._draw("home")
        offers = tuple(
            self._link(draw.randrange(self._products), Spelling.TRACKED) for _ in range(6)
        )
        outlet = range(3, self._products, 20)[:20]
        old = range(7, self._products, 23)[:20]
        return Page(
            at=Target(NAME, "/"),
            title="Dry Dock: things that last",
            summary="Chairs, lamps and kettles of a shop that does not exist.",
            nav=_NAV,
            blocks=(
                Prose((paragraph(draw, sentences=2),)),
                LinkList("This week", offers),
                LinkList("Outlet", tuple(Link(self._outlet(n), self._title(n)) for n in outlet)),
                LinkList(
                    "From the printed catalogue",
                    tuple(Link(Target(NAME, f"/item?id={n}"), f"No. {n}") for n in old),
                ),
                LinkList("You", link_row(NAME, {"/cart": "Basket", "/account/login": "Sign in"})),
            ),
        )

    def _outlet(self, number: int) -> Target:
        return Target(NAME, "/outlet" + self._path(number))

    def _list(self, path: str, category: str, number: int, order: str | None) -> Page | None:
        if category not in CATEGORIES or path.endswith("?page=1"):
            return None
        members = range(CATEGORIES.index(category), self._products, len(CATEGORIES))
        last = max(1, -(-len(members) // PER_LIST))
        if number > last:
            return None
        shown = members[(number - 1) * PER_LIST : number * PER_LIST]
        suffix = f", page {number}" if number > 1 else f" by {order}" if order else ""
        pager = tuple(
            Link(Target(NAME, _list_path(category, n)), f"Page {n}") for n in steps(number, last)
        )
        orders = tuple(
            Link(Target(NAME, f"/c/{category}?sort={key}"), f"Sort by {key}", rel="nofollow")
            for key in ("price", "name")
        )
        return Page(
            at=Target(NAME, path),
            title=f"{category.capitalize()}{suffix}",
            nav=_NAV,
            answer=Answer(coding="br") if number == 1 else Answer(),
            blocks=(
                LinkList(category.capitalize(), tuple(map(self._link, shown))),
                LinkList("More pages", pager),
                LinkList("Order", orders),
            ),
        )

    def _product_page(self, path: str, number: int) -> Page | None:
        if number >= self._products:
            return None
        own, outlet = self._path(number), self._outlet(number).path
        if path == own:
            return self._product(number)
        if path == outlet:
            original = Target(NAME, own)
            return replace(self._product(number), at=Target(NAME, path), twin_of=original)
        return self._reviews(number) if path == f"{own}/reviews" else None

    def _product(self, number: int) -> Page:
        draw = self._draw("product", number)
        rows = (
            ("Property", "Value"),
            ("Price", f"{draw.randint(9, 480)}.{draw.choice((0, 50, 90)):02d} €"),
            ("Weight", f"{draw.randint(1, 120) / 10} kg"),
            ("In stock", str(draw.randint(0, 60))),
            ("Article number", f"DD-{number:06d}"),
        )
        links = [self._link(draw.randrange(self._products)) for _ in range(4)]
        if number % 8 == 0:
            reviews = Target(NAME, f"{self._path(number)}/reviews")
            links.append(Link(reviews, "Reviews"))
        links.append(Link(Target(NAME, f"/cart?add={number}"), "Add to basket", rel="nofollow"))
        return Page(
            at=Target(NAME, self._path(number)),
            title=f"{self._title(number)} | Dry Dock",
            summary=sentence(draw),
            nav=_NAV,
            canonical=Target(NAME, self._path(number)),
            blocks=(
                Prose((paragraph(draw),)),
                Table(rows),
                Prose((paragraph(draw),)),
                LinkList("Goes well with", tuple(links)),
            ),
        )

    def _reviews(self, number: int) -> Page:
        draw = self._draw("reviews", number)
        return Page(
            at=Target(NAME, f"{self._path(number)}/reviews"),
            title=f"Reviews of {self._title(number)}",
            nav=_NAV,
            robots_meta="noindex, follow",
            blocks=(
                *(Prose((sentence(draw),)) for _ in range(draw.randint(2, 6))),
                LinkList("Back", (self._link(number, Spelling.RELATIVE),)),
            ),
        )


def _list_path(category: str, number: int) -> str:
    return f"/c/{category}" if number == 1 else f"/c/{category}?page={number}"
