"""The pages that people look at, on the same app and through the public API alone."""
