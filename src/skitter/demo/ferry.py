"""The ferries: a site whose pages are empty until a script has filled them in.

Every page is the same few lines. The script asks for data, writes a title, text and links, and
sends whoever wants the ferry of today to its line. What comes of it is known here.
"""

import json
from dataclasses import asdict, dataclass

from skitter.demo.model import Answer, Page, Raw, Target
from skitter.demo.pages import FixedSite
from skitter.demo.web import Robots
from skitter.demo.words import dice, paragraph

NAME = "ferry"
SHELL_TITLE = "Ferries"
HOME_TITLE = "Ferries of the harbour"
TODAY = "/today"
SCRIPT = "/app.js"
COUNTER = "/stats/visit.json"
"""What robots.txt closes: the script asks for it all the same."""
_PLACES = ("North lock", "Outer pier", "Salt gate", "Fish market", "Pilot house", "Old dry dock")
_SHELL = Raw(
    '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
    f"<title>{SHELL_TITLE}</title>\n"
    '<link rel="stylesheet" href="/app.css">\n</head>\n<body>\n<main id="app"></main>\n'
    f'<img src="/stats/pixel.gif" alt="">\n<script src="{SCRIPT}"></script>\n</body>\n</html>\n'
)
_APP = """\
const app = document.getElementById("app");
const add = (tag, text, to) => {
  const made = document.createElement(tag);
  made.textContent = text;
  if (to) made.href = to;
  return app.appendChild(made);
};
const show = (title) => { document.title = title; add("h1", title); };
fetch("%(counter)s").then((it) => it.json()).then((it) => add("footer", it.visits)).catch(() => {});
async function home() {
  const lines = await (await fetch("/api/lines.json")).json();
  show("%(home)s");
  add("a", "The ferry of today", "%(today)s");
  for (const line of lines) add("a", line.place, "/line/" + line.number);
}
async function line(number) {
  const line = await (await fetch("/api/line/" + number + ".json")).json();
  show("Ferry to the " + line.place.toLowerCase());
  add("p", line.text);
  add("span", line.minutes + " minutes").className = "minutes";
}
const path = location.pathname;
if (path === "%(today)s") location.replace("/line/1");
else if (path === "/") home();
else line(path.split("/").pop());
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A ferry line, as its page shows it once the script has run."""

    number: int
    place: str
    minutes: int
    text: str

    @property
    def path(self) -> str:
        """The path of its page."""
        return f"/line/{self.number}"

    @property
    def title(self) -> str:
        """The title that the script gives the page."""
        return f"Ferry to the {self.place.lower()}"


def ferry_lines(seed: int) -> list[Line]:
    """Return the lines of the web of ``seed``."""
    found = []
    for number, place in enumerate(_PLACES, 1):
        draw = dice(seed, NAME, place)
        minutes, text = draw.randint(4, 55), paragraph(draw)
        found.append(Line(number=number, place=place, minutes=minutes, text=text))
    return found


def ferry_site(seed: int) -> FixedSite:
    """Return the site."""
    lines = ferry_lines(seed)
    shells = ["/", TODAY, *(line.path for line in lines)]
    names = [{"number": line.number, "place": line.place} for line in lines]
    words = {"counter": COUNTER, "home": HOME_TITLE, "today": TODAY}
    pages = [
        *(Page(at=Target(NAME, path), title=SHELL_TITLE, blocks=(_SHELL,)) for path in shells),
        _file(SCRIPT, "text/javascript", _APP % words),
        _file("/app.css", "text/css", "main { max-width: 46rem }\n"),
        _file(COUNTER, "application/json", '{"visits": 7}'),
        _file("/api/lines.json", "application/json", json.dumps(names)),
        *(
            _file(f"/api/line/{line.number}.json", "application/json", json.dumps(asdict(line)))
            for line in lines
        ),
    ]
    return FixedSite(pages, Robots(disallow=("/stats/",)))


def _file(path: str, media_type: str, text: str) -> Page:
    return Page(at=Target(NAME, path), answer=Answer(media_type=media_type, body=text.encode()))
