"""The REST API as Python values, and clients that speak to it."""
