"""The numbers by which the bias detector reads a record."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np

from ...domain.deployments import Column, FieldKind
from ...domain.values import Scalar, canonical, number_of
from ...frozen import frozen
from ...metrics.groups import FloatArray

MOST_CATEGORIES = 254
"""Max categories of one column: the classifier takes 255, one being NO_CATEGORY; rarer values count as that."""

NO_CATEGORY = 0
"""Code of a missing or unknown category. Not NaN: where one category is left next to NaN, scikit-learn 1.9 predicts wrongly."""

LARGEST = 1e300
"""Larger numbers are replaced by this: the classifier adds neighbours, and their sum has to stay finite."""


@frozen
class Encoding:
    """`codes` has the number of each known value of a categorical column, and None for a quantity.

    A quantity that is missing or not a number becomes NaN.
    """

    codes: tuple[Mapping[str, int] | None, ...]

    @classmethod
    def fit(cls, columns: Sequence[Column], rows: Sequence[Sequence[Scalar | None]]) -> Self:
        """Returns the encoding with the most frequent values of the rows; equal frequencies in order of text."""
        found: list[dict[str, int] | None] = []
        for place, column in enumerate(columns):
            if column.kind is not FieldKind.CATEGORICAL:
                found.append(None)
                continue
            seen = Counter(canonical(cell) for row in rows if (cell := row[place]) is not None)
            known = sorted(seen, key=lambda text: (-seen[text], text))[:MOST_CATEGORIES]
            found.append({text: code for code, text in enumerate(known, start=NO_CATEGORY + 1)})
        return cls(tuple(found))

    @property
    def categorical(self) -> list[int]:
        return [place for place, codes in enumerate(self.codes) if codes is not None]

    def encode(self, rows: Sequence[Sequence[Scalar | None]], own_scores: Sequence[float | None]) -> FloatArray:
        """Returns the records' numbers [rows, columns + 1]; the last is the model's own score."""
        found = np.full((len(rows), len(self.codes) + 1), np.nan)
        for numbers, row, score in zip(found, rows, own_scores, strict=True):
            for place, (cell, codes) in enumerate(zip(row, self.codes, strict=True)):
                if codes is not None:
                    numbers[place] = NO_CATEGORY if cell is None else codes.get(canonical(cell), NO_CATEGORY)
                elif (number := float(cell) if isinstance(cell, bool) else number_of(cell)) is not None:
                    numbers[place] = number
            numbers[-1] = np.nan if score is None else score
        found[~np.isfinite(found)] = np.nan
        return found.clip(-LARGEST, LARGEST)
