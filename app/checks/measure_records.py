"""Metrics of the records themselves, which are in no roll-up."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import InvalidInput
from ..base.frozen import frozen_arrays
from ..deployments.monitor.picked_metrics import picked_on
from ..domain.check import DataSet, Progress
from ..domain.monitor import Comparison, list_comparisons
from ..sources.arrays.read_records import RecordTable
from ..statistics.catalogue import Metric
from ..statistics.figure_values import Measured
from ..statistics.group_labels import FloatArray, IntArray, as_groups
from ..statistics.records.measure_rows import measure_rows
from ..statistics.records.row_data import RowData
from .ask_model import Report
from .counting.tabulate import EVERYBODY
from .measure import MeasuredRows, all_limits
from .subject import Subject
from .window.window_records import CheckEvidence, Labelled

COMPARES_GROUPS = "pooled"
"""Scope of metrics of two groups. The attribute that divides them does not count towards similarity."""


@frozen_arrays
class _Records:
    data: DataSet
    read: RecordTable
    actual: IntArray | None


def measure_records(
    subject: Subject, evidence: CheckEvidence, labels: Labelled | None, report: Report, *, has_all: bool
) -> Iterator[MeasuredRows]:
    """Yields the picked metrics of records, for everybody and each comparison; `report` may end it in
    between.

    Without `has_all`, the window holds only some of the payload, which is not measured.
    """
    data_sets = [_Records(DataSet.AS_LOGGED, evidence.read, None)] if has_all else []
    if labels is not None:
        data_sets.append(_Records(DataSet.LABELLED, labels.read, labels.comparison.actual))
    for records in data_sets:
        metrics = [metric for metric in picked_on(subject.monitor, records.data) if "rows" in metric.needs]
        comparisons = [EVERYBODY, *list_comparisons(subject.monitor)] if metrics else []
        for number, comparison in enumerate(comparisons):
            report(
                Progress(
                    step=f"comparing {records.data} records with those most like them",
                    done=number,
                    total=len(comparisons),
                )
            )
            yield MeasuredRows(
                records.data, comparison, _measure_groups(subject, records, comparison, metrics)
            )


def _measure_groups(
    subject: Subject, records: _Records, comparison: Comparison, picked: Sequence[Metric]
) -> list[Measured]:
    of_everybody = not comparison.features
    by_features: dict[tuple[str, ...], list[Metric]] = {}
    for metric in picked:
        if not ("overall" in metric.scopes if of_everybody else set(metric.scopes) - {"overall"}):
            continue
        # Records are compared by all numeric features but those that divide the groups; rich subgroups are
        # made of protected features.
        compares_none = set(metric.scopes) == {"overall"}
        compared = comparison.features if COMPARES_GROUPS in metric.scopes else ()
        features = (
            ()
            if compares_none
            else tuple(name for name in subject.numeric_features() if name not in compared)
        )
        by_features.setdefault(features, []).append(metric)
    results = [
        result
        for features, metrics in by_features.items()
        for result in _measure_by(subject, features, records, comparison, metrics)
    ]
    return [result for result in results if (result.scope == "overall") == of_everybody]


def _measure_by(
    subject: Subject,
    features: Sequence[str],
    records: _Records,
    comparison: Comparison,
    metrics: Sequence[Metric],
) -> list[Measured]:
    read = records.read
    numbers = _stack(
        [np.asarray(read.values(name).to_numpy(), dtype=np.float64) for name in features], len(read)
    )
    complete = np.isfinite(numbers).all(axis=1)  # NaN where a value is missing

    protected = None
    if comparison.features:
        named, codes = read.compare(comparison)
    else:
        try:
            # Rich subgroups are found among everybody; combinations only name their members.
            named, codes = read.compare(
                Comparison(tuple(grouping.column.name for grouping in read.groupings))
            )
        except InvalidInput:  # too many combinations, or two of one label
            named, codes = read.compare(EVERYBODY)
        memberships = [
            grouping.codes == code for grouping in read.groupings for code in range(len(grouping.groups))
        ]
        protected = _stack(memberships, len(read))[complete]
    rows = RowData(
        groups=as_groups(named),
        codes=codes[complete],
        features=numbers[complete],
        feature_names=tuple(features),
        predicted=read.outcomes[complete],
        actual=None if records.actual is None else records.actual[complete],
        protected=protected,
    )
    formulas = {metric.key: metric.formula for metric in metrics}
    results = measure_rows(
        records.data.value, rows, formulas, limits=all_limits(subject.monitor, comparison, formulas)
    )
    left_out = int((~complete).sum())
    if not left_out:
        return results
    return [
        replace(result, details=replace(result.details, records_without_a_feature=left_out))
        for result in results
    ]


def _stack(columns: Sequence[npt.NDArray[Any]], records: int) -> FloatArray:
    return np.stack(columns, axis=1).astype(np.float64, copy=False) if columns else np.empty((records, 0))
