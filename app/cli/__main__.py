"""`python -m app.cli` is the command `evenhand`."""

from . import main

main()
