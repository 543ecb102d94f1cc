"""Which URLs are known: exactly, by rows on disk, or nearly, by a Bloom filter in a mapped file."""
