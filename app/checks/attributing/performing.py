"""One attribution, from top to bottom.

window → gaps → pairs and their hybrids → their cost → the model's answers → shares → one transaction. Nothing but the cost is stored
before, and no transaction is open while the model is called.
"""

from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import datetime

import numpy as np

from ...domain.alerts import Alert, Event
from ...domain.attributions import AttributionCost, AttributionResult, AttributionRun, AttributionTrigger, Method
from ...domain.checks import Progress, Trigger
from ...domain.comparisons import find_comparison
from ...domain.deployments import Deployment, Endpoint
from ...domain.group_words import GroupWords
from ...domain.monitors import Monitor
from ...errors import InvalidInput, NotFound
from ...outbound.egress import EgressPolicy
from ...store.alerts.alert_rules import hold_deployment
from ...store.alerts.alerts import alerts_by_no, note_change
from ...store.alerts.notifications import queue_notifications
from ...store.attributions.attributions import encode_result
from ...store.attributions.leases import finish_attribution, note_cost
from ...store.database.arrow import arrow_reader
from ...store.database.engine import Database
from ...store.database.sealer import Sealer
from ...store.deployments.deployments import Deployments
from ...store.deployments.monitors import monitor_of
from ..asking import Calls, Egress, ModelOfCheck, Report
from .cells import DividedFeatures, divide_gaps
from .changing import AlertedGroup, explain_alert
from .hybrids import HybridScorer
from .questions import plan_attribution
from .records import WindowRecords, read_window_records
from .sentences import say_change


@dataclass(frozen=True, slots=True)
class _Subject:
    run: AttributionRun
    deployment: Deployment
    monitor: Monitor
    alert: Alert | None


@dataclass(frozen=True, slots=True)
class _Found:
    result: AttributionResult
    asked_rows: int = 0


def perform_attribution(run: AttributionRun, *, database: Database, sealer: Sealer, report: Report, egress: Egress = EgressPolicy) -> None:
    """Performs an attribution and stores its result, or nothing.

    `report` gets the progress and raises when the attribution must stop.

    Raises:
        ScoringFailed: the model gave no usable answer.
        InvalidInput: the monitor cannot be applied to what was logged, or the limits leave too few pairs.
        NotFound: the deployment, its monitor or the alert was deleted meanwhile.
        LeaseLost: another worker owns the attribution.
        Unavailable: the database is not available any more.
    """
    subject = _read_subject(run, database, sealer)
    report(Progress(step="reading the window"))
    if subject.alert is not None:
        found = _explain_alert(subject, subject.alert, database)
    elif subject.deployment.endpoint is None:
        found = _divide_by_cells(subject, database)
    else:
        found = _ask_model(subject, subject.deployment.endpoint, database, Calls(egress, report, nullcontext))
    report(Progress(step="storing the result"))
    with database.transaction() as session:
        # First, because it raises if the lease is gone.
        finish_attribution(session, run, found.result, asked_rows=found.asked_rows)
        if subject.alert is not None and found.result.change is not None and hold_deployment(session, run.deployment_no):
            plain = found.result.change
            said = {"sentence": say_change(plain), "attribution_id": run.id}
            named = replace(plain, group=GroupWords.of(subject.monitor).label(plain.attribute, plain.group))
            said |= {} if named == plain else {"display_sentence": say_change(named)}
            change = encode_result(found.result)["change"]
            changed = note_change(session, subject.alert, {**said, **change})
            if changed is not None and changed.resolved_at is None and plain.is_known:
                queue_notifications(session, changed, Event.EXPLAINED)


def attribution_seed(monitor: Monitor) -> int:
    """Seed of the pairs and the resampling, as one that numpy takes."""
    return monitor.seed % 2**63


def _read_subject(run: AttributionRun, database: Database, sealer: Sealer) -> _Subject:
    with database.transaction() as session:
        deployment = Deployments(session, sealer).by_no(run.deployment_no)
        monitor = monitor_of(session, run.deployment_no)
        if monitor is None:
            raise NotFound("fairness monitor of deployment", run.deployment_id)
        alerts = [] if run.alert_no is None else alerts_by_no(session, [run.alert_no])
        if run.trigger is AttributionTrigger.ALERT and not alerts:
            raise NotFound("alert of attribution", run.id)
    return _Subject(run, deployment, monitor, alerts[0] if alerts else None)


def _ask_model(subject: _Subject, endpoint: Endpoint, database: Database, calls: Calls) -> _Found:
    run, seed = subject.run, attribution_seed(subject.monitor)
    with arrow_reader(database) as reader:
        records = read_window_records(reader, subject.deployment, subject.monitor, run.span)
        plan = plan_attribution(reader, records, run.limits, seed=seed)
    with database.transaction() as session:
        note_cost(session, run, plan.cost(endpoint.page_size))
    # Nobody waits for a nightly one: it leaves a failing endpoint alone, as a scheduled check does.
    trigger = Trigger.SCHEDULE if run.trigger is AttributionTrigger.NIGHTLY else Trigger.REQUEST
    model = ModelOfCheck(trigger, subject.deployment, endpoint, database=database, calls=calls)
    scorer = HybridScorer(database, records, model, run.no)
    gaps = scorer.attribute(plan, seed=seed)
    return _Found(replace(_count_records(subject, records, Method.HYBRIDS), gaps=gaps), scorer.asked)


def _divide_by_cells(subject: _Subject, database: Database) -> _Found:
    with arrow_reader(database) as reader:
        features = subject.deployment.schema.features
        records = read_window_records(reader, subject.deployment, subject.monitor, subject.run.span, further=features)
    with database.transaction() as session:
        note_cost(session, subject.run, AttributionCost(rows=0, requests=0))
    divided = DividedFeatures(records)
    gaps = divide_gaps(records, divided, subject.run.limits.comparisons, seed=attribution_seed(subject.monitor))
    return _Found(replace(_count_records(subject, records, Method.KITAGAWA), gaps=gaps, left_out=divided.left_out))


def _explain_alert(subject: _Subject, alert: Alert, database: Database) -> _Found:
    about, monitor = alert.subject, subject.monitor
    comparison = None if about.attribute is None else find_comparison(monitor, about.attribute)
    if comparison is None or about.group is None:
        raise InvalidInput.of(
            "attributes", f"no longer include {about.attribute}, which the alert is about; its change cannot be explained any more"
        )
    revision = str(alert.facts.get("model_revision", subject.deployment.model_revision))
    subject = replace(subject, deployment=replace(subject.deployment, model_revision=revision))
    first_hour = alert.facts.get("counted_from")
    alerted = AlertedGroup(comparison, about.group, None if first_hour is None else datetime.fromisoformat(str(first_hour)))
    with arrow_reader(database) as reader:
        found = explain_alert(reader, subject.deployment, monitor, alerted, subject.run.span)
    result = _count_records(subject, found.records, Method.KITAGAWA)
    return _Found(replace(result, left_out=found.features.left_out, change=found.change))


def _count_records(subject: _Subject, records: WindowRecords, method: Method) -> AttributionResult:
    is_present = records.revisions == subject.deployment.model_revision
    return AttributionResult(
        method=method,
        model_revision=subject.deployment.model_revision,
        monitor_version=subject.monitor.version,
        records=len(records.window),
        additional_records=records.window.additional,
        other_revisions=int(np.sum(~is_present)),
        unclassified=int(np.sum(is_present & ~records.is_classified)),
        not_drawn=int(np.sum(is_present & records.is_classified & ~records.is_drawn)),
    )
