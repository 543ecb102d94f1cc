"""Bringing one response: sockets, names, caps, codings and faults, and no policy."""

__all__: list[str] = []
