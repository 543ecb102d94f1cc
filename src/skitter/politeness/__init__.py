"""Whether a URL may be fetched and how soon; pure state and decisions, no sockets."""
