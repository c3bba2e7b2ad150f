"""The count tables that the monitor wants as it is now, out of what was kept of an upload."""

from dataclasses import dataclass, replace

from app.domain.deployments import RecordSchema
from app.domain.monitors import Monitor, MonitoredAttribute
from app.domain.training_data import CountedBy, LabelTable, TrainingData, counted_by, watched
from app.metrics.tables import GroupCounts
from app.training.from_distributions import Inexact, table_of

AGAIN = "upload the training data again"
NO_STRATA = "the monitor names no strata, within which it compares"


@dataclass(frozen=True, slots=True)
class Present:
    """The table of an attribute or intersection; or why there is none.

    `no_strata` says why a table has no strata.
    """

    attribute: str
    table: GroupCounts | None
    reason: str = ""
    no_strata: str = NO_STRATA


def present_tables(data: TrainingData, monitor: Monitor, schema: RecordSchema) -> list[Present]:
    """One for each attribute and each intersection of the monitor.

    A table that was counted from rows under the same outcomes, groups and strata is taken as it is. Any other is made from the
    distributions, where they tell it exactly.
    """
    return [_present(data, monitor, schema, attributes) for attributes in watched(monitor)]


def _present(data: TrainingData, monitor: Monitor, schema: RecordSchema, attributes: tuple[MonitoredAttribute, ...]) -> Present:
    wanted = counted_by(monitor, attributes)
    counted = _counted(data, wanted)
    if counted is not None and counted.counted_by.strata == wanted.strata:
        return _as_counted(counted)
    made = _made(data, monitor, schema, attributes)
    if made.table is not None and (made.table.strata is not None or wanted.strata is None):
        return made
    # Without the strata: as it was counted from rows, or else as the distributions tell it.
    no_strata = NO_STRATA if wanted.strata is None else f"the labels were not counted within the values of {wanted.strata}; {AGAIN}"
    if counted is not None and counted.cells is not None:
        return Present(wanted.attribute, replace(GroupCounts.from_json(counted.cells), strata=None), no_strata=no_strata)
    return replace(made, no_strata=no_strata)


def _counted(data: TrainingData, wanted: CountedBy) -> LabelTable | None:
    """The stored table of the same outcomes and groups, whatever its strata."""
    return next((table for table in data.tables if replace(table.counted_by, strata=wanted.strata) == wanted), None)


def _as_counted(counted: LabelTable) -> Present:
    attribute = counted.counted_by.attribute
    if counted.cells is None:
        return Present(attribute, None, counted.reason or "")
    return Present(attribute, GroupCounts.from_json(counted.cells), no_strata=counted.reason or NO_STRATA)


def _made(data: TrainingData, monitor: Monitor, schema: RecordSchema, attributes: tuple[MonitoredAttribute, ...]) -> Present:
    """The table as the distributions tell it: with strata if they can be had, else without."""
    features = [attribute.feature for attribute in attributes]
    attribute = counted_by(monitor, attributes).attribute
    reason = f"how the labels fall between the groups of {attribute} was not counted; {AGAIN}"
    for strata in [monitor.strata, None] if monitor.strata is not None else [None]:
        needed = {*features, *([strata] if strata is not None else [])}
        for distribution in data.distributions:
            if not needed <= set(distribution.columns) or not distribution.cells:
                continue
            try:
                return Present(attribute, table_of(distribution, attributes, monitor, schema, strata=strata))
            except Inexact as error:
                reason = f"{error}; {AGAIN}"
    return Present(attribute, None, reason)
