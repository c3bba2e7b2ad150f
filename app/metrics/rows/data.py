"""The records of a window as the metrics of records need them: features, outcomes and groups, record by record."""

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from app.metrics.groups import NEITHER, FloatArray, Groups, IntArray, checked_codes

UNCLASSIFIED = 2
"""The outcome code of a record whose outcome is neither favourable (1) nor unfavourable (0)."""

FEW_FEATURES = 10
"""With more numeric features than this a search for neighbours looks at nearly every record, and its time grows with the square."""

MOST_RECORDS = 100_000
MOST_RECORDS_OF_MANY_FEATURES = 20_000
"""How many records are looked at where there are few features, and where there are many; of more, so many are drawn by lot."""

SPREAD = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RowData:
    """Records of one window, a position in every array for each.

    `codes` say in which of `groups` a record is (-1: none), `features` [records, features] are the numeric ones, `predicted` and
    `actual` outcomes are 1 favourable, 0 unfavourable, 2 neither. `protected` [records, attributes] are what rich subgroups are
    made of; None means membership of each group, as 0 or 1.

    Raises:
        ValueError: an array has another length, a code or an outcome is unknown, or a feature is missing or infinite.
    """

    groups: Groups
    codes: IntArray
    features: FloatArray
    feature_names: tuple[str, ...] = ()
    predicted: IntArray | None = None
    actual: IntArray | None = None
    protected: FloatArray | None = None

    def __post_init__(self) -> None:
        codes = checked_codes(self.codes, NEITHER, len(self.groups))
        object.__setattr__(self, "codes", codes)
        object.__setattr__(self, "features", _numbers(self.features, len(codes), "features"))
        if self.feature_names and len(self.feature_names) != self.features.shape[1]:
            raise ValueError(f"expected a name for each of {self.features.shape[1]} features, found {len(self.feature_names)}")
        for name in ("predicted", "actual"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _outcomes(getattr(self, name), len(codes), name))
        if self.protected is not None:
            object.__setattr__(self, "protected", _numbers(self.protected, len(codes), "protected attributes"))

    @property
    def columns(self) -> IntArray:
        """The groups' positions, the records of no group standing behind the last one."""
        return np.where(self.codes == NEITHER, len(self.groups), self.codes)

    def sampled(self, most: int) -> "RowData":
        """The same records, or so many of them drawn by lot.

        The lot is of what is in a record, so neither the data set, the order of the records nor what else was logged matters:
        of two sets of the same records the same are drawn, and of more records fewer of those drawn before.
        """
        if len(self.codes) <= most:
            return self
        kept = np.sort(np.argpartition(self._lots(), most)[:most])
        return replace(
            self,
            codes=self.codes[kept],
            features=self.features[kept],
            predicted=None if self.predicted is None else self.predicted[kept],
            actual=None if self.actual is None else self.actual[kept],
            protected=None if self.protected is None else self.protected[kept],
        )

    def _lots(self) -> npt.NDArray[np.uint64]:
        """A number drawn for each record from its features, group and prediction (where there is none, its label)."""
        outcomes = self.actual if self.predicted is None else self.predicted
        lots = _mixed(np.zeros(len(self.codes), dtype=np.uint64), self.codes.astype(np.float64))
        for column in (*self.features.T, *(() if outcomes is None else (outcomes.astype(np.float64),))):
            lots = _mixed(lots, column)
        # Equal records draw one by one, not all together; which of them is first may depend on their labels alone.
        order = np.lexsort((lots,) if self.actual is None else (self.actual, lots))
        is_first = np.diff(lots[order], prepend=~lots[order[:1]]) != 0
        places = np.arange(len(order))
        nth = np.empty(len(order), dtype=np.float64)
        nth[order] = places - np.maximum.accumulate(np.where(is_first, places, 0))
        return _mixed(lots, nth)


def _mixed(lots: npt.NDArray[np.uint64], numbers: FloatArray) -> npt.NDArray[np.uint64]:
    """The lots changed by the numbers, evenly over all 64 bits (the finalizer of SplitMix64)."""
    # Adding nothing turns the negative zero, which is another pattern of bits, into zero.
    bits = (lots + SPREAD) ^ (numbers + 0.0).view(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
    return bits ^ (bits >> np.uint64(31))


def most_records(features: int) -> int:
    """How many records of so many features are searched for neighbours."""
    return MOST_RECORDS if features <= FEW_FEATURES else MOST_RECORDS_OF_MANY_FEATURES


def _numbers(values: npt.ArrayLike, records: int, what: str) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or len(array) != records:  # noqa: PLR2004 - rows and columns
        raise ValueError(f"expected {what} of {records} records, found shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError(f"expected {what} that are finite numbers")
    return array


def _outcomes(values: npt.ArrayLike, records: int, what: str) -> IntArray:
    outcomes = checked_codes(values, 0, UNCLASSIFIED + 1)
    if len(outcomes) != records:
        raise ValueError(f"expected {what} outcomes of {records} records, found {len(outcomes)}")
    return outcomes
