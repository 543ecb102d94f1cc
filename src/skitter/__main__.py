"""``python -m skitter`` is the ``skitter`` command."""

from skitter.cli.main import main

main()
