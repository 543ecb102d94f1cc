"""Where URLs wait: the protocol, its records, and the stores behind it."""
