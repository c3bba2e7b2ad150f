"""Copies that represent the reference records of an attribute, and the share of each."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from ..checks.donors import GroupDonors, representative_donors
from ..domain.deployments import FieldType
from ..domain.groups import in_order
from ..domain.mitigation import AttributeProfile, StandIn
from ..domain.values import Range, Scalar
from ..records.grouping import Grouping, typed_value

MOST_VALUES = 10
"""Max reference values that get a copy, those with most records: each is one more copy of every record."""

MOST_DONORS = 20
"""Max combinations of correlated features that get a copy, over all reference values."""

Changes: TypeAlias = "tuple[tuple[str, Scalar | None], ...]"

QUANTILES = 5
"""Values for a range: the middles of that many parts with equally many records."""

NO_REFERENCE = "no reference value is listed, and none has been logged"
NO_DONORS = "the training data keep no record of the reference group, from which copies would take their correlated features"
UNSEEN = "the model never sees it, and the monitor names no correlated features, so changing it changes no answer"


def find_stand_ins(
    grouping: Grouping, values: pa.ChunkedArray, *, is_feature: bool, donors: Sequence[GroupDonors] | None
) -> AttributeProfile:
    """Returns the copies that represent the reference records; `values` are the logged values of the column.

    Shares are by reference records logged; where there were none, reference values count equally. A meta field changes the features
    correlated with it, to those of its `donors`.
    """
    name = grouping.column.name
    if not is_feature and donors is None:
        return AttributeProfile(name, (), 0.0, UNSEEN)
    reference = [position for position, group in enumerate(grouping.groups) if group.role == "reference"]
    if not reference:
        return AttributeProfile(name, (), 0.0, NO_REFERENCE)
    counts = np.bincount(grouping.codes + 1, minlength=len(grouping.groups) + 1)[1:][reference].astype(np.float64)
    shares = counts / counts.sum() if counts.sum() else np.full(len(reference), 1 / len(reference))
    lows = [value.lo if isinstance(value, Range) else value for value in (grouping.groups[position].value for position in reference)]
    ranked = sorted(zip(shares.tolist(), reference, lows, strict=True), key=lambda one: (-one[0], *in_order(one[2])))[:MOST_VALUES]
    kept = [(share, position) for share, position, _ in ranked if share > 0]

    most_donors = max(MOST_DONORS // len(kept), 1)
    stand_ins, represented, covered = [], 0.0, 0.0
    for share, position in kept:
        label = grouping.groups[position].label
        if donors is None:
            represented, covered = represented + share, covered + share
            stand_ins += [StandIn(label, changes, share * part) for changes, part in _pick_values(grouping, position, values)]
            continue
        lent = representative_donors(donors[position], most_donors)
        represented += share if lent.combinations else 0.0
        covered += share * lent.covered
        stand_ins += [StandIn(label, tuple(changes.items()), share * part) for part, changes in lent.combinations]
    if not represented:
        return AttributeProfile(name, (), 0.0, NO_DONORS)
    # Groups without a donor have no stand-in: the shares of the others add up to 1.
    return AttributeProfile(name, tuple(replace(one, share=one.share / represented) for one in stand_ins), covered)


def _pick_values(grouping: Grouping, position: int, values: pa.ChunkedArray) -> list[tuple[Changes, float]]:
    value, column = grouping.groups[position].value, grouping.column
    if not isinstance(value, Range):
        return [(((column.name, typed_value(value, column.type)),), 1.0)]
    logged = values.filter(pa.array(grouping.codes == position)).to_numpy()
    middles = (np.arange(QUANTILES) + 0.5) / QUANTILES
    if len(logged):
        found = np.quantile(logged, middles, method="inverted_cdf")
    else:
        # Of a range of which no value has been logged, evenly spread values; whole numbers must not leave it by rounding.
        found = value.lo + middles * (value.hi - value.lo)
        if column.type is FieldType.INTEGER:
            found = np.clip(np.round(found), np.ceil(value.lo), np.floor(value.hi))
    distinct, times = np.unique(found, return_counts=True)
    parts = zip(distinct.tolist(), times.tolist(), strict=True)
    return [(((column.name, typed_value(one, column.type)),), count / QUANTILES) for one, count in parts]
