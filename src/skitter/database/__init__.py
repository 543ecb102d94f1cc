"""Databases: their URLs, one connection to PostgreSQL, and what went wrong, in words."""
