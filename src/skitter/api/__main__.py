"""``python -m skitter.api``: the process of the service, started by ``skitter up``."""

import sys
from importlib import import_module

from skitter.garbage import expect_loading

if __name__ == "__main__":
    expect_loading()
    sys.exit(import_module("skitter.api.process").main())
