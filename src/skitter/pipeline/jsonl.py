"""JSON lines in one file, exactly once."""

from skitter.pipeline.appending import AppendingSink
from skitter.pipeline.base import SINK_MARKS, Batch


class JsonlSink(AppendingSink):
    """Appends the records' own lines."""

    MARK_PREFIX = f"{SINK_MARKS}jsonl:"

    def _rows(self, batch: Batch) -> bytes:
        return b"".join(batch.lines)
