"""What is typed into the form becomes a job, or is refused at its field."""

import json

import pytest

from skitter.api.dashboard.draft import Draft, check_spec, read_draft, read_raw, shown
from skitter.api.dashboard.i18n.words import Words

ENGLISH = Words("en")
HOME = "https://example.com/"


def test_an_address_is_enough() -> None:
    spec, faults = read_draft(Draft(kind="site", entries=HOME), ENGLISH)
    assert (spec, faults) == ({"kind": "site", "entries": [HOME]}, {})


def test_everything_that_is_typed_goes_to_its_place() -> None:
    draft = Draft(
        kind="news",
        entries=f"{HOME}\n\n  https://example.org/ ",
        id="mine",
        owner="ana",
        scope="domain",
        depth="3",
        pages="10,000",
        time="60",
        delay="0.5",
        priority="7",
        refresh="10m",
        article=r"/\d+\.html$",
        labels="desk = ports\nregion=north",
        render="yes",
        sinks=["warehouse"],
    )
    spec, faults = read_draft(draft, ENGLISH)
    assert faults == {}
    assert spec == {
        "kind": "news",
        "entries": [HOME, "https://example.org/"],
        "id": "mine",
        "owner": "ana",
        "scope": "domain",
        "depth": 3,
        "limits": {"pages": 10000, "time": 60.0},
        "polite": {"delay": 0.5},
        "priority": 7,
        "refresh": "10m",
        "article": [r"/\d+\.html$"],
        "labels": {"desk": "ports", "region": "north"},
        "http": {"render": True},
        "sinks": [{"name": "warehouse"}],
    }


def test_what_a_kind_has_not_is_left_out() -> None:
    draft = Draft(kind="site", entries=HOME, article="x", list_from="//li", keywords="a")
    spec, faults = read_draft(draft, ENGLISH)
    assert (spec, faults) == ({"kind": "site", "entries": [HOME]}, {})


def test_a_list_job_has_rules() -> None:
    draft = Draft(
        kind="list",
        entries=HOME,
        list_from="//li",
        list_detail="a/@href",
        list_next="//a[@rel='next']/@href",
        fields="title = //h1/text()",
    )
    spec, faults = read_draft(draft, ENGLISH)
    assert faults == {}
    assert spec["list"] == {
        "from": "//li",
        "detail_url": "a/@href",
        "next": "//a[@rel='next']/@href",
    }
    assert spec["detail"] == {"fields": {"title": "//h1/text()"}}


def test_keywords_may_be_separated_as_in_chinese() -> None:
    spec, faults = read_draft(
        Draft(kind="web", entries=HOME, keywords="港口、地图\uff0ctide"), ENGLISH
    )
    assert spec["keywords"] == ["港口", "地图", "tide"]
    assert faults == {}


@pytest.mark.parametrize(
    ("draft", "field"),
    [
        (Draft(), "entries"),
        (Draft(entries="not an address"), "entries"),
        (Draft(entries=f"{HOME}\nftp://example.com/"), "entries"),
        (Draft(entries=HOME, id="two words"), "id"),
        (Draft(entries=HOME, pages="many"), "pages"),
        (Draft(entries=HOME, pages="0"), "pages"),
        (Draft(entries=HOME, delay="-1"), "delay"),
        (Draft(entries=HOME, priority="12"), "priority"),
        (Draft(entries=HOME, refresh="10x"), "refresh"),
        (Draft(entries=HOME, article="("), "article"),
        (Draft(entries=HOME, labels="desk"), "labels"),
        (Draft(kind="list", entries=HOME), "list_from"),
        (Draft(kind="list", entries=HOME, list_from="//["), "list_from"),
        (Draft(kind="site", entries=HOME, fields="title = //["), "fields"),
        (Draft(kind="site", entries=HOME, include="("), "include"),
    ],
)
def test_what_is_wrong_is_told_at_its_field(draft: Draft, field: str) -> None:
    faults = read_draft(draft, ENGLISH)[1]
    assert list(faults) == [field]
    assert faults[field]


def test_several_things_that_are_wrong_are_told_at_once() -> None:
    draft = Draft(entries="ftp://example.com/", pages="many", refresh="10x")
    assert read_draft(draft, ENGLISH)[1].keys() == {"entries", "pages", "refresh"}


def test_text_may_be_toml_or_json() -> None:
    toml = f'kind = "news"\nentries = ["{HOME}"]\n[limits]\npages = 5\n'
    wanted = {"kind": "news", "entries": [HOME], "limits": {"pages": 5}}
    assert read_raw(toml, ENGLISH) == (wanted, {})
    assert read_raw(json.dumps(wanted), ENGLISH) == (wanted, {})
    assert read_raw(shown(wanted), ENGLISH) == (wanted, {})


@pytest.mark.parametrize("text", ["{", "kind = ", '{"kind": "moon"}', "colour = 1", "[1]"])
def test_text_that_is_no_job_says_why(text: str) -> None:
    assert read_raw(text, ENGLISH)[1][""]


def test_sinks_of_the_operator_are_for_the_service_to_check() -> None:
    assert check_spec({"entries": [HOME], "sinks": [{"name": "warehouse"}]}) == {}
