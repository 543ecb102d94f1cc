"""Where the tails of long queues are kept, outside of the frontier's memory."""
