"""What a user asked for: the job, where it comes from, and its seeds."""
