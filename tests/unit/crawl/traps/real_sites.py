"""Real sites that have something of a trap: all of their pages must be fetched."""

import random
from collections.abc import Callable
from datetime import date, timedelta
from itertools import pairwise

from endless_sites import NAV_TEXT, letters, ordinary, real_paths, token, words
from trap_webs import Answer, Web

Pages = dict[str, Answer]


def of_pages(pages: Pages, start: str = "/") -> Web:
    return Web(pages.get, set(pages), start)


def long_pager() -> Web:
    """A list of 1,500 pages, each known from the one before it only."""
    pages: Pages = {"/": (words("start", 20), ["/list?page=1"])}
    for n in range(1, 1501):
        items = "\n".join(words((n, item), 4) for item in range(10))
        onward = [f"/list?page={n + 1}"] if n < 1500 else []
        pages[f"/list?page={n}"] = (f"{NAV_TEXT}{items}\nPage {n}\nNext", onward)
    return of_pages(pages)


def products(count: int = 3000) -> Web:
    """Products of one wording, listed twenty a page, each with links to others."""
    pages: Pages = {"/": (words("shop", 30), ["/list/1"])}
    for n in range(count // 20):
        listed = [f"/product/{n * 20 + place}" for place in range(20)]
        onward = [f"/list/{n + 2}"] if n + 1 < count // 20 else []
        names = "\n".join(f"Chair {words(('chair', n * 20 + place), 1)}" for place in range(20))
        pages[f"/list/{n + 1}"] = (f"{NAV_TEXT}{names}", listed + onward)
    for n in range(count):
        draw = random.Random(n)
        others = [f"/product/{draw.randrange(count)}" for _ in range(4)]
        text = f"{NAV_TEXT}Chair {words(('chair', n), 1)}\nA good chair of oak for {n} €. Buy it."
        pages[f"/product/{n}"] = (text, ["/", *others])
    return of_pages(pages)


def same_products(count: int = 1000) -> Web:
    """Products that differ by their number alone, and link to the next and to random others."""
    pages: Pages = {"/": (words("shop", 30), ["/list/1", "/terms", "/about"])}
    pages |= {"/terms": (words("terms", 60), ["/"]), "/about": (words("about", 60), ["/"])}
    for n in range(count // 20):
        listed = [f"/product/{n * 20 + place}" for place in range(20)]
        onward = [f"/list/{n + 2}"] if n + 1 < count // 20 else []
        pages[f"/list/{n + 1}"] = (f"{NAV_TEXT}Products\nPage {n + 1}", listed + onward)
    for n in range(count):
        draw = random.Random(n)
        others = [f"/product/{draw.randrange(count)}" for _ in range(4)]
        others.append(f"/product/{(n + 1) % count}")
        pages[f"/product/{n}"] = (f"{NAV_TEXT}Product {n}\nProduct {n} is good.", others)
    return of_pages(pages)


def news_archive() -> Web:
    """A page a day for twenty years that lists its articles; weekends are empty."""
    pages: Pages = {}
    day, last = date(2006, 1, 1), date(2026, 1, 1)
    while day <= last:
        ids = (
            []
            if day.weekday() > 4
            else [f"/news/{day:%Y/%m/%d}/{words((day, n), 1)}" for n in (1, 2)]
        )
        titles = "\n".join(words((day, n, "title"), 5) for n in range(len(ids)))
        around = [f"/archive/{day + timedelta(days=step):%Y/%m/%d}/" for step in (-1, 1)]
        pages[f"/archive/{day:%Y/%m/%d}/"] = (
            f"{NAV_TEXT}{day:%A %d %B %Y}\n{titles}",
            ids + around,
        )
        for place, path in enumerate(ids):
            pages[path] = (f"{NAV_TEXT}{words((day, place), 50)}", ["/"])
        day += timedelta(days=10 if day.year < 2024 else 1)
    steps = [path for path in pages if path.startswith("/archive/")]
    for before, after in pairwise(steps):
        pages[after] = (pages[after][0], [*pages[after][1], before])
    pages["/"] = (words("front", 30), [steps[-1]])
    return of_pages(pages)


def month_archive() -> Web:
    """A diary: months reached one from another only, each with a text of its own."""
    pages: Pages = {"/": (words("front", 30), ["/diary/2026/05/"])}
    for index in range(2006 * 12, 2026 * 12 + 5):
        year, month = index // 12, index % 12 + 1
        before = f"/diary/{(index - 1) // 12}/{(index - 1) % 12 + 1:02d}/"
        links = [before] if index > 2006 * 12 else []
        pages[f"/diary/{year}/{month:02d}/"] = (f"{NAV_TEXT}{words(index, 60)}\nEarlier", links)
    return of_pages(pages)


def tree_of_dates() -> Web:
    """Years lead to months and months to days, all of them bare numbers; days have articles."""
    pages: Pages = {"/": (words("front", 30), ["/archive/"])}
    years = range(2010, 2022)
    pages["/archive/"] = (
        f"{NAV_TEXT}Archive\n" + "\n".join(map(str, years)),
        [f"{y}/" for y in years],
    )
    for year in years:
        months = [f"{month:02d}/" for month in range(1, 13, 2)]
        pages[f"/archive/{year}/"] = (f"{NAV_TEXT}Archive\n{year}\nJanuary\nMarch", months)
        for month in months:
            days = [f"{day:02d}/" for day in (3, 17)]
            pages[f"/archive/{year}/{month}"] = (f"{NAV_TEXT}Archive\n{year} {month}", days)
            for day in days:
                at = f"/archive/{year}/{month}{day}"
                pages[at] = (f"{NAV_TEXT}Archive\n{words(at, 6)}", [f"/a/{words(at, 1)}", "../"])
                pages[f"/a/{words(at, 1)}"] = (f"{NAV_TEXT}{words(at, 50)}", ["/"])
    return of_pages(pages)


def docs_tree() -> Web:
    """Documentation twelve levels deep, some names in it twice."""
    pages: Pages = {}

    def grow(path: str, level: int) -> None:
        names = [words((path, n), 1) for n in range(1 if level % 3 else 3)]
        if level == 4:
            names.append("docs")
        children = [f"{path}{name}/" for name in names] if level < 12 else []
        pages[path] = (f"{NAV_TEXT}{words(path, 40)}", [*(f"{name}/" for name in names), "/docs/"]
                       if children else ["/docs/"])  # fmt: skip
        for child in children:
            grow(child, level + 1)

    grow("/docs/", 1)
    pages["/"] = (words("root", 20), ["/docs/"])
    return of_pages(pages)


def languages() -> Web:
    """The same paths in three languages; one path has its language twice."""
    pages: Pages = {"/": (words("choose", 20), ["/en/", "/de/", "/about"])}
    paths = [f"topic-{n}" for n in range(60)] + ["about", "en/origins"]
    for language in ("en", "de"):
        pages[f"/{language}/"] = (words(language, 30), [f"/{language}/{path}" for path in paths])
        for path in paths:
            pages[f"/{language}/{path}"] = (words((language, path), 60), [f"/{language}/"])
    pages["/about"] = (words("about", 60), [f"/{path}" for path in paths])
    for path in paths:
        pages.setdefault(f"/{path}", (words(path, 60), ["/"]))
    return of_pages(pages)


def wiki(count: int = 400) -> Web:
    """Everything behind one script: pages, their history and discussion."""
    pages: Pages = {"/": (words("wiki", 20), ["/index.php?title=Main"])}
    titles = ["Main", *(words(("wiki", n), 2).title().replace(" ", "_") for n in range(count))]
    for place, title in enumerate(titles):
        at = f"/index.php?title={title}"
        draw = random.Random(title)
        links = [f"/index.php?title={titles[min(place * 3 + n, count)]}" for n in (1, 2, 3)]
        links += [f"/index.php?title={draw.choice(titles)}", f"{at}&action=history"]
        pages[at] = (f"{NAV_TEXT}{title}\n{words(title, 50)}", links)
        past = "\n".join(words((title, "edit", n), 3) for n in range(4))
        pages[f"{at}&action=history"] = (f"{NAV_TEXT}{title}\nHistory\n{past}", [at])
    return of_pages(pages)


def forum() -> Web:
    """Boards, topics and their pages behind one script."""
    pages: Pages = {"/": (words("forum", 20), [f"/forum?f={n}" for n in range(5)])}
    for board in range(5):
        for part in range(1, 5):
            topics = range(board * 1000 + part * 100, board * 1000 + part * 100 + 10)
            at = f"/forum?f={board}" + (f"&page={part}" if part > 1 else "")
            onward = [f"/forum?f={board}&page={part + 1}"] if part < 4 else []
            titles = "\n".join(words(("topic", t), 5) for t in topics)
            pages[at] = (f"{NAV_TEXT}{titles}", [*(f"/forum?t={t}" for t in topics), *onward])
            for topic in topics:
                for number in range(1, topic % 4 + 2):
                    here = f"/forum?t={topic}" + (f"&page={number}" if number > 1 else "")
                    later = (
                        [f"/forum?t={topic}&page={number + 1}"] if number < topic % 4 + 1 else []
                    )
                    posts = "\n".join(words((topic, number, n), 20) for n in range(5))
                    pages[here] = (f"{NAV_TEXT}{posts}", [f"/forum?f={board}", *later])
    return of_pages(pages)


def numbered(link: Callable[[int], str], count: int = 60) -> Web:
    """An index and pages that differ by their number."""
    paths = [link(n) for n in range(count)]
    pages: Pages = {"/": ("Index\n" + "\n".join(f"Page {n}" for n in range(count)), paths)}
    for n, path in enumerate(paths):
        pages[path] = (f"Page {n}\nThis is page number {n}.", ["/", paths[(n + 1) % count]])
    return of_pages(pages)


def chain(count: int = 120) -> Web:
    """Pages that differ by their number, each known from the one before it."""
    pages: Pages = {"/": ("Start", ["/page/1"])}
    for n in range(1, count + 1):
        pages[f"/page/{n}"] = (f"Page {n}", [f"/page/{n + 1}"] if n < count else [])
    return of_pages(pages)


def tree(count: int = 2000) -> Web:
    """Pages that differ by their number, each with two that hang on it."""
    pages: Pages = {
        f"/p{n}.html": (f"Page {n}", [f"/p{2 * n + k}.html" for k in (1, 2) if 2 * n + k < count])
        for n in range(count)
    }
    return of_pages(pages, "/p0.html")


def random_graph(count: int = 2000) -> Web:
    """Pages that differ by their number, each with links to twenty others."""
    pages: Pages = {}
    for n in range(count):
        draw = random.Random(n)
        others = [f"/x/{draw.randrange(count)}" for _ in range(19)]
        pages[f"/x/{n}"] = (f"Page {n} of the test", [f"/x/{(n + 1) % count}", *others])
    return of_pages(pages, "/x/0")


def hashed_ids(count: int = 300) -> Web:
    """Products under random ids; the wording is much the same."""
    ids = [token(("id", n), 16) for n in range(count)]
    pages: Pages = {"/": (words("shop", 20), ["/list?page=1"])}
    for n in range(count // 10):
        listed = [f"/p/{ids[n * 10 + place]}" for place in range(10)]
        onward = [f"/list?page={n + 2}"] if n + 1 < count // 10 else []
        names = "\n".join(words(("hashed", n * 10 + place), 2) for place in range(10))
        pages[f"/list?page={n + 1}"] = (f"{NAV_TEXT}{names}", listed + onward)
    for n, name in enumerate(ids):
        other = ids[random.Random(n).randrange(count)]
        text = f"{NAV_TEXT}{words(('hashed', n), 2)}\n{words(n, 12)}\nAdd to basket"
        pages[f"/p/{name}"] = (text, ["/", f"/p/{other}"])
    return of_pages(pages)


def same_hashed(count: int = 80) -> Web:
    """Pages under random ids that all say the same, listed on one page."""
    ids = [f"/item/{token(('same', n), 12)}" for n in range(count)]
    pages: Pages = {"/": (words("list", 20), ids)}
    return of_pages(pages | {path: ("An item\nNothing else", ["/"]) for path in ids})


def session_site() -> Web:
    """A site that is there only under session ids which change: each page is wanted once."""
    names = ["home", "terms", "help", *(f"item-{n}" for n in range(80))]

    def answer(path: str) -> Answer | None:
        parts = path.strip("/").split("/")
        if path == "/":
            return "Welcome", [f"/s/{token(0)}/home"]
        if len(parts) != 3 or parts[2] not in names:
            return None
        fresh = token(path)
        place = names.index(parts[2])
        shown = names if place == 0 else [*names[:3], names[(place + 1) % len(names)]]
        return f"{NAV_TEXT}{words(parts[2], 50)}", [f"/s/{fresh}/{name}" for name in shown]

    return Web(answer, set(names))


def category_lists() -> Web:
    """Lists by category, each with pages; all entries are in the list of everything, too."""
    pages: Pages = {"/": (words("home", 20), ["/list", *(f"/list?cat={n}" for n in range(6))])}
    entries = [words(("entry", n), 4) for n in range(240)]

    def fill(at: str, shown: list[int], joint: str) -> None:
        parts = [shown[n : n + 10] for n in range(0, len(shown), 10)]
        for number, part in enumerate(parts, 1):
            here = at if number == 1 else f"{at}{joint}page={number}"
            onward = [f"{at}{joint}page={number + 1}"] if number < len(parts) else []
            text = NAV_TEXT + "\n".join(entries[n] for n in part)
            pages[here] = (text, [*(f"/entry/{n}" for n in part), *onward])

    fill("/list", [*range(240)], "?")
    for category in range(6):
        fill(f"/list?cat={category}", [*range(category, 240, 6)], "&")
    for n, entry in enumerate(entries):
        pages[f"/entry/{n}"] = (f"{NAV_TEXT}{entry}\n{words(entry, 40)}", ["/"])
    return of_pages(pages)


def blog() -> Web:
    """Posts with titles for names, listed by tag, by author and by month."""
    pages: Pages = {"/": (words("blog", 20), ["/page/1/"])}
    titles = [words(("post", n), 4) for n in range(200)]
    slugs = [f"/2025/{n % 12 + 1:02d}/{title.replace(' ', '-')}/" for n, title in enumerate(titles)]
    lists = {"/": range(200)} | {f"/tag/{letters(t, 5)}/": range(t, 200, 10) for t in range(10)}
    lists |= {f"/author/{words(a, 1)}/": range(a, 200, 4) for a in range(4)}
    for base, members in lists.items():
        shown = [*members]
        for number in range(1, -(-len(shown) // 10) + 1):
            part = shown[number * 10 - 10 : number * 10]
            at = f"{base}page/{number}/" if number > 1 or base == "/" else base
            onward = [f"{base}page/{number + 1}/"] if number * 10 < len(shown) else []
            pages[at] = (
                NAV_TEXT + "\n".join(titles[n] for n in part),
                [*(slugs[n] for n in part), *onward],
            )
    for n, slug in enumerate(slugs):
        about = [base for base, members in lists.items() if base != "/" and n in members]
        pages[slug] = (f"{NAV_TEXT}{titles[n]}\n{words((n, 'text'), 60)}", ["/", *about])
    return of_pages(pages)


def gallery() -> Web:
    """Photos in albums, which say little and lead to the next."""
    pages: Pages = {"/": (words("photos", 30), [f"/album/{n}" for n in range(12)])}
    for album in range(12):
        photos = [f"/photo/{album * 100 + n}" for n in range(25)]
        pages[f"/album/{album}"] = (f"{NAV_TEXT}{words(('album', album), 20)}", photos)
        for n, photo in enumerate(photos):
            pages[photo] = (f"{NAV_TEXT}Photo {n + 1} of 25\nNext", [photos[(n + 1) % 25], "/"])
    return of_pages(pages)


REAL: dict[str, Web] = {
    "ordinary": Web(lambda path: ordinary(path, []), real_paths()),
    "long pager": long_pager(),
    "products of one wording": products(),
    "products that differ by number": same_products(),
    "news archive by day": news_archive(),
    "diary by month": month_archive(),
    "tree of dates": tree_of_dates(),
    "deep documentation": docs_tree(),
    "languages": languages(),
    "wiki": wiki(),
    "forum": forum(),
    "numbered pages": numbered(lambda n: f"/page-{n}.html"),
    "numbered pages in the query": numbered(lambda n: f"/?id={n}"),
    "numbered pages with two parameters": numbered(lambda n: f"/?show=item&id={n}"),
    "numbered pages below": numbered(lambda n: f"/a/b/{n}/"),
    "chain": chain(),
    "tree": tree(),
    "random graph": random_graph(),
    "random ids": hashed_ids(),
    "random ids that say the same": same_hashed(),
    "lists by category": category_lists(),
    "blog": blog(),
    "gallery": gallery(),
}
SESSION_SITE = session_site()
