"""The manager of one machine: which workers it is to run, their processes, and orders from afar."""
