"""Loaded before PyArrow, lets it take memory from the system: its own pool reserves a gigabyte, which a
limit would count.
"""

import os

os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
