"""Measures count tables, and records that are compared with each other, by the monitor's limits."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from ..base.errors import InvalidInput
from ..base.values import frozen, frozen_arrays
from ..deployments.monitor.queries import find_strictest_limits, list_monitored_metrics, list_stored_metrics
from ..domain.check import DataSet, Details, Measurement, Progress, Scope
from ..domain.monitor import Comparison, Monitor, MonitoredAttribute, list_comparisons
from ..sources.arrays.read_records import RecordTable
from ..statistics.catalogue import CATALOGUE, Metric
from ..statistics.group_labels import FloatArray, IntArray, build_groups
from ..statistics.intervals.verdicts import FigureScope, Measured, Undefined, Value
from ..statistics.measures.label_states import judge_labels
from ..statistics.measures.measure import measure_as_logged, measure_labelled, measure_training
from ..statistics.measures.perturbed_data import (
    measure_counterfactual,
    measure_mitigated,
    measure_mitigated_labelled,
    measure_openscale,
)
from ..statistics.measures.worst_group import AllLimits, judge
from ..statistics.records.measure_rows import RowData, measure_rows
from ..statistics.tables.count_table import GroupCounts, LabelledCells, MitigatedLabelledCells
from ..statistics.tables.record_kinds import CounterfactualCells, MitigatedCells
from .copies.repeats import subtract_repeats
from .counting.other_revisions import OtherRevisions, explain_nulls
from .counting.tabulate import EVERYBODY, Table, list_measured_data
from .subject import Report, Subject
from .window.labelled_window import LabelledWindow
from .window.window_records import CheckEvidence

NO_ENDPOINT = "the deployment has no endpoint, so copies of its records cannot be scored"
NO_LABELS = "no labelled record is there"
REFUSED_LABELS = "the labelled records have no prediction, and the model gave none"
NOT_FOR_FILES = "mitigation is not there for a deployment whose records lie in your own tables"
TOO_MANY_TO_COMPARE = (
    "the span holds more records than max_records, and this metric compares each with those most like it"
)
UNSCORED_LABELS = "the labelled records have no prediction, and the deployment has no endpoint to ask for one"

_HEADLINE_SCOPES: tuple[FigureScope, ...] = ("attribute", "pooled")
"""Scopes of which the first one represents a comparison, if a metric has it."""

_PAIR_SCOPE = "pooled"
"""Scope of metrics that compare two groups: similarity does not count the attribute that divides them."""


@frozen
class ComparisonFigures:
    data: DataSet
    comparison: Comparison
    figures: list[Measured]


@frozen_arrays
class _Records:
    """Records of one data set; `actual` are the outcomes of their labels [records]."""

    data: DataSet
    table: RecordTable
    actual: IntArray | None


def leave_unmeasured(
    data: DataSet, comparison: Comparison, metrics: Sequence[Metric], reason: str
) -> ComparisonFigures:
    """Builds a figure without a value for each metric, in the scope that represents the comparison."""
    results = []
    for metric in metrics:
        scope: FigureScope = "overall"
        scopes = () if comparison == EVERYBODY else metric.list_scopes_on(data.value)
        if scopes:
            scope = next(scope for scope in (*_HEADLINE_SCOPES, *scopes) if scope in scopes)
        results.append(
            Measured(
                metric=metric.key,
                scope=scope,
                group=None,
                number=Undefined(reason, 0),
                smallest_group=0,
                worst_of=0 if "worst" in scopes else None,
                details=Details(formula=metric.formula),
            )
        )
    return ComparisonFigures(data, comparison, results)


def find_gaps(
    subject: Subject, evidence: CheckEvidence, labels: LabelledWindow | None, *, has_all: bool
) -> list[ComparisonFigures]:
    """Lists figures of the monitored metrics that the check cannot measure, with the reason for no value.

    Without `has_all`, the window holds only some of the payload.
    """
    monitor = subject.monitor
    is_in_files = subject.deployment.payload is not None
    has_endpoint = subject.deployment.endpoint is not None
    unscored = REFUSED_LABELS if has_endpoint else UNSCORED_LABELS
    no_labels = None
    if not labels:
        no_labels = unscored if len(evidence.feedback) else NO_LABELS
    gaps = _leave_all_unmeasured(
        DataSet.LABELLED,
        list_monitored_metrics(monitor, DataSet.LABELLED),
        list_comparisons(monitor),
        no_labels,
    )
    if not has_all:
        gaps += _leave_all_unmeasured(
            DataSet.AS_LOGGED,
            _list_row_metrics(monitor, DataSet.AS_LOGGED),
            list_comparisons(monitor),
            TOO_MANY_TO_COMPARE,
        )
    for comparison, reason in subject.unmeasured.items():
        with_copies = () if comparison.is_combination else list_measured_data(DataSet.COUNTERFACTUAL)
        for data in (DataSet.AS_LOGGED, DataSet.LABELLED, *with_copies):
            group_metrics = [
                metric
                for metric in list_monitored_metrics(monitor, data)
                if "overall" not in metric.list_scopes_on(data.value)
            ]
            gaps += _leave_all_unmeasured(data, group_metrics, [comparison], reason)
    label_metrics = list_stored_metrics(monitor, DataSet.MITIGATED_LABELLED)
    for attribute in monitor.attributes:
        if attribute.rule is not None:
            continue
        comparison = Comparison((attribute.feature,))
        no_copies = evidence.without_copies.get(attribute.feature) if has_endpoint else NO_ENDPOINT
        for data in list_measured_data(DataSet.COUNTERFACTUAL):
            gaps += _leave_all_unmeasured(
                data, list_monitored_metrics(monitor, data), [comparison], no_copies
            )
        if subject.mitigation.mitigates(attribute.feature):
            gaps += _leave_all_unmeasured(
                DataSet.MITIGATED,
                list_stored_metrics(monitor, DataSet.MITIGATED),
                [comparison],
                NOT_FOR_FILES if is_in_files else no_copies,
            )
            not_mitigated = NOT_FOR_FILES if is_in_files else (no_labels or no_copies)
            if not_mitigated and label_metrics:
                gaps.append(
                    leave_unmeasured(DataSet.MITIGATED_LABELLED, comparison, label_metrics, not_mitigated)
                )
    return gaps


def _list_row_metrics(monitor: Monitor, data: DataSet) -> list[Metric]:
    return [metric for metric in list_monitored_metrics(monitor, data) if "rows" in metric.needs]


def _leave_all_unmeasured(
    data: DataSet, metrics: Sequence[Metric], comparisons: Sequence[Comparison], reason: str | None
) -> list[ComparisonFigures]:
    if reason is None:
        return []
    overall = [metric for metric in metrics if "overall" in metric.list_scopes_on(data.value)]
    group_metrics = [metric for metric in metrics if metric not in overall]
    gaps = [leave_unmeasured(data, EVERYBODY, overall, reason)]
    gaps += [leave_unmeasured(data, comparison, group_metrics, reason) for comparison in comparisons]
    return gaps


def measure_table(
    data: DataSet,
    comparison: Comparison,
    table: Table,
    *,
    monitor: Monitor,
    at: datetime,
    lacking: Mapping[str, str] | None = None,
    scopes: frozenset[str] | None = None,
    metrics: Sequence[Metric] | None = None,
    labels: LabelledCells | None = None,
    other_revisions: OtherRevisions | None = None,
) -> list[Measurement]:
    """Measures metrics (None: the monitor's) on one table, in the scopes (None: all).

    `at` is the end of the table's time, `lacking` the reasons why it has no strata or scores. `labels` says
    who has a label where the table itself does not, `other_revisions` which records the table leaves out.
    """
    attributes = _list_attributes(monitor, comparison)
    is_overall = comparison == EVERYBODY
    # Other data sets have a table of everybody for the figures of everybody.
    has_all_scopes = data is DataSet.MITIGATED_LABELLED
    measurements = []
    metrics = list_monitored_metrics(monitor, data) if metrics is None else metrics
    keys = [metric.key for metric in metrics]
    limits = find_all_limits(monitor, comparison, keys)
    results = _measure_cells(data, table, keys, limits, monitor.seed, scopes)
    for measured in judge_labels(results, labels) if labels else results:
        is_worst = scopes is not None and measured.worst_of is not None and "worst" in scopes
        if scopes is not None and measured.scope not in scopes and not is_worst:
            continue
        if not has_all_scopes and (measured.scope == "overall") != is_overall:
            continue
        result = measured
        reasons = [
            reason for need, reason in (lacking or {}).items() if need in CATALOGUE[measured.metric].needs
        ]
        if reasons and isinstance(measured.number, Undefined):
            # The reason for the lack, not only that the metric needs it.
            result = replace(result, number=Undefined(reasons[0], measured.number.n))
        if other_revisions:
            result = subtract_repeats(result, data, other_revisions.repeats)
        measurements.append(_build_measurement(result, data, comparison, attributes=attributes, at=at))
    return list(explain_nulls(measurements, table.groups, other_revisions))


def build_measurements(compared: ComparisonFigures, *, monitor: Monitor, at: datetime) -> list[Measurement]:
    attributes = _list_attributes(monitor, compared.comparison)
    return [
        _build_measurement(figure, compared.data, compared.comparison, attributes=attributes, at=at)
        for figure in compared.figures
    ]


def find_all_limits(monitor: Monitor, comparison: Comparison, metrics: Iterable[str]) -> AllLimits:
    strictest = {key: find_strictest_limits(_list_attributes(monitor, comparison), key) for key in metrics}
    return {key: (limits.lower, limits.upper) for key, limits in strictest.items()}


def _measure_cells(
    data: DataSet,
    table: Table,
    metrics: Sequence[str],
    limits: AllLimits,
    seed: int,
    scopes: frozenset[str] | None,
) -> list[Measured]:
    seed %= 2**64  # the monitor's is signed, numpy's is not
    match table:
        case GroupCounts() if data is DataSet.TRAINING:
            return measure_training(table, metrics=metrics, seed=seed, limits=limits)
        case GroupCounts():
            return measure_as_logged(table, metrics=metrics, seed=seed, limits=limits, scopes=scopes)
        case CounterfactualCells() if data is DataSet.OPENSCALE:
            return measure_openscale(table, metrics=metrics, seed=seed, limits=limits)
        case CounterfactualCells():
            return measure_counterfactual(table, metrics=metrics, limits=limits)
        case LabelledCells():
            return measure_labelled(table, metrics=metrics, seed=seed, limits=limits)
        case MitigatedCells():
            return measure_mitigated(table, metrics=metrics, seed=seed, limits=limits)
        case MitigatedLabelledCells():
            return measure_mitigated_labelled(table, metrics=metrics, seed=seed, limits=limits)


def _list_attributes(monitor: Monitor, comparison: Comparison) -> list[MonitoredAttribute]:
    if comparison == EVERYBODY:
        return list(monitor.attributes)
    return comparison.members(monitor) if comparison in list_comparisons(monitor) else []


def _build_measurement(
    result: Measured,
    data: DataSet,
    comparison: Comparison,
    *,
    attributes: Sequence[MonitoredAttribute],
    at: datetime,
) -> Measurement:
    number = result.number
    limits = find_strictest_limits(attributes, result.metric)
    value = number if isinstance(number, Value) else None
    metric = CATALOGUE[result.metric]
    chosen = result.interval_of_choice
    return Measurement(
        metric=result.metric,
        data=data,
        scope=Scope(result.scope),
        comparison=comparison,
        group=result.group,
        at=at,
        value=value.value if value else None,
        reason=number.reason if isinstance(number, Undefined) else None,
        lower=value.lower if value else None,
        upper=value.upper if value else None,
        interval_method=value.method if value else None,
        n=number.n,
        verdict=judge(result, metric, (limits.lower, limits.upper)),
        lower_limit=limits.lower,
        upper_limit=limits.upper,
        definition=metric.find_definition(data.value),
        worst_of=result.worst_of,
        chosen_lower=chosen.lower if chosen else None,
        chosen_upper=chosen.upper if chosen else None,
        details=result.details,
    )


def measure_records(
    subject: Subject, evidence: CheckEvidence, labels: LabelledWindow | None, report: Report, *, has_all: bool
) -> Iterator[ComparisonFigures]:
    """Yields figures that compare records with each other. `report` may raise in between: the check ends.

    Without `has_all`, the window holds only some of the payload, which is not measured.
    """
    data_sets = [_Records(DataSet.AS_LOGGED, evidence.table, None)] if has_all else []
    if labels:
        data_sets.append(_Records(DataSet.LABELLED, labels.table, labels.comparison.actual))
    for records in data_sets:
        metrics = _list_row_metrics(subject.monitor, records.data)
        comparisons = [EVERYBODY, *list_comparisons(subject.monitor)] if metrics else []
        for number, comparison in enumerate(comparisons):
            step = f"comparing {records.data} records with those most like them"
            report(Progress(step, done=number, total=len(comparisons)))
            yield ComparisonFigures(
                records.data, comparison, _measure_groups(subject, records, comparison, metrics)
            )


def _measure_groups(
    subject: Subject, records: _Records, comparison: Comparison, metrics: Sequence[Metric]
) -> list[Measured]:
    is_overall = not comparison.features
    metrics_by_features: dict[tuple[str, ...], list[Metric]] = {}
    for metric in metrics:
        if not ("overall" in metric.scopes if is_overall else set(metric.scopes) - {"overall"}):
            continue
        # Records are compared by all numeric features but those that divide the groups; rich subgroups are
        # made of protected features.
        features: tuple[str, ...] = ()
        if set(metric.scopes) != {"overall"}:
            dividing = comparison.features if _PAIR_SCOPE in metric.scopes else ()
            features = tuple(name for name in subject.list_numeric_features() if name not in dividing)
        metrics_by_features.setdefault(features, []).append(metric)
    return [
        result
        for features, metrics_of_features in metrics_by_features.items()
        for result in _measure_by_features(subject, features, records, comparison, metrics_of_features)
        if (result.scope == "overall") == is_overall
    ]


def _measure_by_features(
    subject: Subject,
    features: Sequence[str],
    records: _Records,
    comparison: Comparison,
    metrics: Sequence[Metric],
) -> list[Measured]:
    table = records.table
    numbers = _stack_columns(
        [np.asarray(table.values(name).to_numpy(), dtype=np.float64) for name in features], len(table)
    )
    is_complete = np.isfinite(numbers).all(axis=1)  # NaN where a value is missing

    protected = None
    if comparison.features:
        groups, codes = table.compare(comparison)
    else:
        try:
            # Rich subgroups are found among everybody; combinations only name their members.
            groups, codes = table.compare(
                Comparison(tuple(grouping.column.name for grouping in table.groupings))
            )
        except InvalidInput:  # too many combinations, or two of one label
            groups, codes = table.compare(EVERYBODY)
        memberships = [
            grouping.codes == code for grouping in table.groupings for code in range(len(grouping.groups))
        ]
        protected = _stack_columns(memberships, len(table))[is_complete]
    rows = RowData(
        groups=build_groups(groups),
        codes=codes[is_complete],
        features=numbers[is_complete],
        predicted=table.outcomes[is_complete],
        actual=None if records.actual is None else records.actual[is_complete],
        protected=protected,
    )
    formulas = {metric.key: metric.formula for metric in metrics}
    results = measure_rows(rows, formulas, limits=find_all_limits(subject.monitor, comparison, formulas))
    left_out = int((~is_complete).sum())
    if not left_out:
        return results
    return [
        replace(result, details=replace(result.details, records_without_a_feature=left_out))
        for result in results
    ]


def _stack_columns(columns: Sequence[npt.NDArray[Any]], records: int) -> FloatArray:
    return np.stack(columns, axis=1).astype(np.float64, copy=False) if columns else np.empty((records, 0))
