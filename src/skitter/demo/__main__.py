"""``python -m skitter.demo`` serves the demo web."""

import sys

from skitter.demo.server import main

sys.exit(main())
