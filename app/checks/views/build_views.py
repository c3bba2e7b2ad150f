"""Builds the views of a check, and explains single figures of it.

The view of training data is measured now, from the present upload and monitor; the others are stored.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from sqlalchemy.orm import Session

from ...base.errors import NotFound
from ...deployments.monitor.queries import find_monitor
from ...deployments.training.from_distributions import PresentTable, build_present_tables
from ...deployments.training.queries import (
    TrainingData,
    TrainingSummary,
    find_training_summary,
    read_distributions,
    read_label_tables,
)
from ...domain.check import CheckRun, CheckState, DataSet, FigureKey, Measurement
from ...domain.deployment import Deployment
from ...domain.groups import GroupWords
from ...domain.monitor import Monitor
from ...statistics.catalogue import CATALOGUE
from ...statistics.sentences.left_out import CountedRecords
from ..counting.tabulate import find_table_data
from ..measure import measure_table
from .explain_figure import Explanation, explain
from .logged_view import (
    EQUALITY,
    IMPACT,
    IMPACT_AFTER,
    IMPACT_BEFORE,
    OPENSCALE,
    QUALITY,
    RATE,
    RATE_AFTER,
    RATE_BEFORE,
    explain_not_mitigated,
    explain_not_perturbed,
    list_counterfactual_attributes,
    list_logged_attributes,
    list_mitigated_attributes,
    list_notes_on_copies,
    list_notes_on_intervals,
    list_notes_on_mitigation,
    list_perturbed_attributes,
    read_mitigation,
)
from .view_shapes import AttributeView, CheckView, ViewKind, ViewStateOut, collect_figures, divide_shares
from .view_source import (
    CheckSource,
    CountedCheck,
    StoredParts,
    count_lost,
    list_notes_on_records,
    read_check_source,
    read_counted_check,
)

_BASE_RATE = "base_rate"
LABEL_DIFFERENCE = "difference_in_proportions_of_labels"

NO_DATA = "no training data were uploaded"
NO_MONITOR = "the deployment no longer has a fairness monitor, which says which groups are compared"
AS_OF_NOW = (
    "These figures are of the training data as they are now, processed {when:%Y-%m-%d %H:%M} "
    "UTC{later}; a check does not measure them."
)
LATER = ", which is after the check"
OTHER_MONITOR = (
    "The monitor was changed after the check: the groups are those of its present version "
    "{now}, the check's was {then}."
)
CARRIED = (
    "Nothing was logged since, and the records and labels that were read are still the same;"
    " the figures are those of check {check_id}, carried forward."
)

_DATA_AND_METRICS = {
    ViewKind.OPENSCALE: (
        (DataSet.AS_LOGGED, DataSet.COUNTERFACTUAL),
        frozenset({RATE, IMPACT, EQUALITY, OPENSCALE}),
    ),
    ViewKind.AS_LOGGED: ((DataSet.AS_LOGGED,), frozenset({RATE, IMPACT})),
    ViewKind.MITIGATED: (
        (DataSet.AS_LOGGED, DataSet.COUNTERFACTUAL, DataSet.MITIGATED, DataSet.MITIGATED_LABELLED),
        frozenset({RATE, IMPACT, RATE_BEFORE, RATE_AFTER, IMPACT_BEFORE, IMPACT_AFTER})
        | {name for names in QUALITY for name in names},
    ),
}

_NOT_ENDED = {
    CheckState.QUEUED: "The check waits for a worker; it has no figures yet.",
    CheckState.RUNNING: "The check is running; it has no figures yet.",
}
_ENDED_WITHOUT_FIGURES = {
    CheckState.FAILED: "The check failed",
    CheckState.INSUFFICIENT_DATA: "The check had too few records",
    CheckState.CANCELLED: "The check was cancelled",
}

_NOT_STORED = {key for key, metric in CATALOGUE.items() if not metric.is_stored}
_MEASURED_ON_REQUEST = {
    DataSet.AS_LOGGED: {RATE},
    DataSet.OPENSCALE: {RATE, EQUALITY, OPENSCALE},
    DataSet.COUNTERFACTUAL: {RATE},
    DataSet.MITIGATED: _NOT_STORED | {RATE_BEFORE, RATE_AFTER},
    DataSet.MITIGATED_LABELLED: _NOT_STORED,
}
"""Metrics that are measured on the stored tables, by data set, because checks do not store their figures."""

VIEW_OF_DATA = {
    DataSet.AS_LOGGED: ViewKind.AS_LOGGED,
    DataSet.OPENSCALE: ViewKind.OPENSCALE,
    DataSet.COUNTERFACTUAL: ViewKind.OPENSCALE,
    DataSet.LABELLED: ViewKind.AS_LOGGED,
    DataSet.TRAINING: ViewKind.TRAINING,
    DataSet.MITIGATED: ViewKind.MITIGATED,
    DataSet.MITIGATED_LABELLED: ViewKind.MITIGATED,
}


def explain_no_training(session: Session, deployment_no: int) -> str | None:
    """Explains why there is no view of training data; None if there is one."""
    if find_training_summary(session, deployment_no) is None:
        return NO_DATA
    return NO_MONITOR if find_monitor(session, deployment_no) is None else None


def fill_training_view(
    session: Session, deployment: Deployment, check: CheckRun, view: CheckView
) -> CheckView:
    summary = find_training_summary(session, deployment.no)
    monitor = find_monitor(session, deployment.no)
    if summary is None or monitor is None:
        return replace(view, reason=NO_MONITOR if summary else NO_DATA)

    attributes = []
    names = GroupWords.of(monitor)
    for present, measurements in _measure_labels(session, deployment, monitor, summary):
        if present.table is None:
            attributes.append(AttributeView(present.comparison, reason=present.reason))
            continue
        rates = [measurement for measurement in measurements if measurement.metric == _BASE_RATE]
        differences = [measurement for measurement in measurements if measurement.metric == LABEL_DIFFERENCE]
        figures = collect_figures(rates, differences, counted_as="actual_favourable")
        stored = StoredParts(present.table, type(present.table).merge([]), ())
        records = CountedRecords.of_table(present.comparison.label, present.table, "labels")
        attributes.append(
            replace(
                divide_shares(present.comparison, stored, figures),
                records=records.named(names.label).to_json(),
            )
        )

    ended = check.finished_at
    processed_at = summary.processed_at
    later = LATER if ended and processed_at > ended else ""
    notes = [AS_OF_NOW.format(when=processed_at, later=later)]
    if check.monitor_version is not None and check.monitor_version != monitor.version:
        notes.append(OTHER_MONITOR.format(now=monitor.version, then=check.monitor_version))

    return replace(
        view,
        attributes=tuple(attributes),
        records=summary.records,
        processed_at=processed_at,
        notes=tuple(notes),
    )


def _measure_labels(
    session: Session, deployment: Deployment, monitor: Monitor, summary: TrainingSummary
) -> Iterator[tuple[PresentTable, Sequence[Measurement]]]:
    data = TrainingData(
        summary, read_distributions(session, deployment.no), read_label_tables(session, deployment.no)
    )
    label_monitor = replace(monitor, metrics=(_BASE_RATE, LABEL_DIFFERENCE))
    for present in build_present_tables(data, monitor, deployment.schema):
        if present.table is None:
            yield present, ()
        else:
            yield (
                present,
                measure_table(
                    DataSet.TRAINING,
                    present.comparison,
                    present.table,
                    monitor=label_monitor,
                    at=summary.processed_at,
                ),
            )


def list_views(session: Session, deployment: Deployment, check: CheckRun) -> list[ViewStateOut]:
    counted_check = read_counted_check(session, check)
    reasons = {kind: _explain_absence(counted_check, kind, deployment) for kind in _DATA_AND_METRICS} | {
        ViewKind.TRAINING: explain_no_training(session, deployment.no)
    }
    return [ViewStateOut(kind=kind, reason=reasons[kind]) for kind in ViewKind]


def build_check_view(session: Session, deployment: Deployment, check: CheckRun, kind: ViewKind) -> CheckView:
    counted_check = read_counted_check(session, check)
    view = CheckView(kind=kind, check=check, counted_span=counted_check.origin.span)

    if kind is ViewKind.TRAINING:
        return fill_training_view(session, deployment, check, view)

    window = counted_check.window
    view = replace(
        view,
        records=window.get("records"),
        additional_records=window.get("additional_records"),
        logged_in_span=window.get("logged_in_span"),
        oldest=_parse_time(window.get("oldest_record_at")),
        newest=_parse_time(window.get("newest_record_at")),
        notes=list_notes_on_records(counted_check, count_lost(session, counted_check)),
    )
    reason = _explain_absence(counted_check, kind, deployment)
    if reason is not None:
        return replace(view, reason=reason)
    data, metrics = _DATA_AND_METRICS[kind]
    return _fill_view(view, read_check_source(session, counted_check, data=data, metrics=metrics))


def _parse_time(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def _explain_absence(counted: CountedCheck, kind: ViewKind, deployment: Deployment) -> str | None:
    check = counted.check
    if check.state in _NOT_ENDED:
        return _NOT_ENDED[check.state]
    if check.state in _ENDED_WITHOUT_FIGURES:
        return f"{_ENDED_WITHOUT_FIGURES[check.state]}: {check.reason or 'no reason is known'}"
    if kind is ViewKind.AS_LOGGED:
        return None
    if kind is ViewKind.OPENSCALE:
        return explain_not_perturbed(counted)
    return explain_not_mitigated(counted, is_in_files=deployment.payload is not None)


def _fill_view(view: CheckView, source: CheckSource) -> CheckView:
    notes = view.notes
    if view.check.carried_from is not None:
        notes = (CARRIED.format(check_id=view.check.carried_from), *notes)
    match view.kind:
        case ViewKind.OPENSCALE:
            attributes = tuple(list_perturbed_attributes(source))
            notes += list_notes_on_copies(source, attributes) + list_notes_on_intervals(source, attributes)
            return replace(view, attributes=attributes, notes=notes)
        case ViewKind.MITIGATED:
            attributes = tuple(list_mitigated_attributes(source))
            counterfactual = tuple(list_counterfactual_attributes(source))
            notes += list_notes_on_mitigation(source) + list_notes_on_copies(source, counterfactual)
            mode = read_mitigation(source).get("mode")
            return replace(
                view, attributes=attributes, counterfactual=counterfactual, mitigation_mode=mode, notes=notes
            )
        case _:
            return replace(view, attributes=tuple(list_logged_attributes(source)), notes=notes)


def explain_figure(
    session: Session, deployment: Deployment, counted: CountedCheck, key: FigureKey, names: GroupWords
) -> Explanation:
    """Explains a figure, stored or measured now; `names` name its groups.

    Raises:
        NotFound: the check has no such figure.
    """
    figures: Iterable[Measurement] = ()
    if key.data is DataSet.TRAINING:
        summary = find_training_summary(session, deployment.no)
        monitor = find_monitor(session, deployment.no)
        if summary and monitor:
            figures = [
                figure
                for _, measurements in _measure_labels(session, deployment, monitor, summary)
                for figure in measurements
            ]
    elif key.metric in CATALOGUE:
        table_data = find_table_data(key.data)
        source = read_check_source(
            session,
            counted,
            data=[table_data] if key.data in _MEASURED_ON_REQUEST else [],
            metrics={key.metric},
        )
        figures = source.figures
        if key.metric in _MEASURED_ON_REQUEST.get(key.data, ()):
            for data, comparison in source.tables:
                if (data, comparison.label) == (table_data, key.attribute):
                    figures = source.list_or_measure(key.data, comparison, key.metric)

    measurement = next((figure for figure in figures if figure.key == key), None)
    if measurement is None:
        raise NotFound(
            "figure of this check",
            ", ".join(str(name) for name in (key.metric, key.attribute, key.group) if name),
        )
    return explain(names.rename(measurement))
