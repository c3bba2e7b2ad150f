"""Observed labels with the model's predictions. Source: spec of the fairness check, section 9."""

from dataclasses import field, replace
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from ...base.frozen import frozen
from ...calls.scoring.refused_records import Refusal
from ...database.engine import Database
from ...domain.check import Progress
from ...domain.deployment import Deployment, ProblemType
from ...domain.outcome import Outcome, OutcomeRule
from ...domain.record import Prediction
from ...sources.arrays.column_cells import canonical_texts, format_value, read_answers
from ...sources.arrays.outcome_codes import outcome_codes
from ...sources.stored.window_queries import feedback_features
from ..ask_model import ModelOfCheck
from ..copies.copy_outcomes import probability_text
from ..copies.copy_sources import Row
from ..copies.not_scored import RefusedRecord
from .window import Window

CHUNK = 10_000
"""Max labels without stored prediction that are scored at a time."""

PROBABILITY = "probability"
"""Column of the model's probabilities."""

LabelPredictions = dict[str, Prediction]
"""Predictions for labels with features of their own, by feedback id."""


@frozen(eq=False)
class Predicted:
    """Labels with a prediction, newly scored ones, and records that the model did not take."""

    window: Window
    asked: LabelPredictions = field(default_factory=dict)
    refused: tuple[RefusedRecord, ...] = ()


@frozen
class ComparedLabels:
    """Per label: its outcome, the predicted one, and whether the two labels are the same [records]."""

    actual: npt.NDArray[np.int64]
    predicted: npt.NDArray[np.int64]
    correct: npt.NDArray[np.int64]


def predict_unscored(window: Window, database: Database, deployment: Deployment, model: ModelOfCheck) -> Predicted:
    """Window with every prediction filled in, without labelled records that the model does not take.

    Raises:
        ScoringFailed: the model gave no usable answer.
    """
    predicted = window.rows["predicted"].to_pylist()
    ids = window.rows["feedback_id"].to_pylist()
    unscored = [position for position, text in enumerate(predicted) if text is None]
    predictions: LabelPredictions = {}
    refused: list[RefusedRecord] = []
    for start in range(0, len(unscored), CHUNK):
        chunk = unscored[start : start + CHUNK]
        with database.transaction() as session:
            features = feedback_features(session, deployment.no, [ids[position] for position in chunk])
        rows = [cast("Row", features[ids[position]]) for position in chunk]
        answers = model.score(rows, Progress(step="asking the model about labelled records", done=start, total=len(unscored)))
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
            scored = predictions.get(ids[position])
            probabilities[position] = None if scored is None else probability_text(scored)
        rows = _replace_column(rows, PROBABILITY, probabilities)
    return Predicted(keep_scored(replace(window, rows=rows)), predictions, tuple(refused))


def _replace_column(rows: pa.Table, name: str, texts: list[str | None]) -> pa.Table:
    return rows.set_column(rows.schema.get_field_index(name), name, pa.array(texts, pa.string()))


def keep_scored(window: Window) -> Window:
    has_prediction = window.rows["predicted"].is_valid()
    # Rows of the span come first; only those that stay may count.
    own_rows = int(np.count_nonzero(has_prediction.to_numpy()[: window.own]))
    return replace(window, rows=window.rows.filter(has_prediction), own=own_rows)


def compare(window: Window, predicted: npt.NDArray[np.int64], rule: OutcomeRule, problem_type: ProblemType) -> ComparedLabels:
    """Compares each label with its prediction, whose outcomes are `predicted` [records]."""
    return compare_texts(window.rows["label"], window.rows["predicted"], predicted, rule=rule, problem_type=problem_type)


def compare_texts(
    labels: pa.ChunkedArray, answers: pa.ChunkedArray, predicted: npt.NDArray[np.int64], *, rule: OutcomeRule, problem_type: ProblemType
) -> ComparedLabels:
    """Compares labels with answers, both as JSON texts; `predicted` [records] are the answers' outcomes.

    A classification is correct when label and outcome are the same; a regression when the outcome is: real numbers are hardly ever equal.
    """
    actual = outcome_codes(labels, rule)
    if problem_type is ProblemType.REGRESSION:
        correct = (actual == predicted) & (actual != Outcome.UNCLASSIFIED)
    else:
        alike = pc.equal(*(canonical_texts(read_answers(texts, rule)) for texts in (labels, answers)))
        correct = np.asarray(pc.fill_null(alike, fill_value=False).to_numpy(), dtype=np.bool_) & (actual == predicted)
    return ComparedLabels(actual, predicted, correct.astype(np.int64))
