"""Strengths of association between each two of several columns."""

from collections.abc import Sequence
from itertools import combinations
from typing import TypeGuard

import numpy as np

from ...statistics.figure_values import Undefined
from ...statistics.group_labels import Codes, FloatArray
from .association import AbsolutePearson, AssociationCounts, CorrelationRatio, CramersV


def measure_strengths(columns: Sequence[Codes | FloatArray]) -> FloatArray:
    """Returns the strengths [columns, columns], corrected for chance, 0 to 1; NaN where undefined.

    Integers are places of categories, or MISSING; floats quantities, or NaN.
    """
    strengths = np.zeros((len(columns), len(columns)))
    for first, second in combinations(range(len(columns)), 2):
        strength = associate(columns[first], columns[second]).strength()
        strengths[first, second] = strengths[second, first] = (
            np.nan if isinstance(strength, Undefined) else strength.corrected
        )
    return strengths


def associate(first: Codes | FloatArray, second: Codes | FloatArray) -> AssociationCounts:
    if _is_categories(first) and _is_categories(second):
        categories = CramersV(_count_values(first), _count_values(second))
        categories.add(first, second)
        return categories
    if _is_categories(second):
        first, second = second, first
    if _is_categories(first):
        ratio = CorrelationRatio(_count_values(first))
        ratio.add(first, second.astype(np.float64))
        return ratio
    quantities = AbsolutePearson()
    quantities.add(first.astype(np.float64), second.astype(np.float64))
    return quantities


def _is_categories(column: Codes | FloatArray) -> TypeGuard[Codes]:
    return bool(np.issubdtype(column.dtype, np.integer))


def _count_values(codes: Codes) -> int:
    return int(codes.max(initial=0)) + 1
