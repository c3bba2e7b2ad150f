"""Everything that one check reads, at one moment of the database: records, labels, copies; then the JSON that
describes the window. Source: spec of the fairness check, section 2.

A record may represent others, because only a sample is logged.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import partial

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...base.errors import InvalidInput
from ...base.values import frozen, frozen_arrays
from ...calls.scoring.scoring_client import Refusal
from ...database.engine import Database
from ...deployments.monitor.monitor_fit import describe_doubts
from ...deployments.monitor.queries import is_needed, list_monitored_metrics
from ...domain.check import DataSet, Measurement, Progress
from ...domain.deployment import Deployment, ProblemType, RecordSchema
from ...domain.groups import MISSPELLED, NEAR_TWINS, describe_twins
from ...domain.monitor import Comparison, Monitor, Outcome, OutcomeRule, list_outcome_texts
from ...domain.record import Prediction
from ...sources.arrays.favourable_scores import canonical_texts, classify_answers, format_value, read_answers
from ...sources.arrays.read_records import Grouping, RecordTable
from ...sources.stored.copy_answers import TargetKey
from ...sources.stored.window_queries import WindowQuery, read_feedback_features
from ...statistics.group_labels import NEITHER, FloatArray, IntArray, build_groups
from ...statistics.intervals.verdicts import Verdict
from ...statistics.measures.perturbed_data import UNEQUALLY_SAMPLED
from ...statistics.tables.count_table import LabelledCells
from ..copies.copy_outcomes import CopyOutcomes, encode_probability, fill_stored, make_target_key, plan_copies
from ..copies.refusals import (
    LABELS_NOT_SCORED,
    NOT_SCORED_BECAUSE,
    RECORDS_NOT_SCORED,
    RefusedRecord,
    list_reasons,
)
from ..copies.repeats import draw_repeats, plan_repeats
from ..subject import ModelOfCheck, Subject
from .window import BoolArray, PayloadWindow, Window, WindowSource, read_payload_window, read_window

LABELS_PER_CHUNK = 10_000

PROBABILITY = "probability"

LabelPredictions = dict[str, Prediction]


@frozen_arrays
class PredictedLabels:
    """Labelled records with predictions; `asked` are those that the model gave for this check."""

    window: Window
    asked: LabelPredictions = field(default_factory=dict)
    refused: tuple[RefusedRecord, ...] = ()


@frozen
class ComparedLabels:
    """Outcomes of labels and predictions, and 1 where a prediction is correct [records]."""

    actual: IntArray
    predicted: IntArray
    correct: IntArray


def predict_unscored(
    window: Window, database: Database, deployment: Deployment, model: ModelOfCheck
) -> PredictedLabels:
    """Fills in missing predictions by asking the model; leaves out the labelled records that it does not
    take.

    Raises:
        ScoringFailed: the model gave no usable answer.
    """
    predicted = window.rows["predicted"].to_pylist()
    ids = window.rows["feedback_id"].to_pylist()
    unscored = [position for position, text in enumerate(predicted) if text is None]
    predictions = {}
    refused = []
    for start in range(0, len(unscored), LABELS_PER_CHUNK):
        chunk = unscored[start : start + LABELS_PER_CHUNK]
        with database.transaction() as session:
            features = read_feedback_features(session, deployment.no, [ids[position] for position in chunk])
        progress = Progress(step="asking the model about labelled records", done=start, total=len(unscored))
        answers = model.score([features[ids[position]] for position in chunk], progress)
        for position, answer in zip(chunk, answers, strict=True):
            if isinstance(answer, Refusal):
                refused.append(RefusedRecord(ids[position], answer))
            else:
                predictions[ids[position]] = answer
                predicted[position] = format_value(answer.outcome_value)
    rows = _replace_column(window.rows, "predicted", predicted)
    if PROBABILITY in rows.column_names:
        probabilities = rows[PROBABILITY].to_pylist()
        for position in unscored:
            prediction = predictions.get(ids[position])
            probabilities[position] = encode_probability(prediction) if prediction else None
        rows = _replace_column(rows, PROBABILITY, probabilities)
    return PredictedLabels(keep_scored(replace(window, rows=rows)), predictions, tuple(refused))


def _replace_column(rows: pa.Table, name: str, texts: list[str | None]) -> pa.Table:
    return rows.set_column(rows.schema.get_field_index(name), name, pa.array(texts, pa.string()))


def keep_scored(window: Window) -> Window:
    is_predicted = window.rows["predicted"].is_valid()
    # Rows of the span come first; only those that stay may count.
    own_rows = int(np.count_nonzero(is_predicted.to_numpy()[: window.own]))
    return replace(window, rows=window.rows.filter(is_predicted), own=own_rows)


def compare_labels(
    labels: pa.ChunkedArray,
    answers: pa.ChunkedArray,
    predicted: IntArray,
    *,
    rule: OutcomeRule,
    problem_type: ProblemType,
) -> ComparedLabels:
    """Compares labels with answers, both JSON texts; `predicted` [records] are the answers' outcomes.

    A classification is correct when label and outcome are the same; a regression when the outcome is: real
    numbers are hardly ever equal.
    """
    actual = classify_answers(labels, rule)
    if problem_type is ProblemType.REGRESSION:
        correct = (actual == predicted) & (actual != Outcome.UNCLASSIFIED)
    else:
        alike = pc.equal(*(canonical_texts(read_answers(texts, rule)) for texts in (labels, answers)))
        correct = np.asarray(pc.fill_null(alike, fill_value=False).to_numpy(), dtype=np.bool_) & (
            actual == predicted
        )
    return ComparedLabels(actual, predicted, correct.astype(np.int64))


@frozen_arrays
class LabelledWindow:
    """Labelled records as the monitor reads them; `cohort` are all records scored in their time.

    `has_label` marks the labelled ones of the cohort [records].
    """

    window: Window
    comparison: ComparedLabels
    table: RecordTable
    cohort: RecordTable | None = None
    has_label: BoolArray = field(default_factory=lambda: np.zeros(0, np.bool_))

    def count_cells(self, comparison: Comparison) -> LabelledCells:
        groups, codes = self.table.compare(comparison)
        columns = {name: getattr(self.comparison, name) for name in LabelledCells.AXES}
        return replace(
            LabelledCells.from_records(build_groups(groups), codes, **columns),
            cohort=self.count_cohort(comparison),
        )

    def count_cohort(self, comparison: Comparison) -> IntArray | None:
        if self.cohort is None:
            return None
        groups, codes = self.cohort.compare(comparison)
        counts = np.zeros((len(groups) + 1, 2, 2), np.int64)
        outcomes = self.cohort.outcomes
        is_classified = outcomes < Outcome.UNCLASSIFIED
        for column, members in enumerate((is_classified, is_classified & self.has_label)):
            np.add.at(counts, (codes[members], outcomes[members], column), 1)
        return counts


def read_labels(
    subject: Subject, groupings: Sequence[Grouping], window: Window, cohort: Window | None
) -> LabelledWindow | None:
    """Groups them as the payload window showed; None without labels."""
    if not len(window):
        return None
    monitor = replace(subject.monitor, attributes=tuple(map(subject.fix_reference, groupings)))
    deployment = subject.deployment
    probabilities = window.rows[PROBABILITY] if PROBABILITY in window.rows.column_names else None
    table = window.read_table("predicted", deployment.schema, monitor, probabilities)
    compared = compare_labels(
        window.rows["label"],
        window.rows["predicted"],
        table.outcomes,
        rule=monitor.outcomes,
        problem_type=deployment.problem_type,
    )
    if cohort is None:
        return LabelledWindow(window, compared, table)
    cohort_table = cohort.read_table("outcome", deployment.schema, monitor)
    has_label = np.asarray(cohort.rows["labelled"].to_numpy(), np.bool_)
    return LabelledWindow(window, compared, table, cohort_table, has_label)


COPIED_DATA = (DataSet.OPENSCALE, DataSet.COUNTERFACTUAL, DataSet.MITIGATED, DataSet.MITIGATED_LABELLED)


@frozen
class CheckEvidence:
    """A check's records, as the monitor reads them in `table`, and the known outcomes of their copies.

    `cohort` are records as old as those of the labels, each marked if it has a label. `copies` has an entry
    for each attribute, but not for those by a rule and those of `without_copies`, which says why; it is empty
    without an endpoint or metrics of counterfactual data. Records of other revisions than `model_revision`
    are in no group of `copies`: answers of two models cannot be compared. `repeats` are unchanged copies of
    some records.
    """

    window: PayloadWindow
    feedback: Window
    cohort: Window | None
    table: RecordTable
    copies: tuple[CopyOutcomes, ...]
    repeats: CopyOutcomes
    without_copies: Mapping[str, str]
    known_targets: dict[TargetKey, int]
    model_revision: str
    labels_without_record: int

    @property
    def outcomes(self) -> IntArray:
        return self.table.outcomes

    def find_unmeasured(self) -> dict[Comparison, str]:
        """Combinations with too many groups or equal labels, each with the reason."""
        reasons = {}
        for features in self.table.monitor.intersections:
            try:
                self.table.compare(Comparison(features))
            except InvalidInput as error:
                reasons[Comparison(features)] = error.problems[0].message
        return reasons


def read_evidence(source: WindowSource, subject: Subject) -> CheckEvidence:
    deployment = subject.deployment
    monitor = subject.monitor
    span = subject.check.span
    # Raises if the schema lacks a column: it could not be read.
    names = subject.list_columns()
    if is_needed(monitor, "rows"):
        names += subject.list_numeric_features()  # similarity metrics compare records by them
    query = WindowQuery(deployment.no, deployment.schema, tuple(dict.fromkeys(names)))
    with_scores = is_needed(monitor, "scores", on=[DataSet.AS_LOGGED])
    is_copied = deployment.endpoint is not None and any(
        list_monitored_metrics(monitor, data) for data in COPIED_DATA
    )
    reads_scores = with_scores or (is_copied and deployment.payload is not None)
    window = read_payload_window(source, replace(query, with_probabilities=reads_scores), span, monitor)
    probabilities = window.rows[PROBABILITY] if with_scores else None
    table = window.read_table("outcome", deployment.schema, monitor, probabilities)
    is_comparable = window.mark_revision(deployment.model_revision)
    comparable = [
        replace(grouping, codes=np.where(is_comparable, grouping.codes, NEITHER))
        for grouping in table.groupings
    ]
    copies = []
    without_copies = {}
    for grouping in comparable:
        name = grouping.column.name
        if not is_copied or subject.find_attribute(grouping).rule:
            continue
        try:
            donors = subject.find_donors(grouping)
            copies.append(
                plan_copies(
                    grouping, table.outcomes, monitor, seen_by_model=subject.is_feature(name), donors=donors
                )
            )
        except InvalidInput as error:
            without_copies[name] = str(error)
    label_query = replace(query, with_probabilities=is_needed(monitor, "scores"))
    feedback = read_window(partial(source.read_feedback, label_query), span, monitor, query.columns)
    cohort = source.read_cohort(query, window.rows, feedback.rows, span.end)
    evidence = CheckEvidence(
        window,
        feedback,
        None if cohort is None else Window(cohort, len(cohort), query.columns),
        table,
        tuple(copies),
        plan_repeats(comparable[0], copies),
        without_copies,
        source.targets,
        deployment.model_revision,
        source.labels_without_record,
    )
    for outcomes in (*copies, evidence.repeats):
        read_answers_so_far(source, window, outcomes, deployment.schema, monitor, deployment.model_revision)
    draw_repeats(evidence.repeats, copies, subject)
    return evidence


def read_answers_so_far(
    source: WindowSource,
    window: PayloadWindow,
    copies: CopyOutcomes,
    schema: RecordSchema,
    monitor: Monitor,
    revision: str,
) -> None:
    """Adds the answers of that model revision to the copies."""
    record_nos = window.record_nos()
    for position, target in enumerate(copies.targets if copies.needed.any() else ()):
        key = make_target_key(target, model_revision=revision, schema_version=schema.version)
        stored = source.read_answers(key, record_nos, with_probabilities=copies.keeps_answers(position))
        if stored is not None:
            fill_stored(copies, position, stored, record_nos=record_nos, rule=monitor.outcomes)


# Members of a window:
ROUNDED_PROBABILITIES = "rounded_probabilities"
"""Number of probabilities at most 1e-6 outside [0, 1], which count as 0 or 1; absent without any."""

ERASED_RECORDS = "erased_records"
"""Number of records of the window's hours that were erased before the check."""

REVISIONS_IN_SPAN = "revisions_in_span"
"""The model revisions that answered the records of the span, in no order."""

LABELS_OF_SOME = "labels_of_some"
"""Sentence on labels that only some records have, or null."""

SAMPLING = "sampling"
"""Facts on the sample that was logged; absent where every record represents itself."""


def describe_window(subject: Subject, evidence: CheckEvidence) -> dict[str, object]:
    """Counts and times of the rows, as JSON."""
    window = evidence.window
    reach = evidence.window.reach()
    return {
        "records": window.own,
        "additional_records": window.additional,
        "logged_in_span": window.logged_in_span,
        "unclassified_records": int((evidence.outcomes == Outcome.UNCLASSIFIED).sum()),
        "records_of_other_revisions": int((~window.mark_revision(subject.deployment.model_revision)).sum()),
        REVISIONS_IN_SPAN: pc.unique(
            pc.fill_null(
                window.rows["model_revision"].slice(0, window.own), subject.deployment.model_revision
            )
        ).to_pylist(),
        NEAR_TWINS: describe_twins(evidence.table.count_twins()),
        MISSPELLED: evidence.table.describe_misspelled(),
        "perturbed_records": {
            copies.grouping.column.name: int(copies.copy_counts.sum()) for copies in evidence.copies
        },
        "copies_to_score": sum(copies.missing_count for copies in (*evidence.copies, evidence.repeats)),
        "attributes_unseen_by_model": [
            attribute.feature
            for attribute in subject.monitor.attributes
            if attribute.rule is None and not subject.is_feature(attribute.feature)
        ],
        "oldest_record_at": reach.start.isoformat() if len(window) else None,
        "newest_record_at": reach.end.isoformat() if len(window) else None,
        "labelled_records": evidence.feedback.own,
        "additional_labelled_records": evidence.feedback.additional,
        "favourable": list_outcome_texts(subject.monitor.outcomes.favourable),
        "unfavourable": list_outcome_texts(subject.monitor.outcomes.unfavourable),
        **describe_sampling(window.weights()),
        **describe_setting(subject),
        "min_records": subject.monitor.min_records,
        "max_records": subject.monitor.max_records,
    }


def describe_setting(subject: Subject) -> dict[str, object]:
    setting = {
        "schema_version": subject.deployment.schema.version,
        "with_endpoint": subject.deployment.endpoint is not None,
        "mitigation_settings_version": subject.mitigation.version,
        "mitigation_profile_version": subject.profile_version,
    }
    correlated = {
        attribute.feature: {
            "features": sorted(attribute.correlated_features),
            "donors": subject.donors[attribute.feature].digest
            if attribute.feature in subject.donors
            else None,
            **describe_doubts(attribute.correlated_features, subject.associations.get(attribute.feature, ())),
        }
        for attribute in subject.monitor.attributes
        if attribute.correlated_features
    }
    return setting | ({"correlated_features": correlated} if correlated else {})


def describe_answers(copies: Sequence[CopyOutcomes], rounded: int) -> dict[str, object]:
    unclassified = {
        outcomes.grouping.column.name: int(outcomes.answered.sum() - outcomes.classified.sum())
        for outcomes in copies
    }
    return {"unclassified_copies": unclassified} | ({ROUNDED_PROBABILITIES: rounded} if rounded else {})


def describe_not_scored(
    subject: Subject,
    copies: Sequence[CopyOutcomes],
    refused: Sequence[RefusedRecord],
    refused_labels: Sequence[RefusedRecord],
) -> dict[str, object]:
    if not refused and not refused_labels:
        return {}
    return {
        RECORDS_NOT_SCORED: {
            outcomes.grouping.column.name: int(outcomes.not_scored.sum()) for outcomes in copies
        },
        LABELS_NOT_SCORED: len(refused_labels),
        NOT_SCORED_BECAUSE: list_reasons([*refused, *refused_labels], subject.deployment.schema.features),
    }


def describe_sampling(weights: FloatArray | None) -> Mapping[str, object]:
    """Describes a sample with these weights [records]; empty without.

    `represented` is their sum, `effective` the number of equal records that are as certain (Kish 1965).
    """
    if weights is None:
        return {}
    total = float(weights.sum())
    squares = float((weights * weights).sum())
    return {
        SAMPLING: {
            "records": len(weights),
            "represented": round(total),
            # A sum of equal weights may fall short of a whole number by rounding.
            "effective": int(total * total / squares + 1e-6),
            "lowest_rate": 1 / float(weights.max()),
            "highest_rate": 1 / float(weights.min()),
            "is_unequal": is_unequal(weights),
        }
    }


def is_unequal(weights: FloatArray | None) -> bool:
    return (
        weights is not None and weights.size > 0 and not np.allclose(weights, weights[0], rtol=1e-9, atol=0)
    )


def remove_values(measurements: Sequence[Measurement]) -> list[Measurement]:
    return [
        replace(
            measurement,
            value=None,
            lower=None,
            upper=None,
            interval_method=None,
            reason=measurement.reason or UNEQUALLY_SAMPLED,
            verdict=Verdict.NOT_COMPUTABLE,
            worst_of=None if measurement.worst_of is None else 0,
            chosen_lower=None,
            chosen_upper=None,
        )
        for measurement in measurements
    ]
