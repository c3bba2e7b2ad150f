"""Evenhand: the open service that watches deployed models for unfairness. See docs/ARCHITECTURE.md."""
