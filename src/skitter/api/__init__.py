"""The service: the REST API over HTTP."""
