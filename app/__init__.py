"""Evenhand: the open service that watches deployed models for unfairness. See docs/ARCHITECTURE.md."""

VERSION = "0.1.0"
"""Of the program; the package is built with it."""
