"""What a job's rules take of a page: fields, the items of a list, and the links they lead to."""
