"""One module for each subject of the REST API; each has its ``router``."""
