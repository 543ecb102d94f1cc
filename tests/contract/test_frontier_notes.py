"""The page index: notes of many URLs at once, and what it keeps of redirect hops."""

from collections.abc import AsyncIterator
from pathlib import Path

import msgspec
import pytest
from frontier_backends import (
    BACKENDS,
    FAR_HOST,
    HOST,
    MANY_HOSTS,
    OTHER_HOST,
    Rig,
    fingerprint,
    open_rig,
    path_of,
)

from skitter.frontier.model import Hop, Link, Result, UrlState, is_pointer, pointed_url, pointer_to
from skitter.testing.virtual_clock import VirtualClock

NOTE = b'{"url":"https://www.example.com/a"}'


@pytest.fixture(params=sorted(BACKENDS))
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    backend = BACKENDS[request.param](tmp_path, VirtualClock())
    yield await open_rig(backend)
    await backend.close()


def hop_to(link: Link) -> Hop:
    return Hop(link.fp, link.host)


async def note_of(rig: Rig, link: Link) -> bytes:
    note = await rig.store.note(link.job, link.host, link.fp)
    assert await rig.store.notes_of([(link.job, link.host, link.fp)]) == [note]
    return note


async def all_notes(rig: Rig, limit: int = 500) -> list[bytes]:
    found: list[bytes] = []
    notes, after = await rig.store.notes(rig.job, b"", limit)
    found += notes
    while after:
        notes, after = await rig.store.notes(rig.job, after, limit)
        found += notes
    return sorted(found)


async def redirected(rig: Rig, *hops: Link, note: bytes = NOTE) -> None:
    """Let a page come by way of hops."""
    await rig.offer("a")
    rig.tick(1)
    await rig.end(await rig.take_one(), note=note, hops=[hop_to(hop) for hop in hops])


async def test_notes_of_many_urls_come_in_their_order(rig: Rig) -> None:
    other = await rig.add_job("job-2")
    links = [rig.link("a", host) for host in MANY_HOSTS[:6]]
    links += [rig.link("b", MANY_HOSTS[0]), rig.link("a", MANY_HOSTS[1], job=other)]
    await rig.offer(*links)
    expected: dict[tuple[int, str, str], bytes] = {}
    for _ in range(4):
        for lease in await rig.take():
            note = f'{{"n":"{lease.job} {lease.url}"}}'.encode()
            expected[lease.job, lease.host, path_of(lease)] = note
            await rig.end(lease, note=note)
        rig.tick(1)
    assert len(expected) == len(links)
    unknown = [rig.link("never", MANY_HOSTS[2]), rig.link("never", FAR_HOST)]
    asked = [*links[::-1], *unknown, links[0]]
    notes = await rig.store.notes_of([(link.job, link.host, link.fp) for link in asked])
    assert notes == [expected.get((link.job, link.host, path_of(link)), b"") for link in asked]
    assert await rig.store.notes_of([]) == []


async def test_a_hop_points_to_the_url_that_led_there(rig: Rig) -> None:
    near, far = rig.link("b"), rig.link("final", FAR_HOST)
    await redirected(rig, near, far)
    for hop in (near, far):
        note = await note_of(rig, hop)
        assert is_pointer(note)
        assert pointed_url(note) == rig.link("a").url
        sighting = await rig.look(hop)
        assert (sighting.state, sighting.note) == (UrlState.DONE, note)
    assert await note_of(rig, rig.link("a")) == NOTE
    assert not is_pointer(NOTE)


async def test_pointers_outlive_a_crash(rig: Rig) -> None:
    await redirected(rig, rig.link("final", FAR_HOST))
    await rig.crash()
    assert await note_of(rig, rig.link("final", FAR_HOST)) == pointer_to(rig.link("a").url)


async def test_a_list_of_notes_has_no_pointers(rig: Rig) -> None:
    hops = [rig.link(f"hop-{n}", host) for n in range(5) for host in (HOST, OTHER_HOST, FAR_HOST)]
    await redirected(rig, *hops)
    await rig.offer("c")
    rig.tick(1)
    await rig.end(await rig.take_one(), note=b'{"url":"c"}')
    assert await all_notes(rig) == sorted([NOTE, b'{"url":"c"}'])
    assert await all_notes(rig, limit=1) == sorted([NOTE, b'{"url":"c"}'])


async def test_a_note_of_its_own_is_not_replaced_by_a_pointer(rig: Rig) -> None:
    target = rig.link("b", OTHER_HOST)
    await rig.offer(target)
    await rig.end(await rig.take_one(), note=b'{"url":"b"}')
    await redirected(rig, target, rig.link("a"))
    assert await note_of(rig, target) == b'{"url":"b"}'
    assert await note_of(rig, rig.link("a")) == NOTE, "a URL that redirects to itself"


async def test_a_note_of_its_own_takes_the_place_of_a_pointer(rig: Rig) -> None:
    target = rig.link("b", OTHER_HOST)
    await redirected(rig, target)
    assert await rig.store.forget(target.job, target.host, target.fp)
    await rig.offer(target)
    rig.tick(1)
    await rig.end(await rig.take_one(), note=b'{"url":"b"}')
    assert await note_of(rig, target) == b'{"url":"b"}'


async def test_a_target_that_was_offered_meanwhile_gets_its_pointer(rig: Rig) -> None:
    await rig.offer("a")
    lease = await rig.take_one()
    target = rig.link("b", OTHER_HOST)
    assert await rig.store.enter(lease, target.host, target=target.fp) == 0
    await rig.offer(target)
    await rig.end(lease, note=NOTE, hops=[hop_to(target)])
    for _ in range(3):
        rig.tick(1)
        assert await rig.take() == []
    assert (await rig.look(target)).state is UrlState.DONE
    assert await note_of(rig, target) == pointer_to(lease.url)


async def test_a_visit_that_leaves_no_note_leaves_no_pointer(rig: Rig) -> None:
    target = rig.link("b", FAR_HOST)
    await redirected(rig, target, note=b"")
    assert await note_of(rig, target) == b""


async def test_the_hops_of_another_try_are_not_known_yet(rig: Rig) -> None:
    target = rig.link("b", FAR_HOST)
    await rig.offer("a")
    await rig.end(
        await rig.take_one(), Result.RETRY, at_ms=rig.now_ms + 9, note=NOTE, hops=[hop_to(target)]
    )
    assert await note_of(rig, target) == b""


async def test_a_dropped_job_takes_its_pointers_with_it(rig: Rig) -> None:
    await redirected(rig, rig.link("b"), rig.link("final", FAR_HOST))
    await rig.store.drop_job(rig.job)
    fp = fingerprint(f"https://{FAR_HOST}/final")
    assert await rig.store.notes_of([(rig.job, FAR_HOST, fp)]) == [b""]


async def test_a_url_that_is_visited_again_keeps_its_note_until_then(rig: Rig) -> None:
    link = rig.link("a")
    await rig.offer(link)
    await rig.end(await rig.take_one(), note=NOTE)
    assert await rig.store.forget(rig.job, link.host, link.fp, again=True)
    assert await note_of(rig, link) == NOTE
    assert (await rig.look(link)).state is UrlState.UNKNOWN
    await rig.offer(msgspec.structs.replace(link, visit=2))
    assert (await rig.store.counts(rig.job)).offered == 1
    assert not await rig.store.forget(rig.job, link.host, link.fp, again=True)
    rig.tick(1)
    lease = await rig.take_one()
    assert lease.visit == 2
    assert not await rig.store.forget(rig.job, link.host, link.fp, again=True)
    await rig.end(lease, note=b'{"visit":2}')
    assert await note_of(rig, link) == b'{"visit":2}'
    assert (await rig.store.counts(rig.job)).done == 1


async def test_a_url_that_was_given_up_may_be_visited_again(rig: Rig) -> None:
    link = rig.link("a")
    await rig.offer(link)
    await rig.end(await rig.take_one(), Result.DEAD, note=NOTE)
    assert await rig.store.forget(rig.job, link.host, link.fp, again=True)
    assert (await rig.offer(link)).new == 1
    assert (await rig.store.counts(rig.job)).dead == 0


async def test_marks_of_many_names_are_read_at_once(rig: Rig) -> None:
    await rig.store.ack([], marks={"robots:https://a.test": b"1", "other": b"2"})
    names = ["other", "robots:https://b.test", "robots:https://a.test"]
    assert await rig.store.marks_of(names) == [b"2", None, b"1"]
    assert await rig.store.marks_of([]) == []
