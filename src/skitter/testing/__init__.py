"""Published fakes for tests of code that uses Skitter."""
