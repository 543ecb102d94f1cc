"""What a running crawl shows of itself."""
