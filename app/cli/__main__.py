"""`python -m app.cli` is the command `evenhand`."""

from app.cli import main

main()
