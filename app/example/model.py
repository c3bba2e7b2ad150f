"""The watched model: a plain scikit-learn pipeline, trained at every start on the same past decisions."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from .applicants import BAD, FEATURES, GOOD, applicants, past_decisions

SEED = 20_260_101
TRAINING_ROWS = 5_000
DECISION = "decision"

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


def training_data() -> pd.DataFrame:
    """Returns past applicants with the past decision in the column DECISION; the same ones every time."""
    random = np.random.default_rng(SEED)
    people = applicants(TRAINING_ROWS, random)
    return pd.DataFrame(people).assign(**{DECISION: past_decisions(people, random)})


def train() -> CreditRiskModel:
    """Returns the model; the same one every time."""
    past = training_data()
    categories = [name for name, kind in FEATURES.items() if kind == "string"]
    numbers = [name for name in FEATURES if name not in categories]
    prepare = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), categories), (StandardScaler(), numbers))
    pipeline = make_pipeline(prepare, LogisticRegression())
    pipeline.fit(past[list(FEATURES)], [LABELS.index(label) for label in past[DECISION]])
    return CreditRiskModel(pipeline)
