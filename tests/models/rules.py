"""A model that can be read: men are approved, women only when rich.

with serve(RuleScorer()) as server: ...
python -m tests.models.rules [PORT]     # prints the port
"""

import sys
from collections.abc import Sequence
from typing import Any

from tests.models.serving import run

COLUMNS = ("sex", "income", "age")
"""The columns of the rule's applicants; `age` plays no part."""

RICH = 50_000


class RuleScorer:
    """Prediction 1 with probability 0.9 for every man and for women whose income is at least `RICH`; else 0 with 0.1.

    `sex` and `income` may stand anywhere among the columns; without `income` nobody is rich.
    """

    def predict(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[tuple[Any, Any]]:
        """(0 or 1, probability of 1) for each row, in order."""
        sex = list(columns).index("sex")
        income = list(columns).index("income") if "income" in columns else None
        return [self._decide(row[sex], 0 if income is None else row[income]) for row in rows]

    @staticmethod
    def _decide(sex: object, income: float | None) -> tuple[int, float]:
        approved = str(sex).lower() in {"male", "man", "m"} or (income or 0) >= RICH
        return (1, 0.9) if approved else (0, 0.1)


if __name__ == "__main__":
    run(RuleScorer(), port=int(sys.argv[1]) if len(sys.argv) > 1 else 0)
