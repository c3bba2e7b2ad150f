"""The view of training data: how their labels fall between the monitor's groups, as they and the monitor are now.

A check measures no training data, so this is the one view that is not of the check itself: it says when the data were processed.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from sqlalchemy.orm import Session

from app.checks.measuring import measure_table
from app.domain.checks import CheckRun, DataSet
from app.domain.deployments import Deployment
from app.domain.monitors import Monitor
from app.domain.training_data import TrainingData, TrainingSummary
from app.store.monitors import monitor_of
from app.store.training_data import distributions_of, label_tables_of, training_summary_of
from app.training.present import Present, present_tables
from app.training.unclassified import unclassified_labels
from app.views.check_source import features_of
from app.views.check_views import AttributeView
from app.views.group_shares import shares, side

RATE: Final = "base_rate"
COMPARED: Final = "difference_in_proportions_of_labels"

NO_DATA = "no training data were uploaded"
NO_MONITOR = "the deployment has no fairness monitor any more, which says who is compared with whom"
AS_OF_NOW = (
    "These figures are of the training data as they are now, processed {when:%Y-%m-%d %H:%M} UTC{later}; a check does not measure them."
)
LATER = ", which is after the check"
OTHER_MONITOR = "The monitor was changed since the check: the groups are those of its present version {now}, the check's was {then}."


@dataclass(frozen=True, slots=True)
class TrainingView:
    """What the view says beside the check."""

    attributes: tuple[AttributeView, ...]
    records: int
    unclassified: int | None
    processed_at: datetime
    notes: tuple[str, ...]


def why_no_training(session: Session, deployment_no: int) -> str | None:
    """Why there is no view of training data; None if there is one."""
    if training_summary_of(session, deployment_no) is None:
        return NO_DATA
    return NO_MONITOR if monitor_of(session, deployment_no) is None else None


def training_view(session: Session, deployment: Deployment, check: CheckRun) -> TrainingView | str:
    """The view, or why there is none."""
    summary, monitor = training_summary_of(session, deployment.no), monitor_of(session, deployment.no)
    if summary is None:
        return NO_DATA
    if monitor is None:
        return NO_MONITOR
    data = TrainingData(summary, distributions_of(session, deployment.no), label_tables_of(session, deployment.no))
    unclassified = unclassified_labels(summary.labels, monitor.outcomes)
    return TrainingView(
        tuple(_attribute(found, monitor, summary) for found in present_tables(data, monitor, deployment.schema)),
        summary.records,
        None if unclassified is None else unclassified.records,
        summary.processed_at,
        tuple(_notes(check, monitor, summary)),
    )


def _attribute(found: Present, monitor: Monitor, summary: TrainingSummary) -> AttributeView:
    name = found.attribute
    if found.table is None:
        return AttributeView(attribute=name, features=features_of(name), reason=found.reason)
    only = replace(monitor, metrics=(RATE, COMPARED))
    measured = measure_table(DataSet.TRAINING, name, found.table, monitor=only, at=summary.processed_at)
    rates, compared = ([one for one in measured if one.metric == metric] for metric in (RATE, COMPARED))
    known = side(rates, compared, counted_as="actual_favourable")
    groups, pooled = shares(found.table, type(found.table).merged([]), known)
    return AttributeView(
        attribute=name,
        features=features_of(name),
        groups=groups,
        pooled=pooled,
        worst=known.worst,
        in_no_group=found.table.other,
    )


def _notes(check: CheckRun, monitor: Monitor, summary: TrainingSummary) -> Iterator[str]:
    ended = check.finished_at
    yield AS_OF_NOW.format(when=summary.processed_at, later=LATER if ended is not None and summary.processed_at > ended else "")
    if check.monitor_version is not None and check.monitor_version != monitor.version:
        yield OTHER_MONITOR.format(now=monitor.version, then=check.monitor_version)
