"""`POST /score` takes `{"fields": [...], "values": [[...]]}` and answers in the same form."""

import socket
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from pandas import DataFrame
from scipy.special import expit

from .applicants import BAD, DECISION, FEATURES, GOOD, draw_training_data
from .model_address import OUTPUTS
from .model_http import ModelServer

LABELS = (GOOD, BAD)

_NUMBER_NAMES = [name for name, kind in FEATURES.items() if kind != "string"]
_MAX_STEPS = 20
_TOLERANCE = 1e-10


class CreditRiskModel:
    """Logistic regression of past decisions."""

    def __init__(self, decisions: DataFrame) -> None:
        self._categories = [
            (name, value)
            for name in FEATURES
            if name not in _NUMBER_NAMES
            for value in sorted(decisions[name].unique())
        ]
        self._means, self._deviations = decisions[_NUMBER_NAMES].mean(), decisions[_NUMBER_NAMES].std(ddof=0)
        # Newton's method. All but the first weight are drawn towards zero, as the terms of a column add up to 1.
        terms = self._build_terms(decisions)
        is_risk = (decisions[DECISION] == BAD).to_numpy()
        penalty = np.diag([0.0, *np.ones(terms.shape[1] - 1)])
        self._weights = np.zeros(terms.shape[1])
        for _ in range(_MAX_STEPS):
            risks = expit(terms @ self._weights)
            curvature = terms.T @ (terms * (risks * (1 - risks))[:, None]) + penalty
            step = np.linalg.solve(curvature, terms.T @ (is_risk - risks) - penalty @ self._weights)
            self._weights += step
            if np.abs(step).max() < _TOLERANCE:
                break

    def predict(self, fields: Sequence[str], values: Sequence[Sequence[Any]]) -> list[list[Any]]:
        # The columns may come in any order.
        risks = expit(self._build_terms(DataFrame(values, columns=list(fields))) @ self._weights)
        predictions = (risks > 1 / 2).astype(int)
        return [
            [no, [1 - risk, risk], LABELS[no]]
            for no, risk in zip(predictions.tolist(), risks.tolist(), strict=True)
        ]

    def _build_terms(self, people: DataFrame) -> NDArray[np.float64]:
        categories = [people[name] == value for name, value in self._categories]
        return np.column_stack(
            [np.ones(len(people)), *categories, (people[_NUMBER_NAMES] - self._means) / self._deviations]
        )


def train() -> CreditRiskModel:
    return CreditRiskModel(draw_training_data())


def main() -> None:
    model = train()
    ModelServer(
        socket.socket(fileno=int(sys.argv[1])),
        lambda _path, request: {
            "fields": list(OUTPUTS.values()),
            "values": model.predict(request["fields"], request["values"]),
        },
    ).serve_forever()


if __name__ == "__main__":
    main()
