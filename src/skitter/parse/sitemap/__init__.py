"""Sitemaps and feeds: the URLs a site lists by itself, read from any bytes, a piece at a time."""
