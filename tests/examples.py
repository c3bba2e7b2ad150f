"""The number of examples that property tests try."""

import os

QUICK = "EVENHAND_QUICK_EXAMPLES"
"""Set by `scripts/test` and `--all`: a quarter of the examples, for a person or a change that waits. `--nightly` tries every one."""


def many(examples: int) -> int:
    """Returns how many of these examples to try."""
    return max(1, examples // 4) if os.environ.get(QUICK) else examples
