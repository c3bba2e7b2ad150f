"""Why the gap of an alert changed: records before the onset against those from there to the alarm."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from ...attribution.bins import count_cells
from ...attribution.changes import BeforeAndAfter, explain_change_of_gap
from ...attribution.intervals import MIN_UNITS
from ...clock import HOUR
from ...domain.attributions import ChangedGap, ChangedParts, PeriodCounts, RevisionBoundary
from ...domain.checks import Span
from ...domain.comparisons import Comparison
from ...domain.deployments import Deployment
from ...domain.monitors import Monitor
from ...metrics.groups import IntArray
from ...store.database.arrow import ArrowReader
from ...store.records.window import newest_payload
from ..window import BEGINNING, PayloadWindow
from .cells import DividedFeatures
from .records import WindowRecords, query_of, read_as_monitored


@dataclass(frozen=True, slots=True)
class AlertedGroup:
    """Group that an alert is about; `counted_from` is the first counted hour if the alert may be as old."""

    comparison: Comparison
    group: str
    counted_from: datetime | None


@dataclass(frozen=True, slots=True)
class ExplainedAlert:
    records: WindowRecords
    features: DividedFeatures
    change: ChangedGap


def explain_alert(reader: ArrowReader, deployment: Deployment, monitor: Monitor, alerted: AlertedGroup, span: Span) -> ExplainedAlert:
    """Reasons for the change; `span` goes from the onset to the alarm.

    At most `max_records` of either side are read, the newest. Before the onset, earlier revisions count as well if the present one has too
    few records of a group, and they alone if the alert may be as old as the first counted hour.

    Raises:
        InvalidInput: the monitor cannot be applied to what was logged.
    """
    query = query_of(deployment, monitor, deployment.schema.features)
    after = newest_payload(reader, query, span, monitor.max_records)
    before = newest_payload(reader, query, Span(start=BEGINNING, end=span.start), monitor.max_records)
    rows = pa.concat_tables([after, before])
    records = read_as_monitored(deployment, monitor, PayloadWindow(rows, after.num_rows, query.columns, after.num_rows))
    features = DividedFeatures(records)
    return ExplainedAlert(records, features, _explain(records, features, alerted, span.start))


def _explain(records: WindowRecords, features: DividedFeatures, alerted: AlertedGroup, onset: datetime) -> ChangedGap:
    named, codes = records.read.compare(alerted.comparison)
    is_member = np.isin(codes, [place for place, (label, _) in enumerate(named) if label == alerted.group])
    is_reference = np.isin(codes, [place for place, (_, role) in enumerate(named) if role == "reference"])
    is_after = records.window.is_own()
    is_before = ~is_after if alerted.counted_from is None else _select_counted_before(records, alerted.counted_from)
    early = [np.flatnonzero(is_before & records.is_usable & side) for side in (is_member, is_reference)]
    if min(map(len, early)) < MIN_UNITS:
        early = [np.flatnonzero(is_before & records.is_classified & records.is_drawn & side) for side in (is_member, is_reference)]
    late = [np.flatnonzero(is_after & records.is_usable & side) for side in (is_member, is_reference)]
    labels = (alerted.group, alerted.comparison.reference_label(records.read.monitor))
    before, after = (_count_period(records, labels, found) for found in (early, late))

    parts = []
    for column, content in features if before.gap is not None and after.gap is not None else ():
        # All four in one division into bins, else their cells could not be compared.
        counts = count_cells(content, records.is_favourable, (early[0], late[0], early[1], late[1]))
        change = explain_change_of_gap(BeforeAndAfter(*counts[:2]), BeforeAndAfter(*counts[2:]))
        rates, ratio = change.of_difference, change.of_log_ratio
        if rates is not None:
            parts.append(
                ChangedParts(
                    feature=column.name,
                    who_asked=rates.who_asked,
                    how_answered=rates.how_answered,
                    no_counterpart=rates.no_counterpart,
                    who_asked_log_ratio=None if ratio is None else ratio.who_asked,
                    how_answered_log_ratio=None if ratio is None else ratio.how_answered,
                    no_counterpart_log_ratio=None if ratio is None else ratio.no_counterpart,
                )
            )
    return ChangedGap(
        attribute=alerted.comparison.label,
        group=alerted.group,
        at=onset,
        before=before,
        after=after,
        boundary=_find_boundary(records),
        features=tuple(parts),
        reaches_first_hour=alerted.counted_from is not None,
    )


def _select_counted_before(records: WindowRecords, first_hour: datetime) -> npt.NDArray[np.bool_]:
    """Those of a revision that ended in the hour before."""
    is_before = ~records.window.is_own()
    is_present = np.asarray(records.revisions == records.deployment.model_revision)
    own = np.flatnonzero(is_before & is_present)
    # The newest come first in a window.
    if len(own) and records.window.rows["logged_at"][int(own[-1])].as_py() < first_hour - HOUR:
        return np.zeros(len(is_before), dtype=np.bool_)
    return np.asarray(is_before & ~is_present)


def _count_period(records: WindowRecords, labels: Sequence[str | None], sides: Sequence[IntArray]) -> PeriodCounts:
    everyone = np.sort(np.concatenate(sides))
    times = records.window.rows["logged_at"].take(everyone).to_pylist()
    monitored, reference = (records.count(label, side) for label, side in zip(labels, sides, strict=True))
    return PeriodCounts(
        monitored=monitored,
        reference=reference,
        first=times[-1] if times else None,
        last=times[0] if times else None,
        revisions=dict(Counter(records.revisions[everyone].tolist())),
        gap=None if monitored.rate is None or reference.rate is None else monitored.rate - reference.rate,
    )


def _find_boundary(records: WindowRecords) -> RevisionBoundary | None:
    is_present: npt.NDArray[np.bool_] = records.revisions == records.deployment.model_revision
    earlier = np.flatnonzero(~is_present)
    if not len(earlier) or earlier[0] == 0:
        return None
    # The newest come first: the record before the newest one of another revision is the first of the present one.
    first = records.window.rows["logged_at"][int(earlier[0]) - 1].as_py()
    return RevisionBoundary(before=str(records.revisions[earlier[0]]), after=records.deployment.model_revision, at=first)
