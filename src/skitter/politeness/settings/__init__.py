"""What an operator says of sites while a crawl runs: a versioned table by host pattern."""
