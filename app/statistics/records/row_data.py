"""Records of a window, as the metrics of records need them."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..group_labels import NEITHER, FloatArray, Groups, IntArray, check_codes

UNCLASSIFIED = 2
"""Outcome code that is neither favourable (1) nor unfavourable (0)."""

FEW_FEATURES = 10
"""Max numeric features for a fast neighbour search; beyond, its time grows quadratically."""

MOST_RECORDS = 100_000
MOST_RECORDS_OF_MANY_FEATURES = 20_000
"""Max records searched with few features, and with many; of more, a random sample."""

SPREAD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RowData:
    """Records of one window, one position per record in every array.

    `codes` are positions in `groups` (-1: none), `features` [records, features] numeric, `predicted` and
    `actual` 1 favourable, 0 unfavourable, 2 neither. Rich subgroups are made from `protected` [records,
    attributes]; None: membership of each group.

    Raises:
        ValueError: an array has another length, a code or an outcome is unknown, or a feature is missing
    or infinite.
    """

    groups: Groups
    codes: IntArray
    features: FloatArray
    feature_names: tuple[str, ...] = ()
    predicted: IntArray | None
    actual: IntArray | None
    protected: FloatArray | None = None

    def __post_init__(self) -> None:
        codes = check_codes(self.codes, NEITHER, len(self.groups))
        object.__setattr__(self, "codes", codes)
        object.__setattr__(self, "features", _check_numbers(self.features, len(codes), "features"))
        if self.feature_names and len(self.feature_names) != self.features.shape[1]:
            raise ValueError(
                f"expected a name for each of {self.features.shape[1]} features, found "
                f"{len(self.feature_names)}"
            )
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
        """Groups' positions, with ungrouped records after the last group."""
        return np.where(self.codes == NEITHER, len(self.groups), self.codes)

    def sampled(self, limit: int) -> "RowData":
        """Same records, or a random sample of `limit`.

        Random numbers come from the record's contents: neither data set, order nor other records matter.
        """
        if len(self.codes) <= limit:
            return self
        # From features, group and prediction (or label).
        outcomes = self.actual if self.predicted is None else self.predicted
        lots = _mix(np.zeros(len(self.codes), np.uint64), self.codes.astype(float))
        for column in (*self.features.T, *(() if outcomes is None else (outcomes.astype(float),))):
            lots = _mix(lots, column)
        # Equal records draw one by one; their order may depend on their labels alone.
        order = np.lexsort((lots,) if self.actual is None else (self.actual, lots))
        is_first = np.diff(lots[order], prepend=~lots[order[:1]]) != 0
        ranks = np.arange(len(order))
        nth = np.empty(len(order), float)
        nth[order] = ranks - np.maximum.accumulate(np.where(is_first, ranks, 0))
        sample = np.sort(np.argpartition(_mix(lots, nth), limit)[:limit])
        names = ("codes", "features", "predicted", "actual", "protected")
        columns = {name: getattr(self, name)[sample] for name in names if getattr(self, name) is not None}
        return replace(self, **columns)


def _mix(lots: NDArray[np.uint64], numbers: FloatArray) -> NDArray[np.uint64]:
    """Mixes the numbers in, evenly over all 64 bits (the finalizer of SplitMix64)."""
    # Turns negative zero, which has other bits, into zero.
    bits = (lots + SPREAD) ^ (numbers + 0.0).view(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return bits ^ (bits >> np.uint64(31))


def most_records(features: int) -> int:
    """Max records searched for neighbours, by the number of features."""
    return MOST_RECORDS if features <= FEW_FEATURES else MOST_RECORDS_OF_MANY_FEATURES


def _check_numbers(values: ArrayLike, records: int, what: str) -> FloatArray:
    array = np.asarray(values, float)
    if array.ndim != 2 or len(array) != records:  # noqa: PLR2004 - rows and columns
        raise ValueError(f"expected {what} of {records} records, found shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"expected {what} that are finite numbers")
    return array
