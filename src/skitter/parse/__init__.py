"""From bytes to facts: encoding, one tree, links and metadata; pure, without I/O."""
