"""``python -m bench`` runs the comparison."""

import sys

from bench.run import main

sys.exit(main())
