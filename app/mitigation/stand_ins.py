"""Which copies stand for the reference records of an attribute, and for how many of them each."""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from app.checks.donors import GroupDonors, representative_donors
from app.checks.grouping import Grouping, typed_value
from app.domain.deployments import Column, FieldType
from app.domain.groups import Group, in_order
from app.domain.mitigation import StandIn
from app.domain.values import Range, Scalar

MOST_VALUES = 10
"""Reference values that get a copy, those with most records: each is one more copy of every record."""

MOST_DONORS = 20
"""Combinations of correlated features that get a copy, over all reference values."""

_Part: TypeAlias = "tuple[tuple[tuple[str, Scalar | None], ...], float]"
"""What changes in a copy, and the part of its group that it is for."""

QUANTILES = 5
"""Values that stand for a range: the middles of that many parts with equally many records, so each is a value that occurs."""

NO_REFERENCE = "no reference value is listed, and none has been logged"
NO_DONORS = "the training data keep no record of the reference group, from which copies would take their correlated features"
UNSEEN = "the model never sees it, and the monitor names no correlated features, so changing it changes no answer"


def stand_ins_for(
    grouping: Grouping, values: pa.ChunkedArray, *, is_feature: bool, donors: Sequence[GroupDonors] | None
) -> tuple[tuple[StandIn, ...], float, str | None]:
    """The stand-ins, the share of reference records that they speak for, and why there are none where there are none.

    `values` are the logged values of the column that the grouping was made of. Shares are by reference records logged; where
    none was, reference values count alike. A meta field changes the features that are correlated with it, to what its `donors` had.
    """
    if not is_feature and donors is None:
        return (), 0.0, UNSEEN
    reference = [position for position, group in enumerate(grouping.groups) if group.role == "reference"]
    if not reference:
        return (), 0.0, NO_REFERENCE
    kept = _most_frequent(grouping, reference)
    most_donors = max(MOST_DONORS // len(kept), 1)
    found: list[tuple[float, int, list[_Part], float]] = [
        (share, position, *(_values_for(grouping, position, values) if donors is None else _donors_for(donors[position], most_donors)))
        for share, position in kept
    ]
    told = sum(share for share, _, parts, _ in found if parts)
    if not told:
        return (), 0.0, NO_DONORS
    stand_ins = [
        StandIn(grouping.groups[position].label, changes, share * part / told)
        for share, position, parts, _ in found
        for changes, part in parts
    ]
    return tuple(stand_ins), sum(share * covered for share, _, _, covered in found), None


def _most_frequent(grouping: Grouping, reference: Sequence[int]) -> list[tuple[float, int]]:
    """The reference groups with most records: the share of each and its position."""
    # NEITHER, which is -1, is counted first.
    counts = np.bincount(grouping.codes + 1, minlength=len(grouping.groups) + 1)[1:][list(reference)].astype(np.float64)
    shares = counts / counts.sum() if counts.sum() else np.full(len(reference), 1 / len(reference))
    ranked = sorted(zip(shares.tolist(), reference, strict=True), key=lambda one: (-one[0], *_order(grouping.groups[one[1]])))
    return [(share, position) for share, position in ranked[:MOST_VALUES] if share > 0]


def _order(group: Group) -> tuple[float, str]:
    return in_order(group.value.lo if isinstance(group.value, Range) else group.value)


def _donors_for(donors: GroupDonors, most: int) -> tuple[list[_Part], float]:
    """The combinations of correlated features that stand for a group, and the share of it that they cover."""
    representatives = representative_donors(donors, most)
    return [(tuple(changes.items()), part) for part, changes in representatives.combinations], representatives.covered


def _values_for(grouping: Grouping, position: int, values: pa.ChunkedArray) -> tuple[list[_Part], float]:
    """The values that stand for a group, which cover it."""
    value, column = grouping.groups[position].value, grouping.column
    if not isinstance(value, Range):
        return [(((column.name, typed_value(value, column.type)),), 1.0)], 1.0
    logged = values.filter(pa.array(grouping.codes == position)).to_numpy()
    middles = (np.arange(QUANTILES) + 0.5) / QUANTILES
    found = np.quantile(logged, middles, method="inverted_cdf") if len(logged) else _spread(value, middles, column)
    distinct, times = np.unique(found, return_counts=True)
    parts = zip(distinct.tolist(), times.tolist(), strict=True)
    return [(((column.name, typed_value(one, column.type)),), count / QUANTILES) for one, count in parts], 1.0


def _spread(value: Range, middles: npt.NDArray[np.float64], column: Column) -> npt.NDArray[np.float64]:
    """Values spread evenly over a range of which none has been logged."""
    found = value.lo + middles * (value.hi - value.lo)
    if column.type is FieldType.INTEGER:
        return np.clip(np.round(found), np.ceil(value.lo), np.floor(value.hi))
    return found
