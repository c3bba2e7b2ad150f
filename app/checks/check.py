"""One fairness check, from top to bottom. The arithmetic is in `app.metrics`, each step in a file of its own beside this one.

    window → groups → copies not yet scored → the model's answers → count tables → metrics and verdicts → mitigation → one transaction

Nothing of the check is stored before the last step, and no transaction is open while the model is asked.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.checks.carrying import carried_check, carried_forward, still_holds
from app.checks.evidence import Evidence, read_evidence
from app.checks.feedback import LabelPredictions, only_scored, predict_unscored
from app.checks.further import Further, Step
from app.checks.gaps import gaps
from app.checks.labelled import Labelled, labelled
from app.checks.measuring import measure_table, measured_rows, not_measured
from app.checks.rescoring import Answers, Report, Rescorer
from app.checks.revisions import explained
from app.checks.rows import measure_records
from app.checks.subject import Subject, read_subject
from app.checks.tabulation import Tabulated, data_measured_on, tabulate
from app.checks.window import Window
from app.checks.window_details import describe_answers, describe_window
from app.domain.checks import CheckRun, CheckState, Measurement, Progress
from app.errors import ScoringFailed
from app.scoring.client import ScoringClient
from app.store.arrow import arrow_reader
from app.store.counterfactuals import CounterfactualLines, store_targets
from app.store.deployments import Sealer
from app.store.engine import Database
from app.store.leases import finish
from app.store.results import EarlierCheck, StoredTable, store_label_predictions, store_measurements, store_tables
from app.store.window import match_pending_feedback


@dataclass(frozen=True, slots=True)
class Findings:
    """All that a check stores: `window` describes what was read. `kept_tables` are those of the check whose figures it carries."""

    state: CheckState
    window: dict[str, object]
    reason: str | None = None
    tables: tuple[Tabulated, ...] = ()
    kept_tables: tuple[StoredTable, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    answers: Answers | None = None
    label_predictions: LabelPredictions | None = None
    further: Further | None = None


def perform_check(
    check: CheckRun, *, database: Database, sealer: Sealer, allowlist: tuple[str, ...], report: Report, further: Step
) -> None:
    """Evaluates the deployment over the check's span and stores the result, or nothing.

    `report` is told of progress; it raises when the check must stop (cancelled, or its lease lost). `further` is what is made of the
    same window beside the check itself: mitigation.

    Raises:
        ScoringFailed: the model gave no usable answer.
        InvalidInput: the monitor cannot be applied to what was logged.
        LeaseLost: another worker owns the check.
        Unavailable: the database went away.
    """
    subject = read_subject(check, database, sealer)
    report(Progress(step="reading the window"))
    found = _read(subject, _earlier(subject, database), database)
    calling = (allowlist, report)
    findings = (
        _carried(subject, found, database) if isinstance(found, EarlierCheck) else _findings(subject, found, database, calling, further)
    )
    report(Progress(step="storing the result"))
    _store(subject, findings, database)


def _earlier(subject: Subject, database: Database) -> EarlierCheck | None:
    """The check whose figures may still hold, once all labels are joined to the records that have arrived."""
    with database.transaction() as session:
        match_pending_feedback(session, subject.deployment.no)
        return carried_check(session, subject)


def _read(subject: Subject, earlier: EarlierCheck | None, database: Database) -> Evidence | EarlierCheck:
    """The window, or the earlier check where it would find the same again; one reader, so that both are of the same moment."""
    with arrow_reader(database.url) as reader:
        if earlier is not None and still_holds(reader, subject, earlier):
            return earlier
        return read_evidence(reader, subject)


def _carried(subject: Subject, earlier: EarlierCheck, database: Database) -> Findings:
    with database.transaction() as session:
        carried = carried_forward(session, subject, earlier)
    return Findings(CheckState.SUCCEEDED, carried.window, kept_tables=carried.tables, measurements=carried.measurements)


def _findings(subject: Subject, evidence: Evidence, database: Database, calling: tuple[tuple[str, ...], Report], step: Step) -> Findings:
    _, report = calling
    details = describe_window(subject, evidence)
    if len(evidence.window) < subject.monitor.min_records:
        reason = f"{len(evidence.window)} records are there up to the end of the span; {subject.monitor.min_records} are needed."
        return Findings(CheckState.INSUFFICIENT_DATA, details, reason)
    answers, feedback, predictions = _ask_the_model(subject, evidence, database, calling)
    _require_outcomes(evidence, answers)
    details |= describe_answers(evidence.copies)
    report(Progress(step="computing the metrics"))
    labels = labelled(subject, evidence.groupings, feedback)
    tables = tabulate(evidence, labels, subject.monitor)
    measurements = tuple(_measure(subject, (evidence, labels), tables, report))
    report(Progress(step="computing what mitigation would change"))
    further = step(subject, evidence, labels, database)
    return Findings(
        CheckState.SUCCEEDED,
        details | dict(further.details),
        tables=(*tables, *further.tables),
        measurements=(*measurements, *further.measurements),
        answers=answers,
        label_predictions=predictions,
        further=further,
    )


def _measure(
    subject: Subject, read: tuple[Evidence, Labelled | None], tables: Sequence[Tabulated], report: Report
) -> Iterator[Measurement]:
    """From the tables, then from the records themselves; then what could not be measured, with the reason."""
    (evidence, labels), at, monitor = read, subject.at, subject.monitor
    for table in tables:
        for data in data_measured_on(table.data):
            measured = measure_table(data, table.attribute, table.whole, monitor=monitor, at=at, lacking=table.lacking)
            yield from explained(measured, table.own.groups, table.other_revisions)
    for found in measure_records(subject, evidence, labels, report):
        yield from measured_rows(found, monitor=monitor, at=at)
    for gap in gaps(subject, evidence, labels):
        yield from not_measured(gap, monitor=monitor, at=at)


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
            example = "" if answers.unclassified is None else f" (it answered {answers.unclassified}, for instance)"
            raise ScoringFailed(
                f"The model's answers to copies changed in {copies.grouping.column.name} are in neither outcome list{example}. "
                "Compare the endpoint's prediction, or its decoded label, with the monitor's favourable and unfavourable outcomes."
            )


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
        parts = [(table, part, cells) for table in findings.tables for part, cells in table.parts()]
        counted = [StoredTable(table.data, table.attribute, part, cells) for table, part, cells in parts]
        store_tables(session, check.no, [*findings.kept_tables, *counted])
        store_measurements(session, check.no, deployment.no, findings.measurements)
        if findings.answers is not None:
            store_targets(session, deployment.no, findings.answers.new_targets)
            findings.answers.lines.store(session)
        if findings.further is not None and findings.further.store is not None:
            findings.further.store(session, check.no)
        if findings.label_predictions:
            store_label_predictions(session, deployment.no, findings.label_predictions, deployment.model_revision)
