"""The frontier on RocksDB, in this process: the default, with nothing to install."""
