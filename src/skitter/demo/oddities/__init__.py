"""The cabinet of odd pages: everything a crawler meets in the wild, one page each."""
