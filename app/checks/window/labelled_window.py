"""Labels that a check reads, with the predictions that they are compared with."""

from collections.abc import Sequence
from dataclasses import field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ...base.values import frozen, frozen_arrays
from ...calls.scoring.scoring_client import Refusal
from ...database.engine import Database
from ...domain.check import Progress
from ...domain.deployment import Deployment, ProblemType
from ...domain.monitor import Comparison, Outcome, OutcomeRule
from ...domain.record import Prediction
from ...sources.arrays.favourable_scores import canonical_texts, classify_answers, format_value, read_answers
from ...sources.arrays.read_records import Grouping, RecordTable
from ...sources.stored.window_queries import read_feedback_features
from ...statistics.group_labels import IntArray, build_groups
from ...statistics.tables.count_table import LabelledCells
from ..copies.copy_outcomes import encode_probability
from ..copies.refusals import RefusedRecord
from ..subject import ModelOfCheck, Subject
from .window import PROBABILITY, BoolArray, Window

LABELS_PER_CHUNK = 10_000
"""Labels whose features are read and sent to the model at a time."""

LabelPredictions = dict[str, Prediction]
"""Predictions by id of the label."""


@frozen_arrays
class PredictedLabels:
    """Labelled records with predictions; `asked` are predictions that the model gave for this check."""

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
    """Fills in missing predictions by asking the model; leaves out records that it does not take. Raises
    ScoringFailed.
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
        progress = Progress("asking the model about labelled records", done=start, total=len(unscored))
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
        is_equal = pc.equal(*(canonical_texts(read_answers(texts, rule)) for texts in (labels, answers)))
        correct = np.asarray(pc.fill_null(is_equal, fill_value=False).to_numpy(), dtype=np.bool_) & (
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
        """Counts [groups + 1, 2, 2] classified records of the cohort, and those of them with a label."""
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
    """Reads the labels as the monitor does, with the payload window's `groupings`; None without labels."""
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


def _replace_column(rows: pa.Table, name: str, texts: list[str | None]) -> pa.Table:
    return rows.set_column(rows.schema.get_field_index(name), name, pa.array(texts, pa.string()))
