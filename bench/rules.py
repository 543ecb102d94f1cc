"""What rules cost: ten XPath fields on a page of 25 kB, beside reading the page without any.

``python -m bench.rules`` prints the CPU of each, medians of interleaved rounds. A job without rules
takes the way of the first line: it does not even keep the parsed page.
"""

import statistics
import sys
import time
from collections.abc import Callable

from skitter.job.rules import FieldRule
from skitter.parse.document import parse_page
from skitter.parse.follow import FollowOptions
from skitter.parse.rules.ruleset import Fields, make_sight
from skitter.url.parse import Base

PAGE_BYTES = 25_000
FIELDS = 10
ROUNDS = 15
PER_ROUND = 40
BAR_MS = 1.0
URL = "https://example.com/notices/2026/0001.html"


def page() -> bytes:
    """Return a page of the wanted size, with a table of what the rules look for."""
    rows = "".join(
        f'<tr class="row"><th>Name {n}</th><td id="v{n}">Value {n}</td></tr>' for n in range(FIELDS)
    )
    parts = ["<!doctype html><title>Notice</title><table>", rows, "</table>"]
    size, number = sum(map(len, parts)), 0
    while size < PAGE_BYTES:
        parts.append(
            f'<div class="c"><p>Sentence <b>{number}</b> of the notice, <a href="/n/{number}">which'
            f' leads on</a> to others.</p><span class="note">n{number}</span></div>'
        )
        size += len(parts[-1])
        number += 1
    return "".join(parts).encode()


def main() -> int:
    """Measure and print; 1 when the rules cost more than they may."""
    body = page()
    names = range(FIELDS)
    rules = {f"f{n}": FieldRule(xpath=f"//tr[th='Name {n}']/td/text()", strip=True) for n in names}
    fields = Fields(rules)
    plain, kept = FollowOptions(), FollowOptions(keep=True)

    def without() -> None:
        parse_page(body, "text/html; charset=utf-8", URL, follow=plain)

    def with_rules() -> None:
        read = parse_page(body, "text/html; charset=utf-8", URL, follow=kept)
        assert read.document is not None
        picked = fields.read(read.document, make_sight(read.document, Base(URL), now=0.0))
        assert picked.fields["f9"] == "Value 9"

    costs: dict[str, list[float]] = {"without": [], "with": []}
    for _ in range(ROUNDS):
        costs["without"].append(_cpu_ms(without))
        costs["with"].append(_cpu_ms(with_rules))
    bare, ruled = (statistics.median(costs[name]) for name in ("without", "with"))
    added = ruled - bare
    print(f"a page of {len(body):,} bytes: {bare:.2f} ms without rules, {ruled:.2f} ms with")
    print(f"{FIELDS} XPath fields: {added:.2f} ms of CPU (bar ≤ {BAR_MS:g})")
    return int(added > BAR_MS)


def _cpu_ms(run: Callable[[], None]) -> float:
    began = time.process_time()
    for _ in range(PER_ROUND):
        run()
    return (time.process_time() - began) / PER_ROUND * 1000


if __name__ == "__main__":
    sys.exit(main())
