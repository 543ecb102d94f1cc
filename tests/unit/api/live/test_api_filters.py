"""Filters say which events are wanted, and where they are looked for."""

import itertools

import pytest

from skitter.api.live.filters import Filter, places_of, split_values

PAGE = {"type": "page", "job": "news", "kind": "news", "host": "a.example", "at": "x"}


@pytest.mark.parametrize(
    ("wanted", "is_wanted"),
    [
        (Filter(), True),
        (Filter(job=frozenset({"news"})), True),
        (Filter(job=frozenset({"news", "other"}), type=frozenset({"page"})), True),
        (Filter(job=frozenset({"other"})), False),
        (Filter(host=frozenset({"a.example"}), kind=frozenset({"site"})), False),
        (Filter(type=frozenset({"alarm"})), False),
    ],
)
def test_an_event_has_to_have_one_of_the_values_of_every_field(
    wanted: Filter, is_wanted: bool
) -> None:
    assert wanted.wants(dict(PAGE)) is is_wanted


def test_whatever_a_filter_wants_is_found_where_it_is_kept() -> None:
    names = ("host", "job", "type", "kind")
    for chosen in itertools.chain.from_iterable(itertools.combinations(names, n) for n in range(5)):
        wanted = Filter(**{name: frozenset({PAGE[name], "more"}) for name in chosen})
        kept = set(wanted.places())
        assert len(kept & set(places_of(dict(PAGE)))) == 1


def test_values_are_repeated_or_parted_by_commas() -> None:
    assert split_values(["a,b", " c ", ""]) == {"a", "b", "c"}
