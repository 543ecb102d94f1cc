"""The files of a job: opened where they were left, and never mixed up with others."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from states import State, site_job

from skitter.config import RunOptions
from skitter.errors import ConfigError
from skitter.frontier.model import Ack, JobEntry, Result
from skitter.pipeline.archive.writer import Archive
from skitter.wiring.answers import archive_paths, output_paths
from skitter.wiring.assembly import Assembly
from skitter.wiring.files import open_sinks, refuse_other_archive
from skitter.wiring.parts import make_archive, make_sinks
from skitter.wiring.running import local_store
from skitter.wiring.store import Store


@pytest.fixture
async def state(tmp_path: Path) -> AsyncIterator[State]:
    async with State(tmp_path / "state") as opened:
        yield opened


@pytest.fixture
def store(state: State) -> Store:
    return local_store(state.frontier, shared=False)


def archive_in(path: Path) -> Archive:
    made = make_archive(site_job(), RunOptions(data=path, warc=path))
    assert isinstance(made, Archive)
    return made


async def write_to(state: State, store: Store, *paths: Path) -> list[Path]:
    """Open outputs as a run does, and close them; answers those that have a mark."""
    async with AsyncExitStack() as stack:
        sinks = make_sinks(RunOptions(data=Path(), out=paths))
        await open_sinks(stack, store, state.number, sinks)
    return [Path(name) for name in await output_paths(store.reader, state.number)]


async def visit(state: State) -> None:
    """End a visit, as a crawl that has begun has done."""
    await state.frontier.offer([state.link("/")])
    grants = await state.frontier.own("member", range(1))
    [lease] = (await state.frontier.claim(grants, 1)).leases
    await state.frontier.ack([Ack(lease, Result.DONE, tally=(("pages", 1),))])


async def archive(state: State, store: Store, path: Path) -> list[str]:
    """Open an archive as a run does; answers the directories that are known from then on."""
    options = RunOptions(data=path.parent, warc=path)
    assembly = Assembly(state.job, state.number, options, store)
    await assembly.open(lambda _: None)
    await assembly.close()
    return await archive_paths(store.reader, state.number)


async def test_outputs_are_known_from_the_moment_in_which_they_were_opened(
    state: State, store: Store, tmp_path: Path
) -> None:
    places = [tmp_path / "a.jsonl", tmp_path / "b.csv"]
    assert await write_to(state, store, *places) == places
    assert await write_to(state, store, *reversed(places)) == places


@pytest.mark.parametrize("others", [["a.jsonl", "c.jsonl"], ["c.jsonl"], []])
async def test_other_outputs_are_refused(
    state: State, store: Store, tmp_path: Path, others: list[str]
) -> None:
    await write_to(state, store, tmp_path / "a.jsonl")
    with pytest.raises(ConfigError, match=rf"this crawl writes to {tmp_path}/a\.jsonl"):
        await write_to(state, store, *(tmp_path / name for name in others))


async def test_a_second_job_in_the_store_has_outputs_of_its_own(
    state: State, store: Store, tmp_path: Path
) -> None:
    await write_to(state, store, tmp_path / "a.jsonl")
    first, state.number = state.number, await state.frontier.put_job(second_entry(state))
    assert await write_to(state, store, tmp_path / "b.jsonl") == [tmp_path / "b.jsonl"]
    assert await output_paths(store.reader, first) == [str(tmp_path / "a.jsonl")]


def second_entry(state: State) -> JobEntry:
    return JobEntry(id="second", spec=state.job.to_json())


# The archive


async def test_a_crawl_that_was_killed_while_it_was_opened_goes_on_with_its_archive(
    state: State, store: Store, tmp_path: Path
) -> None:
    """The outputs are known by then and the archive is not; nothing was fetched yet."""
    await write_to(state, store, tmp_path / "a.jsonl")
    await refuse_other_archive(store, state.number, archive_in(tmp_path / "warc"))


async def test_a_crawl_that_began_without_an_archive_gets_none(
    state: State, store: Store, tmp_path: Path
) -> None:
    await write_to(state, store, tmp_path / "a.jsonl")
    await visit(state)
    await refuse_other_archive(store, state.number, None)
    with pytest.raises(ConfigError, match=f"--warc {tmp_path}/warc: .* begun with no archive"):
        await refuse_other_archive(store, state.number, archive_in(tmp_path / "warc"))


@pytest.mark.parametrize("begun", [True, False])
async def test_an_archive_stays_where_it_is(
    state: State, store: Store, tmp_path: Path, begun: bool
) -> None:
    place = tmp_path / "warc"
    assert await archive(state, store, place) == [str(place)]
    if begun:
        await visit(state)
    await refuse_other_archive(store, state.number, archive_in(place))
    with pytest.raises(ConfigError, match=f"begun with {place}; go on with that"):
        await refuse_other_archive(store, state.number, archive_in(tmp_path / "other"))
    with pytest.raises(ConfigError, match=f"this crawl is archived in {place}"):
        await refuse_other_archive(store, state.number, None)


async def test_the_archives_of_several_members_are_one_directory_each(
    state: State, store: Store, tmp_path: Path
) -> None:
    for member in ("one", "two"):
        named = replace(store, member=member)
        assert await archive(state, named, tmp_path / "warc") == [str(tmp_path / "warc")]
    names = await state.frontier.marks(f"job:{state.number}:archive:")
    assert len(names) == 2, "each member goes on from a mark of its own"
