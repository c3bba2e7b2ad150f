"""Count tables for the monitor as it is now, made from the stored facts of an upload."""

from dataclasses import replace

from ...base.values import frozen
from ...domain.deployment import RecordSchema
from ...domain.monitor import Comparison, Monitor, MonitoredAttribute
from ...statistics.tables.count_table import GroupCounts
from .from_distributions import Inexact, build_table
from .training_facts import TrainingData, counted_by, watched

AGAIN = "upload the training data again"
NO_STRATA = "the monitor names no strata, within which it compares"


@frozen
class Present:
    """The table of a comparison; or why there is none. `no_strata` says why a table has no strata."""

    comparison: Comparison
    table: GroupCounts | None
    reason: str = ""
    no_strata: str = NO_STRATA


def present_tables(data: TrainingData, monitor: Monitor, schema: RecordSchema) -> list[Present]:
    """One for each attribute and each intersection of the monitor.

    A table that was counted from rows under the same outcomes, groups and strata is used as it is; any
    other is made from the distributions, if they show it exactly.
    """
    tables = []
    for attributes in watched(monitor):
        needed = counted_by(monitor, attributes)
        counted = next(
            (table for table in data.tables if replace(table.counted_by, strata=needed.strata) == needed),
            None,
        )
        if counted is not None and counted.counted_by.strata == needed.strata:
            if counted.cells is None:
                tables.append(Present(needed.comparison, None, counted.reason or ""))
            else:
                table = GroupCounts.from_json(counted.cells)
                tables.append(Present(needed.comparison, table, no_strata=counted.reason or NO_STRATA))
            continue
        present = _make_table(data, monitor, schema, attributes)
        if present.table is None or (present.table.strata is None and needed.strata is not None):
            without = (
                NO_STRATA
                if needed.strata is None
                else f"the labels were not counted within the values of {needed.strata}; {AGAIN}"
            )
            present = replace(present, no_strata=without)
            if counted is not None and counted.cells is not None:
                table = replace(GroupCounts.from_json(counted.cells), strata=None)
                present = Present(needed.comparison, table, no_strata=without)
        tables.append(present)
    return tables


def _make_table(
    data: TrainingData, monitor: Monitor, schema: RecordSchema, attributes: tuple[MonitoredAttribute, ...]
) -> Present:
    comparison = Comparison(tuple(attribute.feature for attribute in attributes))
    reason = f"how the labels fall between the groups of {comparison.label} was not counted; {AGAIN}"
    for strata in dict.fromkeys([monitor.strata, None]):
        needed = {*comparison.features, *filter(None, [strata])}
        for distribution in data.distributions:
            if distribution.cells and needed <= set(distribution.columns):
                try:
                    return Present(
                        comparison, build_table(distribution, attributes, monitor, schema, strata=strata)
                    )
                except Inexact as error:
                    reason = f"{error}; {AGAIN}"
    return Present(comparison, None, reason)
