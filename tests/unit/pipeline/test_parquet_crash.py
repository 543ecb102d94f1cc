"""The process dies between any two things it asks of the system: no row is lost or there twice."""

import os
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from outputs import batch_of, page, read_parquet

from skitter.pipeline.parquet import ParquetSink
from skitter.pipeline.parquet_table import GroupSize
from skitter.pipeline.record import PageRecord

CALLS = ("replace", "unlink", "mkdir", "rmdir", "fsync", "fdatasync", "pwrite", "ftruncate", "open")


@pytest.fixture(autouse=True)
def _a_quick_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a process has written outlives it, synced or not."""
    for name in ("fsync", "fdatasync"):
        monkeypatch.setattr(os, name, lambda _: None)


class SmallSink(ParquetSink):
    """Seals after four rows."""

    GROUP = GroupSize(rows=4, bytes=1 << 20)


class Died(BaseException):
    """The process is gone; nothing catches this."""


class Mortal:
    """Lets the process die at its ``at``-th call of the system, for good."""

    def __init__(self, at: int) -> None:
        self._left = at
        self.dead = False

    def guard(self, patch: pytest.MonkeyPatch) -> None:
        for name in CALLS:
            patch.setattr(os, name, self._mortal(getattr(os, name)))

    def _mortal(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **options: Any) -> Any:
            self._left -= 1
            # What a dead process would do in its clean-up it does not do either.
            if self.dead or self._left < 0:
                self.dead = True
                raise Died
            return real(*args, **options)

        return call


class Life:
    """One crawl's sink over many processes; knows what was promised."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.safe: list[PageRecord] = []
        """What the mark covers."""
        self._mark: bytes | None = None
        self._written: list[PageRecord] = []
        self._runs = 0
        self._sink = SmallSink(path)

    def open(self) -> None:
        self._runs += 1
        self._sink = SmallSink(self.path, overwrite=self._mark is None)
        self._mark = self._sink._begin(self._mark)
        self._written = list(self.safe)

    def write(self, rows: int, *, acked: bool = True) -> None:
        """Write rows; what is not acked is fetched again after a crash and looks different then."""
        first = len(self._written)
        records = [page(first + n, etag=f"run {self._runs}") for n in range(rows)]
        mark = self._sink._put(batch_of(records))
        self._written += records
        if acked:
            self._mark, self.safe = mark, list(self._written)

    def close(self) -> None:
        self._sink._end()

    def die(self) -> None:
        """Give back what the system takes back from a dead process."""
        self._sink._release()

    def found(self) -> list[PageRecord]:
        """Return what a new process completes the file to."""
        self.open()
        self.close()
        assert [left.name for left in self.path.parent.iterdir()] == [self.path.name]
        return read_parquet(self.path)


def script(life: Life) -> Iterator[None]:
    """Go through everything a sink can do; yields between steps."""
    life.open()
    for rows in (3, 3, 4):
        life.write(rows)
        yield
    life.close()
    yield
    life.open()
    for rows in (2, 2):
        life.write(rows)
        yield
    for _ in range(9):
        life.write(1, acked=False)
    yield
    # The rows that nobody acked are joined into the file, and cut from it by who comes next.
    life.close()
    yield
    life.open()
    life.write(4)
    life.write(4, acked=False)
    life.write(1, acked=False)
    life.die()
    yield
    # The same with parts.
    life.open()
    life.write(3)
    life.close()


def live_on(life: Life) -> None:
    """Go on for a while, and die again, so that what a crash left behind can do its harm.

    Row by row, as the script does it at its end: so the new parts have the names of old ones.
    """
    life.open()
    for _ in range(6):
        life.write(1)
    life.die()


def died_at(step: int, life: Life) -> bool:
    mortal = Mortal(step)
    with pytest.MonkeyPatch.context() as patch:
        mortal.guard(patch)
        try:
            for _ in script(life):
                pass
        except Died:
            return True
    return False


@pytest.mark.parametrize("ways", range(6))
def test_a_crash_at_any_step_loses_nothing_and_repeats_nothing(tmp_path: Path, ways: int) -> None:
    """The steps are dealt out to several tests, so that one does not take long."""
    steps = 0
    for step in count(ways, 6):
        place = tmp_path / str(step)
        place.mkdir()
        life = Life(place / "pages.parquet")
        dead = died_at(step, life)
        life.die()
        live_on(life)
        assert life.found() == life.safe, step
        steps += 1
        if not dead:
            break
    assert steps > 15


@pytest.mark.parametrize("second", range(0, 24, 6))
def test_a_second_crash_while_the_first_is_repaired_changes_nothing(
    tmp_path: Path, second: int
) -> None:
    for step in range(40, 160, 13):
        place = tmp_path / str(step)
        place.mkdir()
        life = Life(place / "pages.parquet")
        died_at(step, life)
        life.die()
        mortal = Mortal(second)
        with pytest.MonkeyPatch.context() as patch:
            mortal.guard(patch)
            try:
                life.open()
                life.close()
            except Died:
                pass
        life.die()
        live_on(life)
        assert life.found() == life.safe, (step, second)


STEPS = st.one_of(
    st.tuples(st.just("write"), st.integers(1, 6)),
    st.tuples(st.just("write unacked"), st.integers(1, 6)),
    st.tuples(st.just("close"), st.just(0)),
    st.tuples(st.just("die"), st.just(0)),
)


@settings(
    max_examples=20,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(steps=st.lists(STEPS, max_size=12))
def test_whatever_happens_in_whatever_order_the_acked_rows_are_there(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, int]]
) -> None:
    life = Life(tmp_path_factory.mktemp("sink") / "pages.parquet")
    life.open()
    for what, rows in steps:
        if what.startswith("write"):
            # A mark covers what was written before it, acked or not.
            life.write(rows, acked=what == "write")
        elif what == "close":
            life.close()
            life.open()
        elif what == "die":
            life.die()
            life.open()
    life.die()
    assert life.found() == life.safe
