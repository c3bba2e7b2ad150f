"""Records of a window as arrays, and random samples of them."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..group_labels import NEITHER, FloatArray, Groups, IntArray, check_codes

UNCLASSIFIED = 2
"""Outcome that is neither favourable (1) nor unfavourable (0)."""

MAX_FEATURES_OF_FAST_SEARCH = 10
"""With more numeric features the time of a neighbour search grows quadratically."""

MAX_RECORDS = 100_000
MAX_RECORDS_OF_MANY_FEATURES = 20_000
"""Records searched with few features, and with many; of more, a random sample."""

HASH_STEP = np.uint64(0x9E3779B97F4A7C15)
"""Increment of SplitMix64."""


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RowData:
    """Records of one window, one position per record in every array.

    `codes` are positions in `groups` (-1: none), `features` [records, features] numeric, `predicted` and
    `actual` 1 favourable, 0 unfavourable, 2 neither. Rich subgroups are made from `protected` [records,
    attributes]; None: membership of each group.
    """

    groups: Groups
    codes: IntArray
    features: FloatArray
    predicted: IntArray | None
    actual: IntArray | None
    protected: FloatArray | None = None

    def __post_init__(self) -> None:
        codes = check_codes(self.codes, NEITHER, len(self.groups))
        object.__setattr__(self, "codes", codes)
        object.__setattr__(self, "features", _check_numbers(self.features, len(codes), "features"))
        for name in ("predicted", "actual"):
            if getattr(self, name) is not None:
                outcomes = check_codes(getattr(self, name), 0, UNCLASSIFIED + 1)
                if len(outcomes) != len(codes):
                    raise ValueError(
                        f"expected {name} outcomes of {len(codes)} records, found {len(outcomes)}"
                    )
                object.__setattr__(self, name, outcomes)
        if self.protected is not None:
            object.__setattr__(
                self, "protected", _check_numbers(self.protected, len(codes), "protected attributes")
            )

    @property
    def columns(self) -> IntArray:
        """Group [records] of each record; those of no group have the position after the last one."""
        return np.where(self.codes == NEITHER, len(self.groups), self.codes)

    def sample(self, limit: int) -> "RowData":
        """Draws at most `limit` records at random.

        The random numbers come from a record's contents: neither data set, order nor other records matter.
        """
        if len(self.codes) <= limit:
            return self
        outcomes = self.actual if self.predicted is None else self.predicted
        hashes = _add_to_hashes(np.zeros(len(self.codes), np.uint64), self.codes.astype(float))
        for column in (*self.features.T, *(() if outcomes is None else (outcomes.astype(float),))):
            hashes = _add_to_hashes(hashes, column)
        # Equal records draw one by one; their order may depend on their labels alone.
        order = np.lexsort((hashes,) if self.actual is None else (self.actual, hashes))
        is_first = np.diff(hashes[order], prepend=~hashes[order[:1]]) != 0
        ranks = np.arange(len(order))
        ranks_of_equals = np.empty(len(order), float)
        ranks_of_equals[order] = ranks - np.maximum.accumulate(np.where(is_first, ranks, 0))
        sample = np.sort(np.argpartition(_add_to_hashes(hashes, ranks_of_equals), limit)[:limit])
        names = ("codes", "features", "predicted", "actual", "protected")
        columns = {name: getattr(self, name)[sample] for name in names if getattr(self, name) is not None}
        return replace(self, **columns)


def _check_numbers(values: ArrayLike, records: int, noun: str) -> FloatArray:
    array = np.asarray(values, float)
    if array.ndim != 2 or len(array) != records:  # noqa: PLR2004 - rows and columns
        raise ValueError(f"expected {noun} of {records} records, found shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"expected {noun} that are finite numbers")
    return array


def _add_to_hashes(hashes: NDArray[np.uint64], numbers: FloatArray) -> NDArray[np.uint64]:
    """Adds a number to the hash of each record, spread over all 64 bits (the finalizer of SplitMix64)."""
    # Turns negative zero, which has other bits, into zero.
    bits = (hashes + HASH_STEP) ^ (numbers + 0.0).view(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return bits ^ (bits >> np.uint64(31))


def count_searchable_records(features: int) -> int:
    """Records whose neighbours are searched by so many features."""
    return MAX_RECORDS if features <= MAX_FEATURES_OF_FAST_SEARCH else MAX_RECORDS_OF_MANY_FEATURES
