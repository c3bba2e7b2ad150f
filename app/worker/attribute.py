"""Performs one attribution, from top to bottom.

window → gaps → pairs and their hybrids → their cost → the model's answers → shares → one transaction.
Nothing but the cost is stored before, and no transaction is open while the model is called.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from datetime import datetime

import numpy as np
import pyarrow as pa

from ..alerts.channels.notification_queries import queue_explanation
from ..alerts.queries import note_change, read_alerts_by_no
from ..base.clock import HOUR
from ..base.errors import InvalidInput, NotFound
from ..base.values import frozen
from ..calls.egress_policy import EgressPolicy
from ..checks.subject import Calls, Egress, ModelOfCheck, Report
from ..checks.window.window import BEGINNING, BoolArray, PayloadWindow
from ..database.binary_rows import list_column_values, read_row
from ..database.engine import ArrowReader, Database, Sealer, arrow_reader
from ..deployments.monitor.queries import find_monitor
from ..deployments.queries import Deployments, hold_deployment
from ..domain.alert import Alert, RuleKind
from ..domain.check import Progress, Span, Trigger
from ..domain.deployment import Deployment
from ..domain.groups import GroupWords
from ..domain.monitor import Comparison, Monitor, find_comparison
from ..evidence.attribution.attribution import (
    AttributionCost,
    AttributionResult,
    AttributionRun,
    AttributionTrigger,
    ChangedGap,
    ChangedParts,
    Method,
    PeriodCounts,
    RevisionBoundary,
)
from ..evidence.attribution.compared_records import (
    WindowRecords,
    build_window_query,
    read_as_monitored,
    read_window_records,
)
from ..evidence.attribution.model_questions import (
    DividedFeatures,
    HybridScorer,
    choose_seed,
    divide_gaps,
    plan_attribution,
)
from ..evidence.attribution.queries import finish_attribution, note_cost
from ..evidence.attribution.words import say_change
from ..sources.stored.window_queries import read_newest_payload
from ..statistics.attribution.cell_parts import count_cells, explain_change_of_gap
from ..statistics.attribution.hybrid_values import MIN_UNITS
from ..statistics.group_labels import IntArray


@frozen
class AlertedGroup:
    """Group of an alert that may be as old as the first counted hour, `counted_from`; None: it is younger."""

    comparison: Comparison
    group: str
    counted_from: datetime | None


def explain_alert(
    reader: ArrowReader, deployment: Deployment, monitor: Monitor, alerted: AlertedGroup, span: Span
) -> AttributionResult:
    """Explains why the gap changed; `span` goes from the onset to the alarm.

    At most `max_records` of either side are read, the newest. Before the onset, earlier revisions count as
    well if the present one has too few records of a group, and they alone if the alert may be as old as the
    first counted hour.

    Raises:
        InvalidInput: the monitor cannot be applied to what was logged.
    """
    query = build_window_query(deployment, monitor, deployment.schema.features)
    newest = read_newest_payload(reader, query, span, monitor.max_records)
    earlier = read_newest_payload(reader, query, Span(start=BEGINNING, end=span.start), monitor.max_records)
    rows = pa.concat_tables([newest, earlier])
    records = read_as_monitored(
        deployment, monitor, PayloadWindow(rows, newest.num_rows, query.columns, newest.num_rows)
    )
    features = DividedFeatures(records)

    groups, codes = records.read.compare(alerted.comparison)
    sides = (
        np.isin(codes, [code for code, (label, _) in enumerate(groups) if label == alerted.group]),
        np.isin(codes, [code for code, (_, role) in enumerate(groups) if role == "reference"]),
    )
    is_after = records.window.mark_own()
    is_before = ~is_after
    if alerted.counted_from is not None:
        is_before = _select_counted_before(records, alerted.counted_from)
    early = [np.flatnonzero(is_before & records.is_usable & side) for side in sides]
    if min(map(len, early)) < MIN_UNITS:
        early = [
            np.flatnonzero(is_before & records.is_classified & records.is_drawn & side) for side in sides
        ]
    late = [np.flatnonzero(is_after & records.is_usable & side) for side in sides]
    labels = (alerted.group, alerted.comparison.reference_label(monitor))
    before, after = (_count_period(records, labels, period) for period in (early, late))

    changes = []
    has_gaps = before.gap is not None and after.gap is not None
    for column, content in features if has_gaps else ():
        # All four in one division into bins, else their cells could not be compared.
        counts = count_cells(content, records.is_favourable, (early[0], late[0], early[1], late[1]))
        change = explain_change_of_gap(*counts)
        rates = change.of_difference
        ratio = change.of_log_ratio
        if rates is not None:
            ratios = {
                f"{name}_log_ratio": None if ratio is None else getattr(ratio, name)
                for name in ("who_asked", "how_answered", "no_counterpart")
            }
            changes.append(read_row(ChangedParts, rates, feature=column.name, **ratios))
    changed = ChangedGap(
        attribute=alerted.comparison.label,
        group=alerted.group,
        at=span.start,
        before=before,
        after=after,
        boundary=_find_boundary(records),
        features=tuple(changes),
        reaches_first_hour=alerted.counted_from is not None,
    )
    return replace(_count_records(records, Method.KITAGAWA), left_out=features.left_out, change=changed)


def _select_counted_before(records: WindowRecords, first_hour: datetime) -> BoolArray:
    is_before = ~records.window.mark_own()
    is_present = np.asarray(records.revisions == records.deployment.model_revision)
    before = np.flatnonzero(is_before & is_present)
    # The newest come first in a window.
    if len(before) and records.window.rows["logged_at"][int(before[-1])].as_py() < first_hour - HOUR:
        return np.zeros(len(is_before), dtype=np.bool_)
    return np.asarray(is_before & ~is_present)


def _count_period(
    records: WindowRecords, labels: Sequence[str | None], sides: Sequence[IntArray]
) -> PeriodCounts:
    both = np.sort(np.concatenate(sides))
    times = records.window.rows["logged_at"].take(both).to_pylist()
    monitored, reference = (records.count(label, side) for label, side in zip(labels, sides, strict=True))
    return PeriodCounts(
        monitored=monitored,
        reference=reference,
        first=times[-1] if times else None,
        last=times[0] if times else None,
        revisions=dict(Counter(records.revisions[both].tolist())),
        gap=None if monitored.rate is None or reference.rate is None else monitored.rate - reference.rate,
    )


def _find_boundary(records: WindowRecords) -> RevisionBoundary | None:
    is_present: BoolArray = records.revisions == records.deployment.model_revision
    earlier = np.flatnonzero(~is_present)
    if not len(earlier) or earlier[0] == 0:
        return None
    # The newest come first: before the newest record of another revision is the present one's first.
    first = records.window.rows["logged_at"][int(earlier[0]) - 1].as_py()
    return RevisionBoundary(
        before=str(records.revisions[earlier[0]]), after=records.deployment.model_revision, at=first
    )


def perform_attribution(
    run: AttributionRun, *, database: Database, sealer: Sealer, report: Report, egress: Egress = EgressPolicy
) -> None:
    """Performs an attribution; stores its result, or nothing.

    `report` gets the progress and raises when the attribution must stop. Raises ScoringFailed, InvalidInput
    (also of too few pairs), NotFound (something was deleted meanwhile), LeaseLost, Unavailable.
    """
    with database.transaction() as session:
        deployment = Deployments(session, sealer).get_by_no(run.deployment_no)
        monitor = find_monitor(session, run.deployment_no)
        if monitor is None:
            raise NotFound("fairness monitor of deployment", run.deployment_id)
        alerts = [] if run.alert_no is None else read_alerts_by_no(session, [run.alert_no])
        if run.trigger is AttributionTrigger.ALERT and not alerts:
            raise NotFound("alert of attribution", run.id)
    report(Progress(step="reading the window"))
    asked_rows = 0
    if alerts:
        result = _explain_alert(run, deployment, monitor, alerts[0], database)
    elif deployment.endpoint is None:
        result = _divide_by_cells(run, deployment, monitor, database)
    else:
        seed = choose_seed(monitor)
        with arrow_reader(database) as reader:
            records = read_window_records(reader, deployment, monitor, run.span)
            plan = plan_attribution(reader, records, run.limits, seed=seed)
        with database.transaction() as session:
            note_cost(session, run, plan.count_cost(deployment.endpoint.page_size))
        # Nobody waits for a nightly one: it leaves a failing endpoint alone, as a scheduled check does.
        trigger = Trigger.SCHEDULE if run.trigger is AttributionTrigger.NIGHTLY else Trigger.REQUEST
        calls = Calls(egress, report, nullcontext)
        model = ModelOfCheck(trigger, deployment, deployment.endpoint, database=database, calls=calls)
        scorer = HybridScorer(database, records, model, run.no)
        gaps = scorer.attribute(plan, seed=seed)
        result = replace(_count_records(records, Method.HYBRIDS), gaps=gaps)
        asked_rows = scorer.asked
    report(Progress(step="storing the result"))
    with database.transaction() as session:
        # First, because it raises if the lease is gone.
        finish_attribution(session, run, result, asked_rows=asked_rows)
        if result.change is not None and hold_deployment(session, run.deployment_no):
            change = result.change
            columns = {"sentence": say_change(change), "attribution_id": run.id}
            displayed = replace(change, group=GroupWords.of(monitor).label(change.attribute, change.group))
            if displayed != change:
                columns["display_sentence"] = say_change(displayed)
            alert = note_change(session, alerts[0], columns | list_column_values(change))
            if alert is not None and alert.resolved_at is None and change.is_known:
                queue_explanation(session, alert)


def _divide_by_cells(
    run: AttributionRun, deployment: Deployment, monitor: Monitor, database: Database
) -> AttributionResult:
    with arrow_reader(database) as reader:
        records = read_window_records(
            reader, deployment, monitor, run.span, further=deployment.schema.features
        )
    with database.transaction() as session:
        note_cost(session, run, AttributionCost(rows=0, requests=0))
    divided = DividedFeatures(records)
    gaps = divide_gaps(records, divided, run.limits.comparisons, seed=choose_seed(monitor))
    return replace(_count_records(records, Method.KITAGAWA), gaps=gaps, left_out=divided.left_out)


def _explain_alert(
    run: AttributionRun, deployment: Deployment, monitor: Monitor, alert: Alert, database: Database
) -> AttributionResult:
    comparison = None if alert.attribute is None else find_comparison(monitor, alert.attribute)
    if comparison is None or alert.group is None:
        raise InvalidInput(
            "attributes",
            f"no longer include {alert.attribute}, which the alert is about; its change cannot be explained "
            "any more",
        )
    figure = alert.find(RuleKind.EVIDENCE) or alert.worst
    revision = str(figure.facts.get("model_revision", deployment.model_revision))
    first_hour = figure.facts.get("counted_from")
    alerted = AlertedGroup(
        comparison, alert.group, None if first_hour is None else datetime.fromisoformat(str(first_hour))
    )
    with arrow_reader(database) as reader:
        return explain_alert(reader, replace(deployment, model_revision=revision), monitor, alerted, run.span)


def _count_records(records: WindowRecords, method: Method) -> AttributionResult:
    revision = records.deployment.model_revision
    is_present = records.revisions == revision
    return AttributionResult(
        method=method,
        model_revision=revision,
        monitor_version=records.read.monitor.version,
        records=len(records.window),
        additional_records=records.window.additional,
        other_revisions=int(np.sum(~is_present)),
        unclassified=int(np.sum(is_present & ~records.is_classified)),
        not_drawn=int(np.sum(is_present & records.is_classified & ~records.is_drawn)),
    )
