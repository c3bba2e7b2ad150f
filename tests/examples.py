"""The number of examples that property tests try."""

import os

QUICK = "EVENHAND_QUICK_EXAMPLES"
"""Set by `scripts/test` without arguments: a quarter of the examples, for a developer who waits. CI and `--all` try every one."""


def many(examples: int) -> int:
    """Returns how many of these examples to try."""
    return max(1, examples // 4) if os.environ.get(QUICK) else examples
