"""One fairness check, from top to bottom.

window → groups → copies not yet scored → the model's answers → count tables → metrics and verdicts →
mitigation → one transaction. Nothing of the check is stored before, and no transaction is open while the
model is called.
"""

from collections.abc import Callable, Sequence
from contextlib import closing, nullcontext
from dataclasses import field, replace
from typing import cast

import pyarrow as pa
from sqlalchemy.orm import Session

from ..base.clock import floor_to_hour
from ..base.errors import ScoringFailed
from ..base.strict_json import JsonObject
from ..base.values import frozen, frozen_by_name
from ..calls.egress_policy import EgressPolicy
from ..database.engine import Database, Sealer, arrow_reader
from ..domain.check import CheckRun, CheckState, DataSet, Failure, Measurement, Progress
from ..domain.deployment import PayloadTable
from ..domain.monitor import Comparison
from ..sources.stored.copy_answers import CounterfactualLines, store_targets
from ..sources.stored.window_queries import match_pending_feedback, note_changed_hours
from ..sources.tables.own_files import FlagFile
from ..statistics.measures.label_states import LabelCounts, judge_labels
from ..statistics.tables.count_table import LabelledCells
from .carry_forward import carry_forward, find_earlier_check, make_fingerprint, still_holds
from .copies.refusals import describe_not_scored, explain_not_scored
from .copies.repeats import describe_repeats
from .copies.rescore import CopySource, FiledCopies, LoggedCopies, RescoredCopies, rescore
from .counting.count_files import CountedSpan, count_span
from .counting.left_out_of_check import describe_left_out
from .counting.tabulate import EVERYBODY, PeriodTables, list_measured_data, tabulate
from .lease_queries import CHECK_POLICY, finish_check
from .measure import build_measurements, find_gaps, measure_records, measure_table
from .result_queries import (
    StoredTable,
    count_not_stored,
    store_label_predictions,
    store_measurements,
    store_tables,
)
from .subject import Calls, Egress, ModelOfCheck, Report, Subject, Waiting, read_subject
from .window.labelled_window import (
    LabelledWindow,
    LabelPredictions,
    PredictedLabels,
    keep_scored,
    predict_unscored,
    read_labels,
)
from .window.window import NO_TABLES, FiledRecords, LoggedRecords, TablePlaces
from .window.window_records import (
    ERASED_RECORDS,
    LABELS_OF_SOME,
    CheckEvidence,
    describe_answers,
    describe_window,
    is_unequal,
    read_evidence,
    remove_values,
)


@frozen_by_name
class FurtherResults:
    """Results of mitigation. `store` writes all but tables and measurements for the check of that number."""

    tables: Sequence[PeriodTables] = ()
    measurements: Sequence[Measurement] = ()
    details: JsonObject = field(default_factory=dict)
    store: Callable[[Session, int], None] | None = None
    flagged: pa.Table | None = None


FurtherStep = Callable[[Subject, CheckEvidence, LabelledWindow | None, Database], FurtherResults]
"""Computes further results once all copies have outcomes; must not call the model."""


@frozen
class Findings:
    """Everything that a check stores; with a `failure` a success lacks the figures that need the model.

    `carried_tables` are those of the measuring check, set only if figures are carried forward.
    """

    state: CheckState
    window: JsonObject
    reason: str | None = None
    failure: ScoringFailed | None = None
    tables: tuple[PeriodTables, ...] = ()
    carried_tables: tuple[StoredTable, ...] = ()
    measurements: tuple[Measurement, ...] = ()
    answers: RescoredCopies | None = None
    label_predictions: LabelPredictions | None = None
    further: FurtherResults = FurtherResults()
    flag_file: FlagFile | None = None


def perform_check(
    check: CheckRun,
    *,
    database: Database,
    sealer: Sealer,
    report: Report,
    further: FurtherStep,
    egress: Egress = EgressPolicy,
    waiting: Waiting = nullcontext,
    places: TablePlaces = NO_TABLES,
) -> None:
    """Performs a claimed check; if it raises, nothing is stored.

    If the model cannot be asked and no attempt follows, the figures as logged and of labels are stored alone.
    `report` gets the progress and raises if the check must stop. `further` uses the same window after the
    check itself. `waiting` is entered while the model is called.

    Raises:
        ScoringFailed: the model gave no usable answer, and the check is tried again; or none that the monitor
            knows.
        InvalidInput: the monitor cannot be applied to what was logged.
        LeaseLost: another worker owns the check.
        Unavailable: the database is not available any more.
    """
    subject = read_subject(check, database, sealer)
    report(Progress("reading the window"))
    calls = Calls(egress, report, waiting)
    if subject.deployment.payload:
        window = _read_files(subject, subject.deployment.payload, places, report)
        findings = _measure_window(subject, window, database, calls, further)
    else:
        findings = _check_logged_records(subject, database, calls, further)
    report(Progress("storing the result"))
    _store(subject, findings, database)


def _check_logged_records(
    subject: Subject, database: Database, calls: Calls, further: FurtherStep
) -> Findings:
    with database.transaction() as session:
        match_pending_feedback(session, subject.deployment.no)  # labels that were sent before their records
        earlier = find_earlier_check(session, subject)

    # One reader: comparison and window must see the database at the same moment.
    with arrow_reader(database) as reader:
        if earlier is None or not still_holds(reader, subject, earlier):
            evidence = read_evidence(LoggedRecords(reader, subject.deployment.no), subject)
            earlier = None

    if earlier:
        with database.transaction() as session:
            carried = carry_forward(session, subject, earlier)
        return Findings(
            CheckState.SUCCEEDED,
            carried.window,
            carried_tables=carried.tables,
            measurements=carried.measurements,
        )
    details = describe_window(subject, evidence) | make_fingerprint(
        subject, evidence.window, evidence.feedback
    )
    span = subject.check.span
    since = evidence.window.reach().start if evidence.window.additional else span.start
    with database.transaction() as session:
        # As of now: records that are erased later are among those counted.
        erased = count_not_stored(
            session, subject.deployment.no, replace(span, start=floor_to_hour(since))
        ).erased
    if erased:
        details[ERASED_RECORDS] = erased
    window = _WindowContent(evidence, details, LoggedCopies(database, subject.deployment.no))
    return _measure_window(subject, window, database, calls, further)


@frozen
class _WindowContent:
    """Records that were read, their description, and the source of copies (None: no endpoint).

    `counted` are all records of the span, if they exceed the window.
    """

    evidence: CheckEvidence
    details: JsonObject
    copies: CopySource | None
    counted: CountedSpan | None = None
    flag_file: FlagFile | None = None


def _read_files(
    subject: Subject, payload: PayloadTable, places: TablePlaces, report: Report
) -> _WindowContent:
    source = FiledRecords(
        subject.deployment, payload, subject.deployment.feedback, places, subject.check.batch
    )
    evidence = read_evidence(source, subject)
    details = describe_window(subject, evidence)
    counts = None
    if evidence.window.logged_in_span > evidence.window.own:
        counts = count_span(source.counted, subject, report, places.engine)
        details |= counts.describe()
    endpoint = subject.deployment.endpoint
    copies = None
    if endpoint is not None:
        deployment = replace(subject.deployment, endpoint=None)
        copies = FiledCopies(deployment, endpoint, source.files, source.answers, places.engine)
    return _WindowContent(
        evidence, details, copies, counts, FlagFile.of(source.answers.folder, subject.check)
    )


def _measure_window(
    subject: Subject, window: _WindowContent, database: Database, calls: Calls, step: FurtherStep
) -> Findings:
    deployment = subject.deployment
    report = calls.report
    evidence = window.evidence
    details = window.details
    counts = window.counted
    subject = subject.without(evidence.find_unmeasured())
    if len(evidence.window) < subject.monitor.min_records:
        return _report_too_few(subject, window)

    answers = RescoredCopies(CounterfactualLines(), {})
    predicted = PredictedLabels(keep_scored(evidence.feedback))
    failure = None
    if deployment.endpoint and window.copies:
        try:
            model = ModelOfCheck(
                subject.check.trigger, deployment, deployment.endpoint, database=database, calls=calls
            )
            with closing(model):
                scored = rescore(window.copies, model, subject, evidence)
                predicted = predict_unscored(evidence.feedback, database, deployment, model)
            _require_outcomes(evidence, scored)
            answers = scored
        except ScoringFailed as error:
            if CHECK_POLICY.retry_after(subject.check) is not None:
                raise
            failure = error
            reason = f"copies could not be scored: {str(error).rstrip('.')}"
            missing = {copies.grouping.column.name: reason for copies in evidence.copies}
            evidence = replace(evidence, copies=(), without_copies={**evidence.without_copies, **missing})
            details |= {"perturbed_records": {}, "copies_to_score": 0}
    if evidence.copies:
        details |= describe_repeats(evidence.repeats, evidence.outcomes, subject.equal_checks)
    rounded = answers.rounded + sum(prediction.is_rounded for prediction in predicted.asked.values())
    details |= describe_answers(evidence.copies, rounded) | describe_not_scored(
        deployment.schema.features, evidence.copies, answers.refused, predicted.refused
    )

    report(Progress("computing the metrics"))
    labels = read_labels(subject, evidence.table.groupings, predicted.window, evidence.cohort)
    tables = tabulate(evidence, labels, subject.monitor, counts.tables if counts else None)
    cells_by_comparison = cast(
        "dict[Comparison, LabelledCells]",
        {table.comparison: table.whole for table in tables if table.data is DataSet.LABELLED},
    )
    everybody = cells_by_comparison.get(EVERYBODY)
    if everybody is not None and everybody.cohort is not None:
        details[LABELS_OF_SOME] = LabelCounts.of(everybody.cohort.sum(axis=0)).headline
    is_weighted = is_unequal(evidence.window.weights()) or is_unequal(predicted.window.weights())
    measurements = _measure_tables(subject, tables)
    for compared in measure_records(subject, evidence, labels, report, has_all=counts is None):
        judged = compared
        if compared.data is DataSet.LABELLED and compared.comparison in cells_by_comparison:
            figures = judge_labels(compared.figures, cells_by_comparison[compared.comparison])
            judged = replace(compared, figures=figures)
        of_records = build_measurements(judged, monitor=subject.monitor, at=subject.at)
        measurements += remove_values(of_records) if is_weighted else of_records
    for gap in find_gaps(subject, evidence, labels, has_all=counts is None):
        measurements += build_measurements(gap, monitor=subject.monitor, at=subject.at)

    step_name = "computing what mitigation would change" if window.flag_file is None else "flagging records"
    report(Progress(step_name))
    further = step(subject, evidence, labels, database)
    if is_weighted:
        further = replace(further, tables=(), measurements=remove_values(further.measurements))
    details |= describe_left_out(
        subject, evidence, labels, predicted, counts.records_by_label if counts else None, further.tables
    )
    flag_file = None if further.flagged is None else window.flag_file
    return Findings(
        CheckState.SUCCEEDED,
        failure=failure,
        window=details
        | dict(further.details)
        | ({} if flag_file is None else {"flag_file": str(flag_file.path)}),
        tables=(*tables, *further.tables),
        measurements=tuple(explain_not_scored([*measurements, *further.measurements], details)),
        answers=answers,
        label_predictions=predicted.asked,
        further=further,
        flag_file=flag_file,
    )


def _report_too_few(subject: Subject, window: _WindowContent) -> Findings:
    evidence = window.evidence
    version = subject.deployment.schema.version
    of_version = f" of schema version {version}, the present one," if version > 1 else ""
    shortage = f"There are {len(evidence.window):,} records{of_version} up to the end of the span"
    labels = read_labels(subject, evidence.table.groupings, keep_scored(evidence.feedback), evidence.cohort)
    # No figures, but a period adds up the tables of its hours.
    tables: Sequence[PeriodTables] = ()
    if evidence.window.own or (labels is not None and labels.window.own):
        tables = tabulate(replace(evidence, copies=()), labels, subject.monitor)
    return Findings(
        CheckState.INSUFFICIENT_DATA,
        window.details,
        f"{shortage}; {subject.monitor.min_records:,} are needed.",
        tables=tuple(tables),
    )


def _measure_tables(subject: Subject, tables: Sequence[PeriodTables]) -> list[Measurement]:
    measurements = []
    for table in tables:
        for data in list_measured_data(table.data):
            measurements += measure_table(
                data,
                table.comparison,
                table.whole,
                monitor=subject.monitor,
                at=subject.at,
                lacking=table.lacking,
                other_revisions=table.other_revisions,
            )
    return measurements


def _require_outcomes(evidence: CheckEvidence, answers: RescoredCopies) -> None:
    """Raises ScoringFailed if the model took no copy into a group, or gave no outcome of the monitor."""
    for copies in evidence.copies:
        needed = copies.needed.sum(axis=0)
        if ((needed > 0) & (copies.refused.sum(axis=0) == needed)).any():
            raise answers.refused[0].refusal.error
        if ((needed > 0) & (copies.classified.sum(axis=0) == 0)).any():
            raise ScoringFailed(
                f"The model's answers to copies changed in {copies.grouping.column.name} are in neither "
                "outcome list. Compare the endpoint's prediction, or its decoded label, with the monitor's "
                "favourable and unfavourable outcomes.",
                quotation=answers.unclassified or "",
            )


def _store(subject: Subject, findings: Findings, database: Database) -> None:
    check = subject.check
    deployment = subject.deployment
    failure = findings.failure
    with database.transaction() as session:
        # First, because it raises if the lease is gone.
        finish_check(
            session,
            check,
            state=findings.state,
            alerts_due=CHECK_POLICY.alerts_follow(check, findings.state),
            reason=str(failure) if failure else findings.reason,
            failure=Failure.SCORING_FAILED if failure else None,
            model_answer=failure.quotation if failure else None,
            window=findings.window,
            monitor_version=subject.monitor.version,
            model_revision=deployment.model_revision,
        )
        tables = list(findings.carried_tables)
        for period_tables in findings.tables:
            tables += period_tables.list_stored()
        store_tables(session, check.no, tables)
        store_measurements(session, check.no, deployment.no, findings.measurements)
        if findings.answers:
            store_targets(session, deployment.no, findings.answers.new_targets)
            findings.answers.lines.store(session)
        if findings.further.store:
            findings.further.store(session, check.no)
        if check.span.is_whole_hour and any(table.data is DataSet.COUNTERFACTUAL for table in tables):
            note_changed_hours(session, deployment.no, [check.span.start])
        if findings.label_predictions:
            store_label_predictions(
                session, deployment.no, findings.label_predictions, deployment.model_revision
            )
        if findings.flag_file and findings.further.flagged is not None:
            # Last: if anything before fails, the flags of the earlier check stay.
            findings.flag_file.write(findings.further.flagged)
