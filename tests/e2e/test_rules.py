"""Rules of a job file: fields in records, records set aside, links followed as they say."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from crawling import Run, command, summary
from serving import Answer, SmallSite
from stores import own_store

pytestmark = pytest.mark.e2e

SHOP = {
    "/": '<title>Shop</title><nav><a href="/about">about</a></nav>'
    '<main><a href="/c/1">one</a> <a href="/p/1">1</a> <a href="/p/2">2</a></main>',
    "/about": "<title>About</title>",
    "/c/1": '<title>C</title><a href="/p/3">3</a> <a href="/private/x">x</a>',
    "/p/1": '<h1>Lamp</h1><b class="price">￥1,299.00</b><i class="tag">a</i><i class="tag">b</i>',
    "/p/2": '<h1>Stool</h1><b class="price">sold out</b>',
    "/p/3": '<b class="price">7</b>',
    "/private/x": "<h1>Secret</h1>",
}
FIELDS = """
[detail.fields]
name = {css = "h1::text", required = true}
price = {css = ".price", number = true, required = true}
tags = {css = ".tag::text", all = true}
url = "//link[@rel='canonical']/@href"
"""


@pytest.fixture
def site() -> Iterator[SmallSite]:
    with SmallSite(SHOP) as served:
        yield served


def run_of(site: SmallSite, folder: Path, rules: str, *flags: str) -> Run:
    job = folder / "job.toml"
    job.write_text(f'id = "shop"\nentries = ["{site.url()}"]\n{rules}', encoding="utf-8")
    reach = ["--allow-private", "--delay", "0", "--sitemaps", "no"]
    return Run(folder, ["--job", str(job)], [*reach, *flags])


def urls(site: SmallSite, run: Run) -> dict[str, dict[str, Any]]:
    return {record["url"].removeprefix(site.url("")): record for record in run.records()}


def rejects(*words: str | Path) -> list[dict[str, Any]]:
    ended = command("job", "rejects", *words, "--json")
    assert ended.code == 0, ended.err
    return [json.loads(line) for line in ended.out.splitlines()]


@pytest.mark.parametrize("where", ["directory", "redis"])
def test_fields_are_in_records_and_what_lacks_one_is_set_aside(
    site: SmallSite, tmp_path: Path, where: str
) -> None:
    flags = ["--store", own_store()] if where == "redis" else []
    run = run_of(site, tmp_path, FIELDS, *flags)
    told = run.told()
    found = urls(site, run)
    assert set(found) == {"/p/1"}
    assert found["/p/1"]["fields"] == {
        "name": "Lamp",
        "price": 1299.0,
        "tags": ["a", "b"],
        "url": None,
    }
    assert "set aside     6" in told
    assert "warning       rule detail.url found nothing on 7 pages" in told
    assert "rule detail.price" not in told

    place = flags or ["--data", str(run.data)]
    rows = {(row["url"].removeprefix(site.url("")), row["field"]): row for row in rejects(*place)}
    assert rows["/p/2", "price"]["reason"] == "'sold out' is no number"
    assert rows["/p/3", "name"]["reason"] == "is empty"
    assert {row["rule"] for row in rows.values()} == {"detail"}
    assert ("/p/1", "name") not in rows
    table = command("job", "rejects", *place).out.splitlines()
    assert table[0].split() == ["rule", "field", "reason", "url"]
    assert table[-1].startswith("by field: detail.price 5")
    why = json.loads(command("page", site.url("/p/3"), *place, "--json").out)
    assert why["record"]["outcome"] == "rejected"


@pytest.mark.parametrize("where", ["directory", "redis", "workers"])
def test_a_limit_of_pages_holds_where_a_required_field_is_never_found(
    site: SmallSite, tmp_path: Path, where: str
) -> None:
    flags = {"redis": ["--store", own_store()], "workers": ["--workers", "1"]}.get(where, [])
    rules = '[detail.fields]\nname = {css = "h7::text", required = true}\n'
    run = run_of(site, tmp_path, rules, *flags, "--concurrency", "1")
    ended = summary(run.finish("--pages", "2"))
    assert (ended["pages"], ended["rejected"]) == (0, 2)
    assert "Stopped by the pages limit" in run.told("--pages", "3")
    assert summary(run.finish())["rejected"] == len(SHOP)


def test_links_are_followed_as_the_first_rule_that_fits_says(
    site: SmallSite, tmp_path: Path
) -> None:
    rules = """
[[links]]
allow = ["/private/"]
follow = false

[[links]]
allow = ['/c/\\d+$']
class = "nav"

[[links]]
allow = ['/p/\\d+$']
deny = ["/p/2"]
restrict_css = ["main"]
extract = "product"
priority = 8

[[links]]
allow = ["/nowhere/"]

[rules.product.fields]
name = {css = "h1", required = true}
"""
    run = run_of(site, tmp_path, rules)
    told = summary(run.finish())
    found = urls(site, run)
    # /about fits no rule, and /p/3 is not within <main>.
    assert set(found) == {"/", "/c/1", "/p/1"}
    assert {path: one["page_class"] for path, one in found.items()} == {
        "/": "data",
        "/c/1": "nav",
        "/p/1": "data",
    }
    assert found["/p/1"]["fields"] == {"name": "Lamp"}
    assert found["/c/1"]["fields"] == {}
    assert told["pages"] == 3
    assert told["warnings"] == ["rule links[3] fits no link of 3 pages"]
    shown = json.loads(command("job", "show", "shop", "--data", run.data, "--json").out)
    assert shown["warnings"] == told["warnings"]
    why = command("page", site.url("/private/x"), "--data", run.data).out
    assert "links[0] fits, which says not to follow" in why
    why = command("page", site.url("/p/3"), "--data", run.data).out
    assert "links[2] fits, taking the link to stand in the parts of a page that the rule is" in why
    why = command("page", site.url("/about"), "--data", run.data).out
    assert "no link rule fits" in why


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        ('[detail.fields]\na = "//td["', 'detail.fields.a.xpath: "//td[": not an XPath'),
        ('[detail.fields]\na = {css = "a >"}', 'detail.fields.a.css: "a >": not a CSS selector'),
        (
            '[detail.fields]\na = {css = "a", regex = "(?=x)"}',
            'detail.fields.a.regex: "(?=x)": not an RE2 regular expression',
        ),
        ('[detail.fields]\na = {cs = "a"}', 'detail.fields.a.cs: unknown key; did you mean "css"?'),
        ('[[links]]\nextract = "x"', 'links[0].extract: "x": wanted one of detail, list, none'),
        ('[[links]]\nclass = "dat"', "links[0].class: "),
        ('[[links]]\nalow = ["x"]', 'links[0].alow: unknown key; did you mean "allow"?'),
    ],
)
def test_a_broken_rule_is_named_and_nothing_begins(
    site: SmallSite, tmp_path: Path, rules: str, why: str
) -> None:
    run = run_of(site, tmp_path, rules)
    ended = run.finish()
    assert (ended.returncode, ended.stdout) == (2, "")
    assert why in ended.stderr
    assert not run.data.exists()


def test_the_schema_knows_every_key() -> None:
    schema = json.loads(command("job", "schema").out)
    assert {"entries", "links", "detail", "rules", "sinks"} <= set(schema["properties"])
    assert "class" in schema["$defs"]["LinkRule"]["properties"]


def listed(page: int, last: int) -> str:
    rows = "".join(
        f'<tr><td><a href="/n/{page}{n}">Notice {page}{n}</a></td><td>2024-0{page}-1{n}</td></tr>'
        for n in range(3)
    )
    more = f'<a class="next" href="/list?page={page + 1}">next</a>' if page < last else ""
    return f'<title>L</title><a href="/other">other</a><table id="t">{rows}</table>{more}'


NOTICES = {
    "/": listed(1, 3),
    "/list?page=2": listed(2, 3),
    "/list?page=3": listed(3, 3).replace("2024-03-12", ""),
    "/other": "<title>Other</title>",
    **{
        f"/n/{page}{n}": f'<h1>Title {page}{n}</h1><p>Text</p><a href="/other">x</a>'
        for page in range(1, 4)
        for n in range(3)
    },
}
LIST = """
kind = "list"
jump = ['/to/']

[list]
from = "//table[@id='t']//tr"
detail_url = "td/a/@href"
next = "//a[@class='next']/@href"

[list.fields]
name = "td[1]/a/text()"
date = {xpath = "td[2]/text()", date = true, required = true}

[detail.fields]
title = {css = "h1::text", required = true}
name = ".//nothing/text()"
"""


@pytest.mark.parametrize("where", ["directory", "redis", "workers"])
def test_a_list_and_the_pages_of_its_items_are_one_record_each(tmp_path: Path, where: str) -> None:
    flags = {"directory": [], "redis": ["--store", own_store()], "workers": ["--workers", "2"]}
    with SmallSite(NOTICES) as site:
        run = run_of(site, tmp_path, LIST, *flags[where])
        told = summary(run.finish())
        found = urls(site, run)
        place = flags[where] if where == "redis" else ["--data", str(run.data)]
        aside = rejects(*place)
    notices = {path: one for path, one in found.items() if path.startswith("/n/")}
    assert set(notices) == {f"/n/{page}{n}" for page in range(1, 4) for n in range(3)} - {"/n/32"}
    assert notices["/n/21"]["fields"] == {
        "title": "Title 21",
        "name": "Notice 21",
        "date": "2024-02-11",
    }
    assert notices["/n/21"]["page_class"] == "data"
    # Lists are nav pages, and nothing but what their rules name is followed.
    assert {path for path in found if path not in notices} == {
        "/",
        "/list?page=2",
        "/list?page=3",
    }
    assert {found[path]["page_class"] for path in ("/", "/list?page=3")} == {"nav"}
    assert told["pages"] == 11
    assert told["warnings"] == [
        "rule detail.name found nothing on 9 pages",
        "rule jump fits no link of 11 pages",
    ]
    [row] = aside
    assert (row["rule"], row["field"], row["reason"]) == ("list", "date", "is empty")
    assert row["url"].endswith("/n/32")


def test_rules_for_links_lead_on_in_a_list_job_and_the_fields_of_its_items_stay(
    tmp_path: Path,
) -> None:
    """Pages of the list and of its items are found by a link rule as well, the latter by both."""
    rules = (
        LIST.replace("next =", "# next =")
        + """
[[links]]
allow = ['/n/\\d+$']
class = "data"

[[links]]
allow = ['/list\\?page=\\d+$']
class = "nav"
"""
    )
    pages = {**NOTICES, "/n/99": "<h1>Title 99</h1>"}
    pages["/"] = pages["/"].replace("<table", '<a href="/n/99">an extra</a><table')
    with SmallSite(pages) as site:
        run = run_of(site, tmp_path, rules)
        told = summary(run.finish())
        found = urls(site, run)
    assert {path for path, one in found.items() if one["page_class"] == "nav"} == {
        "/",
        "/list?page=2",
        "/list?page=3",
    }
    assert found["/n/21"]["fields"] == {
        "title": "Title 21",
        "name": "Notice 21",
        "date": "2024-02-11",
    }
    # What a rule alone has found is no item of the list, and wants none of its fields.
    assert found["/n/99"]["fields"] == {"title": "Title 99", "name": None}
    # One item has no date, which the list requires.
    assert told["pages"] == 3 + 8 + 1


def test_the_priority_of_a_rule_decides_what_is_asked_for_first(tmp_path: Path) -> None:
    names = [f"/{kind}/{n}" for n in range(8) for kind in ("plain", "last", "first")]
    home = "".join(f'<a href="{name}">{name}</a>' for name in names)
    rules = """
[[links]]
allow = ["/last/"]
priority = 1
[[links]]
allow = ["/first/"]
priority = 9
[[links]]
allow = ["/"]
"""
    with SmallSite({"/": home, **dict.fromkeys(names, "<p>x</p>")}) as site:
        run = run_of(site, tmp_path, rules, "--per-host", "1")
        summary(run.finish())
        asked = [path.split("/")[1] for path in site.asked if path in names]
    assert asked == ["first"] * 8 + ["plain"] * 8 + ["last"] * 8


def test_a_list_may_be_all_there_is(tmp_path: Path) -> None:
    rules = LIST.partition("[detail")[0].replace("[list.fields]", "continue = false\n[list.fields]")
    with SmallSite(NOTICES) as site:
        run = run_of(site, tmp_path, rules)
        summary(run.finish())
        found = urls(site, run)
        aside = rejects("--data", run.data)
    assert set(found) == {"/", "/list?page=2", "/list?page=3"}
    assert found["/"]["fields"]["items"][0] == {"name": "Notice 10", "date": "2024-01-10"}
    assert len(found["/list?page=3"]["fields"]["items"]) == 2
    assert [(row["field"], row["reason"]) for row in aside] == [("date", "1 of 3 items")]


def test_a_list_job_without_a_list_is_refused(site: SmallSite, tmp_path: Path) -> None:
    ended = run_of(site, tmp_path, 'kind = "list"').finish()
    assert ended.returncode == 2
    assert "kind: list wants a table [list]" in ended.stderr


def test_a_field_that_is_found_no_more_raises_an_alarm(tmp_path: Path) -> None:
    links = "".join(f'<a href="/p/{n}">{n}</a>' for n in range(120))
    old = {f"/p/{n}": f"<h1>Thing {n}</h1><b class=price>{n}</b>" for n in range(70)}
    new = {f"/p/{n}": f"<h1>Thing {n}</h1><b class=cost>{n}</b>" for n in range(70, 120)}
    with SmallSite({"/": links, **old, **new}) as shop:
        rules = '[detail.fields]\nprice = {css = ".price", number = true}\nname = "//h1/text()"\n'
        run = run_of(shop, tmp_path, rules, "--per-host", "1")
        told = run.told()
    assert "alarm" in told
    assert "detail.price was found on" in told
    assert "detail.name was found" not in told
    shown = command("job", "show", "shop", "--data", run.data, "--json")
    [alarm] = json.loads(shown.out)["alarms"]
    assert alarm.startswith("rule detail.price was found on ")


def test_the_part_of_a_page_a_link_was_in_says_what_is_taken_of_its_target(tmp_path: Path) -> None:
    pages = {
        "/": '<main><a href="/x/1">1</a></main><aside><a href="/x/2">2</a></aside>',
        "/x/1": "<h1>One</h1><h2>uno</h2>",
        "/x/2": "<h1>Two</h1><h2>dos</h2>",
    }
    rules = """
[[links]]
allow = ['/x/']
restrict_css = ["aside"]
extract = "side"
[[links]]
allow = ['/x/']
[detail.fields]
name = {css = "h1::text"}
[rules.side.fields]
other = {css = "h2::text"}
"""
    with SmallSite(pages) as site:
        run = run_of(site, tmp_path, rules)
        summary(run.finish())
        found = urls(site, run)
    assert found["/x/1"]["fields"] == {"name": "One"}
    assert found["/x/2"]["fields"] == {"other": "dos"}


def test_error_pages_that_come_with_status_200_and_garbled_ones_are_named_and_counted(
    tmp_path: Path,
) -> None:
    pages: dict[str, Answer | str] = {
        "/": '<title>Shop</title><h1>Shop</h1><a href="/p/1">1</a><a href="/gone">2</a>'
        '<a href="/odd">3</a>',
        "/p/1": "<title>Lamp</title><h1>Lamp</h1>",
        "/gone": "<title>Page not found</title><h1>Oh no</h1><p>Nothing here.</p>",
        "/odd": Answer("<title>Ödd</title><h1>Ödd</h1><p>grün</p>".encode() + b"<p>\xff</p>"),
    }
    says = 'looks like an error page: it says "not found"'
    with SmallSite(pages) as site:
        (tmp_path / "plain").mkdir()
        plain = run_of(site, tmp_path / "plain", "article = ['/a/']\n")
        told = plain.told()
        places: list[str | Path] = ["--data", plain.data, "--out", plain.out]
        again = command("crawl", *plain.arguments, *plain.flags, *places)
        found = urls(site, plain)
        (tmp_path / "ruled").mkdir()
        ruled = run_of(
            site, tmp_path / "ruled", '[detail.fields]\nname = "//h1/text()"\nprice = "//b"\n'
        )
        aside = ruled.told()
        rows = rejects("--data", ruled.data)
        shown = json.loads(command("job", "show", "shop", "--data", ruled.data, "--json").out)
    assert {path: (one["outcome"], one["error"]) for path, one in found.items()} == {
        "/": ("ok", None),
        "/p/1": ("ok", None),
        "/gone": ("ok", says),
        "/odd": ("ok", "not all of its bytes are utf-8: 1 unreadable"),
    }
    assert "error pages   1  came as if all were well, and say there is nothing" in told
    assert "garbled       1  some of their bytes are no characters of their encoding" in told
    assert "set aside" not in told
    unused = "article: only kind news uses it, not site"
    assert f"warning       {unused}" in told
    assert (again.code, again.err.splitlines()[0]) == (0, f"skitter: warning: {unused}")
    assert set(urls(site, ruled)) == {"/", "/p/1", "/odd"}
    assert "set aside     1" in aside
    assert "error pages   1" in aside
    assert [(row["rule"], row["field"], row["reason"]) for row in rows] == [("detail", "*", says)]
    assert (shown["error_pages"], shown["garbled"]) == (1, 1)


@pytest.mark.parametrize("where", ["directory", "redis"])
def test_what_was_set_aside_is_tried_again_once_the_rule_is_mended(
    site: SmallSite, tmp_path: Path, where: str
) -> None:
    flags = ["--store", own_store()] if where == "redis" else []
    broken = '[detail.fields]\nname = {css = "h7::text", required = true}\n'
    run = run_of(site, tmp_path, broken, *flags)
    assert summary(run.finish())["rejected"] == len(SHOP)
    place = flags or ["--data", str(run.data)]

    run = run_of(site, tmp_path, broken.replace("h7", "h1"), *flags)
    told = command("job", "rejects", "shop", *place, "--again")
    assert told.code == 0, told.err
    assert told.out.splitlines()[0] == f"job shop: {len(SHOP)} pages queued once more"
    assert "0 pages queued" in command("job", "rejects", *place, "--again").out
    asked = len(site.asked)
    ended = summary(run.finish())
    assert len(site.asked) - asked >= len(SHOP)
    assert (ended["pages"], ended["ok"], ended["rejected"]) == (3, 3, len(SHOP) - 3)
    assert "warnings" not in ended, "what an earlier rule has found says nothing of this one"
    kept = {path: record["visit"] for path, record in urls(site, run).items()}
    assert kept == {"/p/1": 2, "/p/2": 2, "/private/x": 2}
    left = {row["url"].removeprefix(site.url("")) for row in rejects(*place)}
    assert left == set(SHOP) - set(kept)


def test_a_page_that_is_tried_again_keeps_what_its_list_said_of_it(tmp_path: Path) -> None:
    pages = {
        "/": '<li><a href="/n/1">1</a><i>Monday</i></li><li><a href="/n/2">2</a><i>Friday</i></li>',
        "/n/1": "<h1>One</h1>",
        "/n/2": "<h1>Two</h1>",
    }
    rules = """kind = "list"
[list]
from = "//li"
detail_url = "a/@href"
fields.day = {xpath = "i/text()", required = true}
[detail.fields]
title = {css = "h7::text", required = true}
"""
    with SmallSite(pages) as site:
        run = run_of(site, tmp_path, rules)
        first = summary(run.finish("--pages", "3"))
        assert (first["pages"], first["rejected"]) == (1, 2)
        run = run_of(site, tmp_path, rules.replace("h7", "h1"))
        told = command("job", "rejects", "--data", run.data, "--again").out
        assert told.splitlines()[1] == (
            "its limit of pages is used up: they wait until that is raised"
        )
        ended = summary(run.finish())
        assert (ended["pages"], ended["ok"], ended["rejected"]) == (3, 3, 0)
        found = {path: record["fields"] for path, record in urls(site, run).items()}
    assert found["/n/1"] == {"title": "One", "day": "Monday"}
    assert found["/n/2"] == {"title": "Two", "day": "Friday"}
