"""The numbers by which the bias detector reads a record: one for each column, and the model's own score."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from app.domain.deployments import Column, FieldKind
from app.domain.values import Scalar, canonical, number_of
from app.metrics.groups import FloatArray

MOST_CATEGORIES = 254
"""The classifier takes 255 in one column, one of them being NO_CATEGORY; rarer values count as that."""

NO_CATEGORY = 0
"""What is missing or unknown in a categorical column. Not NaN: where one category is left beside NaN, scikit-learn 1.9 predicts wrongly."""

LARGEST = 1e300
"""Larger numbers are taken for this one: the classifier adds neighbours, and their sum has to stay finite."""


@dataclass(frozen=True, slots=True)
class Encoding:
    """How cells become numbers: `codes` has the number of each known value of a categorical column, and None for a quantity.

    A quantity that is missing or no number becomes NaN, which the classifier has a branch for.
    """

    codes: tuple[Mapping[str, int] | None, ...]

    @classmethod
    def learnt(cls, columns: Sequence[Column], rows: Sequence[Sequence[Scalar | None]]) -> Self:
        """The encoding of those columns, with the values of the rows: the most frequent ones, equal frequencies in order of text."""
        return cls(
            tuple(
                _codes(row[place] for row in rows) if column.kind is FieldKind.CATEGORICAL else None for place, column in enumerate(columns)
            )
        )

    @property
    def categorical(self) -> list[int]:
        """The places of the categorical columns."""
        return [place for place, codes in enumerate(self.codes) if codes is not None]

    def numbers(self, rows: Sequence[Sequence[Scalar | None]], own_scores: Sequence[float | None]) -> FloatArray:
        """The records' numbers [rows, columns + 1]; the last is the model's own score.

        Raises:
            ValueError: a row has another number of cells, or there is not one score for each.
        """
        found = np.full((len(rows), len(self.codes) + 1), np.nan)
        for numbers, row, score in zip(found, rows, own_scores, strict=True):
            for place, (cell, codes) in enumerate(zip(row, self.codes, strict=True)):
                numbers[place] = _quantity(cell) if codes is None else _category(cell, codes)
            numbers[-1] = np.nan if score is None else score
        found[~np.isfinite(found)] = np.nan
        return found.clip(-LARGEST, LARGEST)


def _codes(cells: Iterable[Scalar | None]) -> dict[str, int]:
    seen = Counter(canonical(cell) for cell in cells if cell is not None)
    known = sorted(seen, key=lambda text: (-seen[text], text))[:MOST_CATEGORIES]
    return {text: code for code, text in enumerate(known, start=NO_CATEGORY + 1)}


def _category(cell: Scalar | None, codes: Mapping[str, int]) -> int:
    return NO_CATEGORY if cell is None else codes.get(canonical(cell), NO_CATEGORY)


def _quantity(cell: Scalar | None) -> float:
    number = float(cell) if isinstance(cell, bool) else number_of(cell)
    return np.nan if number is None else number
