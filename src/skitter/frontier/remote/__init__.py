"""The frontier of another process: a master serves its store, children use it over HTTP."""
