"""The golden logistic regressions as a served model: sigmoid(intercept + terms), 1 if the score exceeds 0.5, probability = score.

with serve(LogisticModel.of(golden("A1_adult"))) as server: ...
python -m tests.models.logistic PATH/TO/A1_adult [PORT]     # prints the port
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tests.models.serving import run


class LogisticModel:
    """Scores whole pages as arrays. An unknown category adds 0; columns may come in any order, and more than are needed."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.intercept: float = document["intercept"]
        self.terms: list[Mapping[str, Any]] = document["terms"]

    @classmethod
    def of(cls, case: Path) -> "LogisticModel":
        """The model of a golden case's folder."""
        return cls(json.loads((case / "model.json").read_text()))

    @property
    def features(self) -> list[str]:
        """The columns that the model needs, in its own order."""
        return [term["feature"] for term in self.terms]

    @property
    def numeric(self) -> set[str]:
        """The columns that hold numbers."""
        return {term["feature"] for term in self.terms if term["type"] == "numeric"}

    def predict(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:
        """(0 or 1, probability of class 1) for each row, in order."""
        scores = self.scores(columns, rows)
        return list(zip((scores > 0.5).astype(int).tolist(), scores.tolist(), strict=True))

    def scores(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> NDArray[np.float64]:
        """Probability of class 1 for each row."""
        total = np.full(len(rows), self.intercept)
        for term in self.terms:
            at = list(columns).index(term["feature"])
            cells = [row[at] for row in rows]
            if term["type"] == "numeric":
                total += term["coef"] * (np.asarray(cells, dtype=float) - term["mean"]) / term["std"]
            else:
                total += np.asarray([term["coefs"].get(cell, 0.0) for cell in cells], dtype=float)
        scores: NDArray[np.float64] = 1.0 / (1.0 + np.exp(-total))
        return scores


if __name__ == "__main__":
    run(LogisticModel.of(Path(sys.argv[1])), port=int(sys.argv[2]) if len(sys.argv) > 2 else 0)
