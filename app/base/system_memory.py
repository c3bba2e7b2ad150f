"""Loaded before PyArrow: its own pool of memory reserves a gigabyte, which a limit would count."""

import os

os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
