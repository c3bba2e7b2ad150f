"""Parts of the cells that must not be empty for a figure."""

from typing import Any

import numpy.typing as npt

from ..intervals.confusion_cells import PARTS
from .metric import Need


def parts(*names: str) -> tuple[Need, ...]:
    """Needs of cells [..., 2, 2], by the names of the parts."""
    return tuple(Need(PARTS[name].of, PARTS[name].empty) for name in names)


def judged(name: str) -> tuple[Need, ...]:
    """Need of a denominator that the figure judges like its numerator."""
    return (Need(PARTS[name].of, PARTS[name].empty, is_outcome=True),)


def _all(outcomes: npt.NDArray[Any]) -> npt.NDArray[Any]:
    total: npt.NDArray[Any] = outcomes.sum(axis=-1)
    return total


PREDICTIONS = (Need(_all, "no record{of} was classified"),)
"""Need of cells [..., 2] by prediction."""

LABELS = (Need(_all, "no record{of} has a label among the outcomes"),)
"""Need of cells [..., 2] by label."""
