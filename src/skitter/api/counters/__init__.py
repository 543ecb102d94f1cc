"""Counters of the store, as windows and series that people read."""
