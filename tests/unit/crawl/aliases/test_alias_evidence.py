"""What is noticed as pages come, within bounds."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from skitter.crawl.aliases import evidence as module
from skitter.crawl.aliases.evidence import SAMPLE, Evidence, Pair
from skitter.crawl.aliases.facts import Fact
from skitter.types import HostKey

A, B, C = HostKey("a.test"), HostKey("b.test"), HostKey("c.test")


def fact(text: str, size: int = 500) -> Fact:
    return Fact(text.encode().ljust(16, b"."), (text, 0), size)


def fetch(seen: Evidence, host: HostKey, *paths: str, size: int = 500) -> None:
    for path in paths:
        seen.saw(host, f"http://{host}{path}", path, fact(path, size))


def ripe(seen: Evidence) -> list[tuple[HostKey, HostKey]]:
    return sorted(pair.hosts for pair in seen.take_ripe())


def test_equal_pages_at_equal_paths_make_a_pair() -> None:
    seen = Evidence()
    fetch(seen, A, "/", "/1", "/2", "/3", "/4", "/5", "/6")
    fetch(seen, B, "/", "/1", "/2", "/3", "/4")
    assert not seen.has_ripe
    fetch(seen, B, "/5")
    assert seen.has_ripe
    [pair] = seen.take_ripe()
    assert pair.hosts == (A, B)
    assert list(pair.paths) == ["/", "/1", "/2", "/3", "/4", "/5"]
    assert not seen.has_ripe


def test_equal_content_at_other_paths_and_tiny_pages_do_not_count() -> None:
    seen = Evidence()
    for n in range(10):
        seen.saw(A, f"http://a.test/{n}", f"/{n}", fact(str(n)))
        seen.saw(B, f"http://b.test/other/{n}", f"/other/{n}", fact(str(n)))
    fetch(seen, A, *(f"/t{n}" for n in range(5)), size=20)
    fetch(seen, B, *(f"/t{n}" for n in range(5)), size=20)
    assert not seen.take_grown()


def test_two_equal_pages_are_enough_to_look_when_there_are_pages_to_compare() -> None:
    seen = Evidence()
    fetch(seen, A, "/1", "/2", "/3", "/4", "/5", "/6")
    fetch(seen, B, "/1", "/own/1", "/own/2", "/own/3", "/own/4", "/own/5")
    assert not seen.has_ripe
    fetch(seen, B, "/2")
    assert ripe(seen) == [(A, B)]


def test_a_host_whose_pages_others_fetch_is_compared_as_well() -> None:
    seen = Evidence()
    seen.met(A, "http://a.test")
    fetch(seen, B, *(f"/{n}" for n in range(6)))
    seen.same(A, B, "/1")
    assert not seen.has_ripe
    seen.same(A, B, "/2")
    assert ripe(seen) == [(A, B)]


def test_a_pair_that_did_not_convince_waits_for_more_pages() -> None:
    seen = Evidence()
    fetch(seen, A, *(f"/{n}" for n in range(100)))
    looks = []
    for n in range(100):
        fetch(seen, B, f"/{n}")
        for pair in seen.take_ripe():
            looks.append(n + 1)
            seen.put_off(pair)
    assert looks == [6, 8, 10, 12, 14, 16, 32, 64]


def test_a_pair_that_was_settled_is_not_looked_at_again() -> None:
    seen = Evidence()
    fetch(seen, A, *(f"/{n}" for n in range(10)))
    fetch(seen, B, *(f"/{n}" for n in range(6)))
    for pair in seen.take_ripe():
        pair.closed = True
    fetch(seen, B, *(f"/{n}" for n in range(6, 10)))
    assert not seen.has_ripe


def test_what_was_found_equal_to_an_alias_counts_for_the_kept_host() -> None:
    seen = Evidence()
    fetch(seen, B, "/", "/1", "/2", "/3", "/4")
    fetch(seen, A, "/", "/1", "/2", "/3", "/4", "/5")
    fetch(seen, C, "/", "/1", "/2", "/3", "/4")
    seen.merged(B, A)
    fetch(seen, C, "/5")
    assert ripe(seen) == [(A, C)]


def test_what_was_noticed_is_taken_up_again() -> None:
    before = Evidence()
    fetch(before, A, "/", "/1", "/2")
    fetch(before, B, "/", "/1", "/2", "/own")
    [pair] = before.take_grown()
    again = Evidence()
    again.restore(
        Pair(*pair.hosts, dict(pair.paths)),
        [(host, before.site(host), before.facts(host)) for host in pair.hosts],
    )
    assert again.facts(B) == {"/": None, "/1": None, "/2": None, "/own": None}
    assert not again.take_grown()
    fetch(again, B, "/3", "/4")
    fetch(again, A, "/3", "/4", "/5")
    assert ripe(again) == [(A, B)]


def test_a_page_of_the_sample_is_known_by_what_it_was_last() -> None:
    seen = Evidence()
    fetch(seen, A, "/")
    seen.name(A, "/", "http://first.test/")
    assert seen.facts(A) == {"/": fact("/")._replace(content="http://first.test/")}
    seen.name(A, "/unknown", "x")
    seen.name(B, "/", "x")
    assert seen.site(B) == ""
    assert seen.pages(A) == 1


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MOST_HOSTS", 10)
    monkeypatch.setattr(module, "MOST_PAIRS", 5)
    seen = Evidence()
    for n in range(100):
        host = HostKey(f"h{n}.test")
        fetch(seen, host, *(f"/{page}" for page in range(40)))
        assert len(seen.facts(host)) == SAMPLE
    assert len(seen._samples) == 10
    assert len(seen._pairs) <= 5
    assert sum(map(len, seen._suspects.values())) <= 10
    assert len(seen._holders) <= 10 * SAMPLE
    assert max(map(len, seen._holders.values())) <= module.MOST_HOLDERS
    for pair in (*seen.take_ripe(), *seen.take_grown()):
        assert pair.hosts in seen._pairs


pages = st.lists(
    st.tuples(st.sampled_from([A, B, C]), st.sampled_from([f"/{n}" for n in range(8)])),
    max_size=24,
)


@given(pages, st.randoms(use_true_random=False))
def test_the_order_of_pages_changes_no_count(
    fetched: list[tuple[HostKey, str]], random: Random
) -> None:
    counts = []
    for _ in range(2):
        seen = Evidence()
        for host, path in fetched:
            fetch(seen, host, path)
        counts.append({pair.hosts: sorted(pair.paths) for pair in seen.take_grown()})
        random.shuffle(fetched)
    assert counts[0] == counts[1]


def test_a_host_that_others_fetch_from_some_time_on_is_looked_at_all_the_same() -> None:
    seen = Evidence()
    fetch(seen, A, "/0", "/1")
    fetch(seen, B, *(f"/{number}" for number in range(6)))
    assert not seen.has_ripe
    for number in range(2, 6):
        # As the store tells: the page has the content of another one.
        seen.same(A, B, f"/{number}")
    assert ripe(seen) == [(A, B)]
