"""Every call of the REST API, described once for all clients."""
