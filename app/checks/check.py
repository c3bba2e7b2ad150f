"""One fairness check, from top to bottom. The arithmetic is in `app.metrics`, each step in a file of its own beside this one.

    window → groups → copies not yet scored → the model's answers → count tables → metrics and verdicts → one transaction

Nothing is stored before the last step, and no transaction is open while the model is asked.
"""

from dataclasses import dataclass, replace
from itertools import chain

from app.checks.carrying import carried_forward
from app.checks.evidence import Evidence, read_evidence
from app.checks.feedback import LabelPredictions, compare, only_scored, predict_unscored
from app.checks.grouping import group_records
from app.checks.measuring import NotMeasured, measure_table, not_measured
from app.checks.rescoring import Answers, Report, Rescorer
from app.checks.subject import Subject, read_subject
from app.checks.tabulation import ADDITIONAL, OWN, Tabulated, tabulate_balanced, tabulate_feedback, tabulate_payload
from app.checks.window import Window
from app.checks.window_details import describe_answers, describe_window
from app.domain.checks import CheckRun, CheckState, DataSet, Measurement, Progress
from app.errors import ScoringFailed
from app.metrics.catalogue import metrics_on
from app.scoring.client import ScoringClient
from app.store.arrow import arrow_reader
from app.store.counterfactuals import CounterfactualLines, store_targets
from app.store.deployments import Sealer
from app.store.engine import Database
from app.store.leases import finish
from app.store.results import StoredTable, store_label_predictions, store_measurements, store_tables
from app.store.window import match_pending_feedback

NO_ENDPOINT = "the deployment has no endpoint, so copies of its records cannot be scored"
NO_LABELS = "no labelled record is there"
UNSCORED_LABELS = "the labelled records have no prediction, and the deployment has no endpoint to ask for one"


@dataclass(frozen=True, slots=True)
class Findings:
    """All that a check stores: `window` describes what was read."""

    state: CheckState
    window: dict[str, object]
    reason: str | None = None
    tables: tuple[Tabulated, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    answers: Answers | None = None
    label_predictions: LabelPredictions | None = None


def perform_check(check: CheckRun, *, database: Database, sealer: Sealer, allowlist: tuple[str, ...], report: Report) -> None:
    """Evaluates the deployment over the check's span and stores the result, or nothing.

    `report` is told of progress; it raises when the check must stop (cancelled, or its lease lost).

    Raises:
        ScoringFailed: the model gave no usable answer.
        InvalidInput: the monitor cannot be applied to what was logged.
        LeaseLost: another worker owns the check.
        Unavailable: the database went away.
    """
    subject = read_subject(check, database, sealer)
    report(Progress(step="reading the window"))
    findings = _carried(subject, database) or _findings(subject, database, allowlist, report)
    report(Progress(step="storing the result"))
    _store(subject, findings, database)


def _carried(subject: Subject, database: Database) -> Findings | None:
    with database.transaction() as session:
        match_pending_feedback(session, subject.deployment.no)
        carried = carried_forward(session, subject)
    return None if carried is None else Findings(CheckState.SUCCEEDED, carried.window, measurements=carried.measurements)


def _findings(subject: Subject, database: Database, allowlist: tuple[str, ...], report: Report) -> Findings:
    with arrow_reader(database.url) as reader:
        evidence = read_evidence(reader, subject)
    details = describe_window(subject, evidence)
    if len(evidence.window) < subject.monitor.min_records:
        reason = f"{len(evidence.window)} records are there up to the end of the span; {subject.monitor.min_records} are needed."
        return Findings(CheckState.INSUFFICIENT_DATA, details, reason)
    answers, feedback, predictions = _ask_the_model(subject, evidence, database, (allowlist, report))
    _require_outcomes(evidence, answers)
    details |= describe_answers(evidence.copies)
    report(Progress(step="computing the metrics"))
    tables = _tabulate(subject, replace(evidence, feedback=feedback))
    at, monitor = subject.at, subject.monitor
    measured = [measure_table(table.data, table.attribute, table.whole, monitor=monitor, at=at) for table in tables]
    absent = [not_measured(gap, monitor, at) for gap in _gaps(subject, evidence, feedback)]
    return Findings(CheckState.SUCCEEDED, details, None, tuple(tables), tuple(chain(*measured, *absent)), answers, predictions)


def _ask_the_model(
    subject: Subject, evidence: Evidence, database: Database, calling: tuple[tuple[str, ...], Report]
) -> tuple[Answers, Window, LabelPredictions]:
    """Scores the copies, and the labelled records without a prediction, that nobody has scored yet."""
    deployment, (allowlist, report) = subject.deployment, calling
    if deployment.endpoint is None:
        return Answers(CounterfactualLines(), {}), only_scored(evidence.feedback), {}
    columns = [column.name for column in deployment.schema.features]
    client = ScoringClient(deployment.endpoint, deployment.outputs, columns, allowlist=allowlist)
    rescorer = Rescorer(database, deployment, client, rule=subject.monitor.outcomes, report=report)
    answers = rescorer.rescore(evidence.window, evidence.copies, evidence.known_targets)
    return answers, *predict_unscored(evidence.feedback, database, deployment, client, report)


def _require_outcomes(evidence: Evidence, answers: Answers) -> None:
    """A model that speaks of other outcomes than the monitor leaves nothing to compare; silence would look like fairness."""
    for copies in evidence.copies:
        asked = copies.needed.sum(axis=0)
        if ((asked > 0) & (copies.classified.sum(axis=0) == 0)).any():
            example = "" if answers.unclassified is None else f" (it answered {answers.unclassified!r}, for instance)"
            raise ScoringFailed(
                f"The model's answers to copies changed in {copies.grouping.column.name} are in neither outcome list{example}. "
                "Compare the endpoint's prediction, or its decoded label, with the monitor's favourable and unfavourable outcomes."
            )


def _tabulate(subject: Subject, evidence: Evidence) -> list[Tabulated]:
    window, outcomes, feedback = evidence.window, evidence.outcomes, evidence.feedback
    of_feature = {grouping.column.name: grouping for grouping in evidence.groupings}
    together = [[of_feature[name] for name in names] for names in subject.monitor.intersections]
    sets = [*([grouping] for grouping in evidence.groupings), *together]
    tables = [tabulate_payload(window, outcomes, groupings) for groupings in sets]
    tables += [tabulate_balanced(window, outcomes, copies) for copies in evidence.copies]
    if len(feedback):
        comparison = compare(feedback, subject.monitor.outcomes, subject.deployment.problem_type)
        of_label = {
            name: group_records(subject.fixed(grouping), grouping.column, feedback.values(no))
            for no, (name, grouping) in enumerate(of_feature.items())
        }
        label_sets = [
            [],
            *([grouping] for grouping in of_label.values()),
            *([of_label[n] for n in names] for names in subject.monitor.intersections),
        ]
        tables += [tabulate_feedback(feedback, comparison, groupings) for groupings in label_sets]
    return tables


def _gaps(subject: Subject, evidence: Evidence, feedback: Window) -> list[NotMeasured]:
    gaps = []
    if subject.deployment.endpoint is None:
        keys = ("disparate_impact", "perfect_equality", "flip_rate")
        gaps += [NotMeasured(DataSet.BALANCED, attribute.feature, keys, NO_ENDPOINT) for attribute in subject.monitor.attributes]
    if not len(feedback):
        reason = UNSCORED_LABELS if len(evidence.feedback) else NO_LABELS
        gaps.append(NotMeasured(DataSet.FEEDBACK, None, tuple(metric.key for metric in metrics_on("feedback")), reason))
    return gaps


def _store(subject: Subject, findings: Findings, database: Database) -> None:
    """Everything in one transaction, which fails as a whole when the lease is gone."""
    check, deployment = subject.check, subject.deployment
    with database.transaction() as session:
        finish(
            session,
            check,
            state=findings.state,
            reason=findings.reason,
            window=findings.window,
            monitor_version=subject.monitor.version,
            model_revision=deployment.model_revision,
        )
        parts = [(table, part, cells) for table in findings.tables for part, cells in ((OWN, table.own), (ADDITIONAL, table.additional))]
        store_tables(session, check.no, [StoredTable(table.data, table.attribute, part, cells.to_json()) for table, part, cells in parts])
        store_measurements(session, check.no, deployment.no, findings.measurements)
        if findings.answers is not None:
            store_targets(session, deployment.no, findings.answers.new_targets)
            findings.answers.lines.store(session)
        if findings.label_predictions:
            store_label_predictions(session, deployment.no, findings.label_predictions, deployment.model_revision)
