"""The metrics that read the records themselves: no count table holds them, so they are in no roll-up."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from app.checks.evidence import Evidence
from app.checks.grouping import Grouping
from app.checks.labelled import Labelled
from app.checks.picking import picked_on
from app.checks.rescoring import Report
from app.checks.subject import Subject
from app.checks.tabulation import Sets, codes_of, name_of, sets_of
from app.checks.window import Window
from app.domain.checks import DataSet, Progress
from app.errors import InvalidInput
from app.metrics.catalogue import Metric
from app.metrics.groups import FloatArray, IntArray, as_groups
from app.metrics.rows import RowData, measure_rows
from app.metrics.values import Measured

COMPARES_GROUPS = "pooled"
"""The scope by which metrics of two groups are told. The attribute that divides them says nothing about who of them are alike."""


@dataclass(frozen=True, slots=True)
class MeasuredRows:
    """What was measured of the records of one data set, by one attribute or, with EVERYBODY, of all of them."""

    data: DataSet
    attribute: str
    measured: list[Measured]


@dataclass(frozen=True, slots=True, eq=False)
class _Records:
    """The records of one data set."""

    data: DataSet
    window: Window
    groupings: tuple[Grouping, ...]
    predicted: IntArray
    actual: IntArray | None


def measure_records(subject: Subject, evidence: Evidence, labels: Labelled | None, report: Report) -> Iterator[MeasuredRows]:
    """The picked metrics of records, for everybody and for each attribute and intersection; `report` may end it in between."""
    payload = _Records(DataSet.PAYLOAD, evidence.window, evidence.groupings, evidence.outcomes, None)
    known = [payload]
    if labels is not None:
        comparison = labels.comparison
        known.append(_Records(DataSet.FEEDBACK, labels.window, labels.groupings, comparison.predicted, comparison.actual))
    for records in known:
        yield from _measure(subject, records, report)


def _measure(subject: Subject, records: _Records, report: Report) -> Iterator[MeasuredRows]:
    wanted = [metric for metric in picked_on(subject.monitor, records.data) if "rows" in metric.needs]
    sets: Sets = [(), *sets_of(records.groupings, subject.monitor)] if wanted else []
    for done, groupings in enumerate(sets):
        report(Progress(step=f"comparing {records.data} records with those most like them", done=done, total=len(sets)))
        yield MeasuredRows(records.data, name_of(groupings), _of_set(subject, records, groupings, wanted))


def _of_set(subject: Subject, records: _Records, groupings: Sequence[Grouping], wanted: Sequence[Metric]) -> list[Measured]:
    """The metrics of one set of groups; those of everybody come from the set without groups alone."""
    by_features: dict[tuple[str, ...], list[Metric]] = {}
    for metric in wanted:
        if ("overall" in metric.scopes) if not groupings else set(metric.scopes) - {"overall"}:
            by_features.setdefault(_features(metric, subject.numeric_features(), groupings), []).append(metric)
    found = [result for features, metrics in by_features.items() for result in _found(records, groupings, features, metrics)]
    return [result for result in found if (result.scope == "overall") == (not groupings)]


def _features(metric: Metric, numeric: Sequence[str], groupings: Sequence[Grouping]) -> tuple[str, ...]:
    """The features by which the metric tells who is alike."""
    if set(metric.scopes) == {"overall"}:
        return ()  # rich subgroups are told by what is protected
    own = {grouping.column.name for grouping in groupings} if COMPARES_GROUPS in metric.scopes else set()
    return tuple(name for name in numeric if name not in own)


def _found(records: _Records, groupings: Sequence[Grouping], features: Sequence[str], wanted: Sequence[Metric]) -> list[Measured]:
    numbers = _numbers(records.window, features)
    complete = np.isfinite(numbers).all(axis=1)
    # Rich subgroups are found among everybody; the combinations of all attributes only name who is in them.
    named, codes = codes_of(groupings, len(records.window)) if groupings else _combinations(records)
    rows = RowData(
        groups=as_groups(named),
        codes=codes[complete],
        features=numbers[complete],
        feature_names=tuple(features),
        predicted=records.predicted[complete],
        actual=None if records.actual is None else records.actual[complete],
        protected=None if groupings else _memberships(records.groupings, len(records.window))[complete],
    )
    results = measure_rows(records.data.value, rows, {metric.key: metric.formula for metric in wanted})
    left_out = int((~complete).sum())
    return (
        [replace(result, details={**result.details, "records_without_a_feature": left_out}) for result in results] if left_out else results
    )


def _combinations(records: _Records) -> tuple[list[Any], IntArray]:
    """The groups of all attributes together; none where they are too many or cannot be told apart."""
    try:
        return codes_of(records.groupings, len(records.window))
    except InvalidInput:
        return codes_of((), len(records.window))


def _numbers(window: Window, features: Sequence[str]) -> FloatArray:
    """The features [records, features]; NaN where a value is missing."""
    columns = [np.asarray(window.values(name).to_numpy(), dtype=np.float64) for name in features]
    return np.stack(columns, axis=1) if columns else np.empty((len(window), 0))


def _memberships(groupings: Sequence[Grouping], records: int) -> FloatArray:
    """Whether each record is in each group of each attribute [records, groups]: what rich subgroups are made of."""
    columns = [grouping.codes == place for grouping in groupings for place in range(len(grouping.groups))]
    return np.stack(columns, axis=1).astype(np.float64) if columns else np.empty((records, 0))
