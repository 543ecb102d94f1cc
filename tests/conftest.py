"""What holds for all tests: other processes may be testing on the same cores."""

from hypothesis import settings

# How long one example takes says more about the machine than about the code.
settings.register_profile("skitter", deadline=None)
settings.load_profile("skitter")

pytest_plugins = ["browser_fixtures"]
