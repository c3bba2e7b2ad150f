"""View of training data: their labels over the monitor's groups, as both are now.

A check measures no training data: the view says when they were processed.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from sqlalchemy.orm import Session

from ...deployments.monitor.queries import find_monitor
from ...deployments.training.queries import find_training_summary, read_distributions, read_label_tables
from ...deployments.training.tables_of_monitor import Present, present_tables
from ...deployments.training.training_facts import TrainingData, TrainingSummary
from ...domain.check import CheckRun, DataSet, Measurement
from ...domain.deployment import Deployment
from ...domain.group_words import GroupWords
from ...domain.monitor import Monitor
from ...statistics.sentences.left_out import CountedRecords
from ..measure import measure_table
from .view_shapes import AttributeView, CheckView, divide_shares, side

RATE: Final = "base_rate"
COMPARED: Final = "difference_in_proportions_of_labels"

NO_DATA = "no training data were uploaded"
NO_MONITOR = "the deployment no longer has a fairness monitor, which says which groups are compared"
AS_OF_NOW = (
    "These figures are of the training data as they are now, processed {when:%Y-%m-%d %H:%M} UTC{later}; a check does not measure them."
)
LATER = ", which is after the check"
OTHER_MONITOR = "The monitor was changed after the check: the groups are those of its present version {now}, the check's was {then}."


def why_no_training(session: Session, deployment_no: int) -> str | None:
    """Why there is no view; None if there is one."""
    if find_training_summary(session, deployment_no) is None:
        return NO_DATA
    return NO_MONITOR if find_monitor(session, deployment_no) is None else None


def fill_training_view(session: Session, deployment: Deployment, check: CheckRun, view: CheckView) -> CheckView:
    summary, monitor = find_training_summary(session, deployment.no), find_monitor(session, deployment.no)
    if summary is None or monitor is None:
        return replace(view, reason=NO_DATA if summary is None else NO_MONITOR)

    attributes, names = [], GroupWords.of(monitor)
    for present, measured in _measure_labels(session, deployment, monitor, summary):
        if present.table is None:
            attributes.append(AttributeView(comparison=present.comparison, reason=present.reason))
            continue
        rates, compared = ([measurement for measurement in measured if measurement.metric == metric] for metric in (RATE, COMPARED))
        figures = side(rates, compared, counted_as="actual_favourable")
        divided = divide_shares(present.comparison, present.table, type(present.table).merged([]), figures)
        records = CountedRecords.of_table(present.comparison.label, present.table, "labels").named(names.label)
        attributes.append(replace(divided, records=records.to_json()))

    ended = check.finished_at
    later = LATER if ended is not None and summary.processed_at > ended else ""
    notes = [AS_OF_NOW.format(when=summary.processed_at, later=later)]
    if check.monitor_version is not None and check.monitor_version != monitor.version:
        notes.append(OTHER_MONITOR.format(now=monitor.version, then=check.monitor_version))

    return replace(
        view,
        attributes=tuple(attributes),
        records=summary.records,
        processed_at=summary.processed_at,
        notes=tuple(notes),
    )


def training_figures(session: Session, deployment: Deployment) -> list[Measurement]:
    summary, monitor = find_training_summary(session, deployment.no), find_monitor(session, deployment.no)
    if summary is None or monitor is None:
        return []
    return [measurement for _, measured in _measure_labels(session, deployment, monitor, summary) for measurement in measured]


def _measure_labels(
    session: Session, deployment: Deployment, monitor: Monitor, summary: TrainingSummary
) -> Iterator[tuple[Present, Sequence[Measurement]]]:
    """Without figures where the attribute has no table."""
    data = TrainingData(summary, read_distributions(session, deployment.no), read_label_tables(session, deployment.no))
    only = replace(monitor, metrics=(RATE, COMPARED))
    for present in present_tables(data, monitor, deployment.schema):
        if present.table is None:
            yield present, ()
        else:
            yield present, measure_table(DataSet.TRAINING, present.comparison, present.table, monitor=only, at=summary.processed_at)
