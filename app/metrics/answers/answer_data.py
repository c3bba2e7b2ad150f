"""Labels and predictions as classes, as numbers, or the reason why neither."""

from dataclasses import dataclass

import numpy as np

from ..groups import FloatArray, IntArray, check_codes

MOST_CLASSES = 1000
"""Max distinct labels and predictions, for the memory of a square table."""


def too_many_classes(classes: int) -> str:
    return f"{classes:,} different labels and predictions are there; averages are computed over at most {MOST_CLASSES:,}"


NO_CLASS_PROBABILITIES = "no record was logged with a probability for each class"


@dataclass(frozen=True, slots=True, eq=False)
class ClassProbabilities:
    """Probabilities [records, classes], each in [0, 1], and the column of each record's label [records].

    Raises:
        ValueError: no record, a label without column, or a number that is no probability.
    """

    table: FloatArray
    labels: IntArray

    def __post_init__(self) -> None:
        if self.table.ndim != 2 or not self.table.size:  # noqa: PLR2004 - a table
            raise ValueError(f"expected a table of probabilities, found {self.table.shape}")
        if self.labels.shape != self.table.shape[:1]:
            raise ValueError(f"expected a label for each of {len(self.table)} records, found {self.labels.size}")
        check_codes(self.labels, 0, self.table.shape[1])
        if not ((self.table >= 0) & (self.table <= 1)).all():
            raise ValueError("expected numbers between 0 and 1")


@dataclass(frozen=True, slots=True, eq=False)
class ClassAnswers:
    """`table` [actual, predicted] counts records; each class is a label, a prediction, or both. `probabilities`, or why there are none.

    Raises:
        ValueError: the table is not square, or a class has no record.
    """

    table: IntArray
    probabilities: ClassProbabilities | str = NO_CLASS_PROBABILITIES

    def __post_init__(self) -> None:
        table = self.table
        if table.ndim != 2 or table.shape[0] != table.shape[1]:  # noqa: PLR2004 - a table
            raise ValueError(f"expected a square table, found {table.shape}")
        if ((table.sum(axis=0) + table.sum(axis=1)) == 0).any():
            raise ValueError("expected a record of each class")

    @classmethod
    def from_records(cls, actual: IntArray, predicted: IntArray, classes: int) -> "ClassAnswers":
        """Counts the records by their positions in `range(classes)`; classes that no record has are left out.

        Raises:
            ValueError: a code is out of range, or the arrays differ in length.
        """
        labels, predictions = check_codes(actual, 0, classes), check_codes(predicted, 0, classes)
        if labels.shape != predictions.shape:
            raise ValueError(f"expected a prediction for each of {labels.size} labels, found {predictions.size}")
        table = np.bincount(labels * classes + predictions, minlength=classes * classes).reshape(classes, classes)
        seen = (table.sum(axis=0) + table.sum(axis=1)) > 0
        return cls(table[seen][:, seen])


@dataclass(frozen=True, slots=True, eq=False)
class NumberAnswers:
    """Numbers [records] that were observed and predicted.

    Raises:
        ValueError: the arrays differ in length, or a number is not finite.
    """

    actual: FloatArray
    predicted: FloatArray

    def __post_init__(self) -> None:
        if self.actual.shape != self.predicted.shape:
            raise ValueError(f"expected a prediction for each of {self.actual.size} labels, found {self.predicted.size}")
        if not (np.isfinite(self.actual).all() and np.isfinite(self.predicted).all()):
            raise ValueError("expected finite numbers")


@dataclass(frozen=True, slots=True)
class Unanswered:
    """Reason why there are no classes or numbers; `n` records were examined."""

    reason: str
    n: int
