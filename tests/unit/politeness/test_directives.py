import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.politeness.directives import NO_DIRECTIVES, robots_directives

AGENT = "Skitter/0.1 (+https://example.org)"


def _flags(tag: str | None, *meta: str) -> str:
    found = robots_directives(meta, tag, AGENT)
    return ("i" if found.noindex else "") + ("f" if found.nofollow else "")


def test_a_page_that_says_nothing_gets_the_shared_answer() -> None:
    assert robots_directives(frozenset(), None, AGENT) is NO_DIRECTIVES
    assert robots_directives(["all", "max-snippet:5"], "index, follow", AGENT) is NO_DIRECTIVES


@pytest.mark.parametrize(
    ("meta", "flags"),
    [
        (("noindex",), "i"),
        (("nofollow", "noarchive"), "f"),
        (("none",), "if"),
        (("NoIndex, NoFollow",), "if"),
        (("all", "index", "follow"), ""),
        (("all", "noindex"), "i"),
        ((" none ",), "if"),
    ],
)
def test_meta_directives_are_understood(meta: tuple[str, ...], flags: str) -> None:
    assert _flags(None, *meta) == flags


@pytest.mark.parametrize(
    ("tag", "flags"),
    [
        ("noindex", "i"),
        ("NOINDEX,NOFOLLOW", "if"),
        ("none", "if"),
        ("all", ""),
        ("otherbot: noindex", ""),
        ("otherbot: noindex, nofollow", ""),
        ("skitter: nofollow", "f"),
        ("Skitter : none", "if"),
        ("*: noindex", "i"),
        ("skitterbot: noindex", ""),
        ("noindex, otherbot: nofollow", "i"),
        ("otherbot: noindex, skitter: nofollow", "f"),
        ("otherbot: noindex, skitter: noarchive, nofollow", "f"),
        ("unavailable_after: 25 Jun 2010 15:00:00 PST", ""),
        ("unavailable_after: Wed, 25 Jun 2010 15:00:00 PST", ""),
        ("unavailable_after: Wed, 25 Jun 2010 15:00:00 PST, noindex", "i"),
        ("otherbot: unavailable_after: Wed, 25 Jun 2010 15:00:00 PST, noindex", ""),
        ("skitter: unavailable_after: 2010-06-25T15:00:00Z, nofollow", "f"),
        ("max-snippet: 20, max-image-preview:large, nofollow", "f"),
        ("otherbot: max-snippet: 20, noindex", ""),
        ("", ""),
        (",,:,", ""),
    ],
)
def test_the_header_counts_for_everyone_or_for_the_agent_it_names(tag: str, flags: str) -> None:
    assert _flags(tag) == flags


def test_page_and_header_add_up_and_each_reason_is_named() -> None:
    found = robots_directives({"noindex"}, "nofollow, nofollow", AGENT)
    assert (found.noindex, found.nofollow) == (True, True)
    assert found.reasons == ("meta robots: noindex", "X-Robots-Tag: nofollow")


@given(st.text("noindexflw:,*; 0123ab-_", max_size=60), st.text(max_size=10))
def test_no_header_is_an_error(tag: str, agent: str) -> None:
    found = robots_directives((), tag, agent)
    assert bool(found.reasons) == (found.noindex or found.nofollow)
