"""Events sent to receivers: signed, tried again, nothing lost over a restart."""
