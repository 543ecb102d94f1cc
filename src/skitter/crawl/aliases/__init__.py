"""Sites that have several names, or copies elsewhere: recognised, crawled under one name."""
