"""All kinds of sink hold the same after the same batches, by the word of other people's readers."""

from pathlib import Path

import duckdb
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from outputs import READERS, batch_of, page, read_output

from skitter.pipeline.record import PageRecord
from skitter.pipeline.sinks import make_sink

TEXTS = st.none() | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(batches=st.lists(st.lists(st.tuples(TEXTS, TEXTS), max_size=4), max_size=5))
async def test_all_kinds_hold_the_same(
    tmp_path: Path, batches: list[list[tuple[str | None, str | None]]]
) -> None:
    paths = [tmp_path / f"pages{ending}" for ending in READERS]
    sinks = [make_sink(path, durable=False, overwrite=True) for path in paths]
    for sink in sinks:
        await sink.open(None)
    written: list[PageRecord] = []
    for texts in batches:
        records = [
            page(len(written) + n, title=title, text=text) for n, (title, text) in enumerate(texts)
        ]
        written += records
        for sink in sinks:
            await sink.write(batch_of(records))
    for sink in sinks:
        await sink.close()
    assert [read_output(path) for path in paths] == [written] * len(paths)


async def test_duckdb_says_so_too(tmp_path: Path) -> None:
    paths = {ending: tmp_path / f"pages{ending}" for ending in (".jsonl", ".csv", ".parquet")}
    for path in paths.values():
        sink = make_sink(path)
        await sink.open(None)
        await sink.write(batch_of([page(n) for n in range(300)]))
        await sink.close()
    answers = [
        duckdb.connect()
        .execute(
            "SELECT url, title, status, bytes, changed, truncated,"
            f" epoch_ms(fetched_at::TIMESTAMPTZ) FROM '{path}' ORDER BY url"
        )
        .fetchall()
        for path in paths.values()
    ]
    assert len(answers[0]) == 300
    assert answers[0] == answers[1] == answers[2]
