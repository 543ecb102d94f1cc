"""The service as Prometheus sees it."""
