"""Sites with a trap: an ordinary site of articles, and something without end beside it."""

import hashlib
import random
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from urllib.parse import parse_qsl, urlencode

from trap_webs import Answer, Web

ARTICLES = 190
_SYLLABLES = (
    "ba",
    "ce",
    "di",
    "fo",
    "gu",
    "ha",
    "je",
    "ki",
    "lo",
    "mu",
    "na",
    "pe",
    "ri",
    "so",
    "tu",
)
NAV = ["/", "/articles/", "/about"]
NAV_TEXT = "Home\nArticles\nAbout us\n"


def words(key: object, count: int) -> str:
    draw = random.Random(str(key))
    return " ".join("".join(draw.choices(_SYLLABLES, k=3)) for _ in range(count))


def token(key: object, length: int = 24) -> str:
    return hashlib.sha256(str(key).encode()).hexdigest()[:length]


def letters(key: object, length: int = 9) -> str:
    draw = random.Random(str(key))
    return "".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=length))


def ordinary(path: str, extra: list[str]) -> Answer | None:
    """Answer for the real part: a list of ten per page, and articles that few words share."""
    if path == "/":
        return NAV_TEXT + words("home", 40), [*NAV, *extra]
    if path == "/about":
        return NAV_TEXT + words("about", 40), NAV
    name, _, query = path.partition("?")
    if name == "/articles/":
        number = int(dict(parse_qsl(query)).get("page", "1"))
        last = -(-ARTICLES // 10)
        if query and (path != f"/articles/?page={number}" or not 1 < number <= last):
            return None
        shown = range((number - 1) * 10, min(ARTICLES, number * 10))
        pager = [f"?page={number + 1}"] if number < last else []
        titles = "\n".join(words(("title", n), 4) for n in shown)
        return NAV_TEXT + titles, [*NAV, *(f"/articles/{n}" for n in shown), *pager]
    last_name = name.removeprefix("/articles/")
    number = int(last_name) if last_name.isdigit() else ARTICLES
    if number >= ARTICLES or path != f"/articles/{number}":
        return None
    title, draw = words(("title", number), 4), random.Random(number)
    others = [f"/articles/{draw.randrange(ARTICLES)}" for _ in range(3)]
    return f"{NAV_TEXT}{title}\n{words(number, 80)}", [*NAV, *others]


def real_paths() -> set[str]:
    lists = {f"/articles/?page={n}" for n in range(2, -(-ARTICLES // 10) + 1)}
    return {"/", "/about", "/articles/", *lists, *(f"/articles/{n}" for n in range(ARTICLES))}


def beside(trap: Callable[[str], Answer | None], *entries: str) -> Web:
    """Return an ordinary site whose home page leads into ``trap``."""

    def answer(path: str) -> Answer | None:
        return ordinary(path, [*entries]) or trap(path)

    return Web(answer, real_paths())


MONTHS = "January February March April May June July August September October November December"


def calendar_in_path(path: str) -> Answer | None:
    parts = path.strip("/").split("/")
    if parts[0] != "calendar" or len(parts) != 3:
        return None
    index = int(parts[1]) * 12 + int(parts[2]) - 1
    name = MONTHS.split()[index % 12]
    around = ["/calendar/{:04d}/{:02d}/".format(*_add(index + step)) for step in (-1, 1)]
    days = "\n".join(map(str, range(1, 29)))
    text = f"{NAV_TEXT}{name} {parts[1]}\nMo Tu We\n{days}\nNo events in {name} {parts[1]}."
    return text, [*NAV, *around]


def _add(index: int) -> tuple[int, int]:
    return index // 12, index % 12 + 1


def calendar_in_query(path: str) -> Answer | None:
    name, _, query = path.partition("?")
    if name != "/events":
        return None
    given = dict(parse_qsl(query))
    index = int(given.get("year", "2026")) * 12 + int(given.get("month", "5")) - 1
    year, month = _add(index + 1)
    following = f"/events?month={month}&year={year}"
    return f"{NAV_TEXT}{MONTHS.split()[index % 12]}\nNothing is on.\nNext month", [*NAV, following]


def next_day(path: str) -> Answer | None:
    if not path.startswith("/day/"):
        return None
    day = date.fromisoformat(path[5:])
    hours = "\n".join(f"{hour}:00 free" for hour in range(8, 18))
    after, before = day + timedelta(days=1), day - timedelta(days=1)
    text = f"{NAV_TEXT}{day:%A, %d %B %Y}\n{hours}\nBook a room"
    return text, [*NAV, f"/day/{before}", f"/day/{after}"]


def talkative_calendar(path: str) -> Answer | None:
    """A calendar with a motto of its own for every month, and the months of the year around."""
    if not path.startswith("/plan/"):
        return None
    index = int(path[6:10]) * 12 + int(path[11:13]) - 1
    around = ["/plan/{:04d}-{:02d}".format(*_add(index + step)) for step in (1, 12)]
    return f"{NAV_TEXT}Our plan\nMotto: {words(index, 3)}", [*NAV, *around]


def path_circle(path: str) -> Answer | None:
    parts = path.strip("/").split("/")
    if parts[0] != "walk" or not path.endswith("/"):
        return None
    onward = "b/" if parts[-1] == "a" else "a/"
    return f"{NAV_TEXT}A bend in the road\n{words(parts[-1], 9)}\nOn and on", [*NAV, onward]


def path_circle_with_prose(path: str) -> Answer | None:
    """The same, but every page has a text of its own."""
    if not path.startswith("/loop/"):
        return None
    onward = "two/" if path.endswith("one/") else "one/"
    return f"{NAV_TEXT}{words(path, 60)}", [*NAV, onward]


def doubled_pager(path: str) -> Answer | None:
    if not path.startswith("/blog/"):
        return None
    posts = "\n".join(words(("post", n), 5) for n in range(6))
    return f"{NAV_TEXT}{posts}\nOlder", [*NAV, "page/2/", "page/3/"]


def soft_404(path: str) -> Answer | None:
    """Below /help every address shows the same page, all of whose links are relative."""
    if not path.startswith("/help/"):
        return None
    text = f"{NAV_TEXT}Sorry\nThe page {path} is not here, but these are\nFirst\nSecond\nThird"
    return text, [*NAV, "first/", "second/", "third/", "contact.html"]


def session_in_path(path: str) -> Answer | None:
    """Every page of the site again, under an id that changes with every page."""
    parts = path.split("/", 3)
    if len(parts) < 4 or parts[1] != "s" or len(parts[2]) != 24:
        return None
    inner = ordinary(f"/{parts[3]}", [])
    if inner is None:
        return None
    text, hrefs = inner
    fresh = token(path)
    links = [f"/s/{fresh}{href if href[0] == '/' else f'/articles/{href}'}" for href in hrefs]
    return f"{text}\nYour visit is {parts[2]}", links


def session_number(path: str) -> Answer | None:
    parts = path.split("/", 3)
    if len(parts) < 4 or parts[1] != "session":
        return None
    fresh = int(token(path, 8), 16) % 90_000 + 10_000
    return f"{NAV_TEXT}Welcome back\n{parts[3]}", [
        f"/session/{fresh}/{n}" for n in ("home", "cart")
    ]


def session_in_query(path: str) -> Answer | None:
    """A shop whose pages all carry a session in the query."""
    name, _, query = path.partition("?")
    if not name.startswith("/shop/") or "sid=" not in query:
        return None
    pages = {"/shop/start": 1, "/shop/terms": 2, "/shop/help": 3}
    if name not in pages:
        return None
    links = [f"{page}?sid={token((path, page), 16)}" for page in pages]
    return f"{NAV_TEXT}{words(name, 30)}", [*NAV, *links]


def session_word(path: str) -> Answer | None:
    """A PHPSESSID in the path."""
    if "/PHPSESSID" not in path:
        return None
    return f"{NAV_TEXT}Your basket is empty\nCheckout", [
        *NAV,
        f"/PHPSESSID={token(path, 12)}/basket",
    ]


FACETS = {
    "colour": ["red", "blue", "green", "white"],
    "size": ["s", "m", "l"],
    "sort": ["price", "name"],
    "brand": ["abc", "def", "ghi"],
}


def facets(path: str) -> Answer | None:
    """A list that can be narrowed by every parameter in every order."""
    name, _, query = path.partition("?")
    if name != "/finder":
        return None
    chosen = dict(parse_qsl(query))
    goods = [n for n in range(40) if all((n + len(v)) % 3 for v in chosen.values())]
    links = [
        f"/finder?{urlencode({**chosen, key: value})}"
        for key, values in FACETS.items()
        for value in values
        if chosen.get(key) != value
    ]
    text = "\n".join(words(("title", n), 4) for n in goods)
    return f"{NAV_TEXT}{text}", [*NAV, *(f"/articles/{n}" for n in goods), *links]


def sort_and_filter(path: str) -> Answer | None:
    """Two parameters, always in the same order, many values."""
    name, _, query = path.partition("?")
    if name != "/items":
        return None
    chosen = dict(parse_qsl(query))
    links = [
        "/items?" + urlencode({"sort": sort, "filter": kind})
        for sort in ("up", "down", chosen.get("sort", "new"))
        for kind in (*(f"k{n}" for n in range(15)), chosen.get("filter", "all"))
    ]
    start = len(chosen.get("filter", "")) % 3
    goods = "\n".join(words(("title", n), 4) for n in range(start, 30, 2))
    return f"{NAV_TEXT}{goods}", [*NAV, *links]


def growing_value(path: str) -> Answer | None:
    name, _, query = path.partition("?")
    if name != "/trail":
        return None
    trail = query.removeprefix("t=")
    return f"{NAV_TEXT}You are here\nTurn left\nTurn right", [
        f"/trail?t={trail}l",
        f"/trail?t={trail}r",
    ]


def counter(path: str) -> Answer | None:
    name, _, query = path.partition("?")
    if name != "/more":
        return None
    number = int(query.removeprefix("n=") or "0")
    return f"{NAV_TEXT}Row {number}\nShow more", [*NAV, f"/more?n={number + 1}"]


def empty_pager(path: str) -> Answer | None:
    """A list that has forty pages and goes on, empty."""
    name, _, query = path.partition("?")
    if name != "/archive":
        return None
    number = int(dict(parse_qsl(query)).get("page", "1"))
    items = (
        "\n".join(words(("entry", number, n), 5) for n in range(10))
        if number <= 40
        else "No entries"
    )
    return f"{NAV_TEXT}{items}\nPage {number}\nNext", [*NAV, f"/archive?page={number + 1}"]


def wrapped_pager(path: str) -> Answer | None:
    """A list that shows its last page again for every number beyond it."""
    name, _, query = path.partition("?")
    if name != "/wrapped":
        return None
    number = int(dict(parse_qsl(query)).get("p", "1"))
    items = "\n".join(words(("wrapped", min(number, 9), n), 5) for n in range(10))
    return f"{NAV_TEXT}{items}\nPage {number}", [*NAV, f"/wrapped?p={number + 1}"]


def random_hex(path: str) -> Answer | None:
    if not path.startswith("/r/"):
        return None
    return f"{NAV_TEXT}Lucky draw\nTry again", [
        *NAV,
        *(f"/r/{token((path, n), 16)}" for n in range(3)),
    ]


def random_words(path: str) -> Answer | None:
    if not path.startswith("/lucky/"):
        return None
    return f"{NAV_TEXT}Lucky draw\nTry again", [
        *NAV,
        *(f"/lucky/{letters((path, n))}" for n in range(3)),
    ]


def tag_pairs(path: str) -> Answer | None:
    if not path.startswith("/tag/"):
        return None
    tags = ["oak", "elm", "ash", "fir", "yew", "bay"]
    items = "\n".join(words(("title", n), 4) for n in range(len(path) % 5, 20, 3))
    return f"{NAV_TEXT}{items}", [
        *NAV,
        *(f"{path.rstrip('/')}/tag/{tag}/" for tag in tags if tag not in path),
    ]


def deep_directories(path: str) -> Answer | None:
    if not path.startswith("/files/") or not path.endswith("/"):
        return None
    names = [f"{words((path, n), 1)}/" for n in range(3)]
    return f"{NAV_TEXT}Index of {path}\nName\nSize\n" + "\n".join(names), ["../", *names]


def deep_numbers(path: str) -> Answer | None:
    if not path.startswith("/levels/") or not path.endswith("/"):
        return None
    level = path.count("/") - 1
    return f"{NAV_TEXT}Level {level}\nGo down", [*NAV, f"{level * 7}/", f"{level * 7 + 1}/"]


def mirror(path: str) -> Answer | None:
    """The site within itself, again and again."""
    if not path.startswith("/mirror/"):
        return None
    inner = ordinary(path.removeprefix("/mirror"), ["/mirror/"])
    if inner is None:
        return mirror(path.removeprefix("/mirror"))
    text, hrefs = inner
    return text, [f"/mirror{href}" if href[0] == "/" else href for href in hrefs]


def way_back(path: str) -> Answer | None:
    """A login page that remembers where one came from, linked to from itself, too."""
    if path.partition("?")[0] != "/login":
        return None
    return f"{NAV_TEXT}Sign in\nName\nPassword", [*NAV, f"/login?{urlencode({'return': path})}"]


TRAPS: dict[str, Web] = {
    "calendar in the path": beside(calendar_in_path, "/calendar/2026/05/"),
    "calendar in the query": beside(calendar_in_query, "/events"),
    "next day": beside(next_day, "/day/2026-05-20"),
    "talkative calendar": beside(talkative_calendar, "/plan/2026-05"),
    "path in circles": beside(path_circle, "/walk/"),
    "path in circles with prose": beside(path_circle_with_prose, "/loop/one/"),
    "doubled pager": beside(doubled_pager, "/blog/"),
    "soft 404": beside(soft_404, "/help/"),
    "session in the path": beside(session_in_path, f"/s/{token(0)}/"),
    "session number": beside(session_number, "/session/10001/home"),
    "session in the query": beside(session_in_query, f"/shop/start?sid={token(1, 16)}"),
    "session word": beside(session_word, "/PHPSESSID=ab12cd34ef56/basket"),
    "facets": beside(facets, "/finder"),
    "sort and filter": beside(sort_and_filter, "/items"),
    "growing value": beside(growing_value, "/trail?t=l"),
    "counter": beside(counter, "/more?n=1"),
    "empty pager": beside(empty_pager, "/archive"),
    "wrapped pager": beside(wrapped_pager, "/wrapped"),
    "random hex": beside(random_hex, "/r/0011aabbccddeeff"),
    "random words": beside(random_words, "/lucky/start"),
    "pairs of tags": beside(tag_pairs, "/tag/oak/"),
    "deep numbers": beside(deep_numbers, "/levels/"),
    "mirror": beside(mirror, "/mirror/"),
    "way back": beside(way_back, "/login?return=%2F"),
}
FOUR = {
    "/calendar/2026/05/": calendar_in_path,
    "/walk/": path_circle,
    f"/s/{token(0)}/": session_in_path,
    "/finder": facets,
}
OTHER_FOUR = {
    "/events": calendar_in_query,
    "/loop/one/": path_circle_with_prose,
    f"/shop/start?sid={token(1, 16)}": session_in_query,
    "/items": sort_and_filter,
}


def all_of(traps: Mapping[str, Callable[[str], Answer | None]]) -> Web:
    """Return an ordinary site with several traps beside it; what its home leads to is real."""

    def answer(path: str) -> Answer | None:
        found = ordinary(path, [*traps])
        for trap in traps.values():
            found = found or trap(path)
        return found

    return Web(answer, real_paths() | set(traps))


DEEP_DIRECTORIES = beside(deep_directories, "/files/")
TRAPS["empty pager"].real |= {"/archive", *(f"/archive?page={n}" for n in range(2, 41))}
TRAPS["wrapped pager"].real |= {"/wrapped", *(f"/wrapped?p={n}" for n in range(2, 10))}
