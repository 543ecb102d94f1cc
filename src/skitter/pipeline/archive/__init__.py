"""The web archive: WARC files with an index beside them, written and read back."""
