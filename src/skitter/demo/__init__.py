"""A small web on loopback with known contents: for trying Skitter out, for tests and the bench."""
