"""Values of an attribute: of its column, or the groups of its rule."""

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ..domain.group_rules import Condition, GroupRule
from ..domain.monitors import MonitoredAttribute
from ..domain.values import label_of
from .cells import stored_cells


def read_attribute(attribute: MonitoredAttribute, values: pa.Table) -> pa.ChunkedArray:
    if attribute.rule is None:
        return values[attribute.feature]
    groups = pa.array([label_of(value) for value in (*(attribute.reference or ()), *attribute.monitored)], pa.string())
    return pa.chunked_array([groups.take(pa.array(is_in_group(attribute.rule, values).astype(np.int64)))])


def is_in_group(rule: GroupRule, values: pa.Table) -> npt.NDArray[np.bool_]:
    conjunctions = [np.logical_and.reduce([_meets(one, values[one.feature]) for one in conditions]) for conditions in rule.any_of]
    return np.asarray(np.logical_or.reduce(conjunctions))


def _meets(condition: Condition, column: pa.ChunkedArray) -> npt.NDArray[np.bool_]:
    cells = stored_cells(column)
    numbers = cells.floats() if condition.intervals else None
    if numbers is None:
        coded = cells.coded()
        return coded.spread(map(condition.is_met_by, coded.values), missing=condition.or_missing).astype(np.bool_)
    meets = np.isnan(numbers) & condition.or_missing
    for interval in condition.intervals:
        is_above = True if interval.above is None else numbers > interval.above
        is_below = True if interval.up_to is None else numbers <= interval.up_to
        meets |= ~np.isnan(numbers) & is_above & is_below
    return meets
