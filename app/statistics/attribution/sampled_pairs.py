"""Pairs of one monitored and one reference record each."""

import numpy as np

from ...base.frozen import frozen_arrays
from ..group_labels import IntArray


@frozen_arrays
class RecordPairs:
    """Pairs by the positions of their records, `monitored` [pairs] and `reference` [pairs].

    `units` [pairs] is resampled for an interval: the pair, or the scarcer group's record if it is used
    more than once.
    """

    monitored: IntArray
    reference: IntArray
    units: IntArray

    def __len__(self) -> int:
        return len(self.units)

    @property
    def are_reused(self) -> bool:
        return len(np.unique(self.units)) < len(self)


def count_pairs(monitored: int, reference: int, limit: int) -> int:
    """Number of pairs: at most as many as the larger group has records, 0 if one group is empty."""
    return min(limit, max(monitored, reference)) if min(monitored, reference) > 0 else 0


def draw_pairs(monitored: int, reference: int, limit: int, rng: np.random.Generator) -> RecordPairs:
    """At most `limit` random pairs.

    The larger group's records are used once at most, the scarcer one's about equally often.
    """
    # More pairs would reuse records of both groups, and no resampling of one would be right.
    size = count_pairs(monitored, reference, limit)
    of_monitored, of_reference = (_draw(group, size, rng) for group in (monitored, reference))
    scarcer = of_monitored if monitored < reference else of_reference
    return RecordPairs(
        of_monitored, of_reference, units=np.arange(size) if size <= min(monitored, reference) else scarcer
    )


def _draw(group: int, size: int, rng: np.random.Generator) -> IntArray:
    # Whole shuffles, so that no record is used twice more often than another.
    shuffles = [rng.permutation(group) for _ in range(-(-size // group))] if size else []
    return np.concatenate([np.empty(0, int), *shuffles])[:size].astype(int)
