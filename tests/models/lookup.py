"""A model whose answers are in its rows: those of column `as VALUE` for a record of that value, else those of column `answer`.

So a scene states the answer to each record and to its copies, and every rate of a window is known.
"""

import sys
from collections.abc import Sequence
from typing import Any

from tests.models.serving import run

CLASSES = ("Excellent", "Good", "Fair", "Poor")
"""Answers that come with a probability for each of them."""


class LookupScorer:
    """The first column names the value; the answers come with a probability, or with one for each class."""

    def predict(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:
        """(answer, probabilities) for each row, in order."""
        places = {name: place for place, name in enumerate(columns)}
        answers = [row[places.get(f"as {row[0]}", places.get("answer", 0))] for row in rows]
        return [(answer, _probability_of(answer)) for answer in answers]


def _probability_of(answer: Any) -> float | list[float]:  # noqa: ANN401 - JSON
    if answer in CLASSES:
        return [0.7 if answer == class_ else 0.1 for class_ in CLASSES]
    return 0.9 if answer == "No Risk" else 0.2


if __name__ == "__main__":
    run(LookupScorer(), port=int(sys.argv[1]) if len(sys.argv) > 1 else 0)
