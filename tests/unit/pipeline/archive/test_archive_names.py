"""Names of archive files."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from skitter.pipeline.archive.names import own_files, safe_name, serial_of, warc_files, warc_name

IDS = st.text(max_size=130) | st.text("ab./-_~", min_size=1, max_size=130)


@given(IDS, IDS)
def test_two_jobs_never_share_a_name(one: str, other: str) -> None:
    assert (safe_name(one) == safe_name(other)) is (one == other)
    assert serial_of(warc_name(one, 7, "gzip"), one) == 7
    assert len(warc_name(one, 7, "gzip")) < 200


def test_long_ids_that_differ_at_their_end_have_files_of_their_own(tmp_path: Path) -> None:
    one, other = "j" * 127 + "1", "j" * 127 + "2"
    for job in (one, other):
        (tmp_path / warc_name(job, 0, "gzip")).touch()
    assert len(list(tmp_path.iterdir())) == 2
    for job in (one, other):
        assert [path.name for path in warc_files(tmp_path, job)] == [warc_name(job, 0, "gzip")]
        assert [own.path.name for own in own_files(tmp_path, job)] == [warc_name(job, 0, "gzip")]
