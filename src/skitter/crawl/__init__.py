"""The crawl: one URL's life, many at once, and when it all ends."""
