"""The observed labels of a check's window, each with what the model said. Source: spec of the fairness check, section 9."""

from dataclasses import dataclass, replace
from functools import partial
from typing import cast

import msgspec
import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from app.checks.classifying import canonical_texts, json_text_of, outcome_codes
from app.checks.rescoring import Report, Row
from app.checks.window import Window
from app.domain.checks import Progress
from app.domain.deployments import Deployment, ProblemType
from app.domain.outcomes import Outcome, OutcomeRule
from app.domain.records import Prediction
from app.scoring.client import ScoringClient
from app.store.engine import Database
from app.store.window import feedback_features

CHUNK = 10_000
"""Labels without a stored prediction that are read and scored at a time."""

PROBABILITY = "probability"
"""The column of the model's probabilities, where they were asked for."""

LabelPredictions = dict[str, Prediction]
"""What the model said of labels that came with features of their own, by feedback id."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Per label of the window: its outcome, the outcome predicted, and whether the two labels are the same [records]."""

    actual: npt.NDArray[np.int64]
    predicted: npt.NDArray[np.int64]
    correct: npt.NDArray[np.int64]


def predict_unscored(
    window: Window, database: Database, deployment: Deployment, client: ScoringClient, report: Report
) -> tuple[Window, LabelPredictions]:
    """The window with every prediction filled in, and those that had to be asked for.

    Raises:
        ScoringFailed: the model gave no usable answer.
    """
    predicted = window.rows["predicted"].to_pylist()
    ids = window.rows["feedback_id"].to_pylist()
    unscored = [position for position, text in enumerate(predicted) if text is None]
    asked: LabelPredictions = {}
    for start in range(0, len(unscored), CHUNK):
        chunk = unscored[start : start + CHUNK]
        progress = Progress(step="asking the model about labelled records", done=start, total=len(unscored))
        report(progress)
        with database.transaction() as session:
            features = feedback_features(session, deployment.no, [ids[position] for position in chunk])
        rows = [cast("Row", features[ids[position]]) for position in chunk]
        answers = client.score(rows, should_stop=partial(report, progress))
        for position, answer in zip(chunk, answers, strict=True):
            asked[ids[position]] = answer
            predicted[position] = json_text_of(answer.outcome_value)
    rows = _filled(window.rows, "predicted", predicted)
    if PROBABILITY in rows.column_names:
        probabilities = rows[PROBABILITY].to_pylist()
        for position in unscored:
            probabilities[position] = _json(asked[ids[position]].probability)
        rows = _filled(rows, PROBABILITY, probabilities)
    return replace(window, rows=rows), asked


def _filled(rows: pa.Table, name: str, texts: list[str | None]) -> pa.Table:
    return rows.set_column(rows.schema.get_field_index(name), name, pa.array(texts, pa.string()))


def _json(probability: float | tuple[float, ...] | None) -> str | None:
    return None if probability is None else msgspec.json.encode(probability).decode()


def only_scored(window: Window) -> Window:
    """The window without the labels that have no prediction, for a deployment that has no endpoint to ask."""
    known = window.rows["predicted"].is_valid()
    own = int(np.count_nonzero(known.to_numpy()[: window.own]))
    return replace(window, rows=window.rows.filter(known), own=own)


def compare(window: Window, rule: OutcomeRule, problem_type: ProblemType) -> Comparison:
    """Each label against its prediction.

    A classification is correct when the labels are the same, and count as the same outcome; a regression when both values have the
    same outcome, for two real numbers are hardly ever equal.
    """
    actual, predicted = outcome_codes(window.rows["label"], rule), outcome_codes(window.rows["predicted"], rule)
    if problem_type is ProblemType.REGRESSION:
        correct = (actual == predicted) & (actual != Outcome.UNCLASSIFIED)
    else:
        alike = pc.equal(canonical_texts(window.rows["label"]), canonical_texts(window.rows["predicted"]))
        correct = np.asarray(pc.fill_null(alike, fill_value=False).to_numpy(), dtype=np.bool_) & (actual == predicted)
    return Comparison(actual, predicted, correct.astype(np.int64))
