from collections.abc import Iterable, Sequence

import numpy as np

from app.metrics import GroupCounts
from app.metrics.groups import as_groups


def count_groups(groups: Iterable[Sequence[str]], counts: Iterable[Sequence[int]]) -> GroupCounts:
    """A table of (unfavourable, favourable) records per group, and of no others."""
    cells = np.array(list(counts), np.int64).reshape(-1, 2)
    return GroupCounts(as_groups(groups), np.pad(cells, ((0, 1), (0, 1))))
