"""The watched model: a plain scikit-learn pipeline, trained at every start on the same past decisions."""

from collections.abc import Sequence
from typing import Any

import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from .applicants import BAD, FEATURES, GOOD
from .past import DECISION, training_data

LABELS = (GOOD, BAD)
"""Decoded predictions, at positions 0 and 1."""


class CreditRiskModel:
    """Predicts 0 (No Risk) or 1 (Risk), with the probability of each."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    def predict(self, fields: Sequence[str], values: Sequence[Sequence[Any]]) -> list[list[Any]]:
        """Returns `[prediction, probabilities, decoded label]` for each row."""
        # A caller may send the columns in any order.
        probabilities = self._pipeline.predict_proba(pd.DataFrame(values, columns=list(fields))[list(FEATURES)])
        predictions = probabilities.argmax(axis=1)
        return [[int(no), row, LABELS[no]] for no, row in zip(predictions, probabilities.tolist(), strict=True)]


def train() -> CreditRiskModel:
    """Returns the model; the same one every time."""
    past = training_data()
    categories = [name for name, kind in FEATURES.items() if kind == "string"]
    numbers = [name for name in FEATURES if name not in categories]
    prepare = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), categories), (StandardScaler(), numbers))
    pipeline = make_pipeline(prepare, LogisticRegression())
    pipeline.fit(past[list(FEATURES)], [LABELS.index(label) for label in past[DECISION]])
    return CreditRiskModel(pipeline)
