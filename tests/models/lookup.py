"""A model whose answers are in its rows: those of column `as VALUE` for a record of that value, else those of column `answer`.

So a scene states the answer to each record and to its copies, and every rate of a window is known.
"""

import sys
from collections.abc import Sequence
from typing import Any

from tests.models.serving import run


class LookupScorer:
    """The first column names the value; a text is answered with a probability for each of two classes, a number with none."""

    def predict(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:
        """(answer, probabilities) for each row, in order."""
        places = {name: place for place, name in enumerate(columns)}
        answers = [row[places.get(f"as {row[0]}", places.get("answer", 0))] for row in rows]
        return [(answer, 0.9 if answer in {"No Risk", "Excellent", "Good"} else 0.2) for answer in answers]


if __name__ == "__main__":
    run(LookupScorer(), port=int(sys.argv[1]) if len(sys.argv) > 1 else 0)
