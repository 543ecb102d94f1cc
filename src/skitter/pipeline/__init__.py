"""What becomes of records: the sink seam and the sinks behind it."""
