"""Skitter: a distributed web crawler with a durable frontier."""

__version__ = "0.1.0"

__all__ = ["__version__"]
