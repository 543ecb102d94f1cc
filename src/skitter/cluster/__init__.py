"""Who is there, who owns which slots, and how slots change hands."""
