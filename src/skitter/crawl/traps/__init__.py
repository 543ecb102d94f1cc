"""Endless parts of a site: how they are told from real ones, and what was cut."""
