"""Where the page index is kept, outside of the frontier's memory."""
