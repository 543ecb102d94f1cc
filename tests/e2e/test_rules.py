"""Rules of a job file: fields in records, records set aside, links followed as they say."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from crawling import Run, command, summary
from serving import SmallSite
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
    why = command("page", site.url("/private/x"), "--data", run.data).out
    assert "links[0] fits, which says not to follow" in why
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
        ('[[links]]\nextract = "x"', 'links[0].extract: "x": wanted one of detail, none'),
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
