"""The only place where concrete classes meet."""
