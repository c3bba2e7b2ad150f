"""Needs of figures: the parts of the cells that must not be empty."""

from typing import Any

import numpy.typing as npt

from ..confusion import PARTS
from .metric import Need


def parts(*names: str) -> tuple[Need, ...]:
    """Returns needs of cells [..., 2, 2], by the names of the parts."""
    return tuple(Need(PARTS[name].of, PARTS[name].empty) for name in names)


def judged(name: str) -> tuple[Need, ...]:
    """Returns the need of a denominator that the figure judges like its numerator."""
    return (Need(PARTS[name].of, PARTS[name].empty, is_outcome=True),)


def _all(outcomes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    total: npt.NDArray[Any] = outcomes.sum(axis=-1)
    return total


PREDICTIONS = (Need(_all, "no record{of} was classified"),)
"""The need of cells [..., 2] by prediction."""

LABELS = (Need(_all, "no record{of} has a label among the outcomes"),)
"""The need of cells [..., 2] by label."""
