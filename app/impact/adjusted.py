"""Odds ratios adjusted for several controls by logistic regression."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from ..metrics.groups import FloatArray
from ..metrics.intervals import Z
from .categories import Category
from .four_fifths import OddsRatio

NOBODY = "no value of the controls has people of both categories and both outcomes"
SEPARATED = "category and controls divide the selected from the others without overlap, so the adjusted odds ratio has no finite value"

_MOST_ROUNDS = 100
_LONGEST_STEP = 4.0
_TOLERANCE = 1e-10
_SEPARATES = 1e-6


@dataclass(frozen=True, slots=True)
class ControlledCount:
    controls: tuple[str, ...]
    is_category: bool
    selected: int
    rejected: int


@dataclass(frozen=True, slots=True)
class AdjustedOdds:
    """Adjusted odds ratio. `left_out` people have a value of a control that says nothing about it."""

    odds: OddsRatio
    people: int
    left_out: int


def adjusted_odds(category: Category, other: Category, counts: Sequence[ControlledCount]) -> AdjustedOdds:
    """Odds ratio given the controls, with Wald's interval.

    Values of a control with one outcome or one category only are left out: the fit would not converge.
    """
    everybody = sum(one.selected + one.rejected for one in counts)
    used = drop_uninformative([one for one in counts if one.selected + one.rejected])
    people = sum(one.selected + one.rejected for one in used)
    if not used:
        return AdjustedOdds(OddsRatio(None, None, None, NOBODY), 0, everybody)
    design = design_terms(used)
    selected = np.array([one.selected for one in used], dtype=np.float64)
    rejected = np.array([one.rejected for one in used], dtype=np.float64)
    if is_separated(design, selected, rejected):
        return AdjustedOdds(OddsRatio(None, None, None, f"{SEPARATED} ({category.label}, {other.label})"), people, everybody - people)
    value, half = _fit(design, selected, selected + rejected)
    return AdjustedOdds(OddsRatio(math.exp(value), math.exp(value - half), math.exp(value + half)), people, everybody - people)


def drop_uninformative(counts: Sequence[ControlledCount]) -> list[ControlledCount]:
    """Counts without values of a control that hold one outcome or one side only; leaving some out may empty others."""
    used = list(counts)
    while used:
        places = [(control, one.controls[control]) for one in used for control in range(len(one.controls))]
        held = {place: np.zeros(4, dtype=np.int64) for place in places}
        for one in used:
            people = one.selected + one.rejected
            parts = (one.selected, one.rejected, people * one.is_category, people * (not one.is_category))
            for control, value in enumerate(one.controls):
                held[control, value] += parts
        kept = [one for one in used if all(held[control, value].all() for control, value in enumerate(one.controls))]
        if len(kept) == len(used):
            break
        used = kept
    return used


def design_terms(used: Sequence[ControlledCount]) -> FloatArray:
    """Terms [counts, terms]: the category, one for all, and values of each control, without those that follow from others."""
    columns = [np.array([one.is_category for one in used], dtype=np.float64), np.ones(len(used))]
    for control in range(len(used[0].controls)):
        values = sorted({one.controls[control] for one in used})
        columns += [np.array([one.controls[control] == value for one in used], dtype=np.float64) for value in values[1:]]
    chosen = columns[:1]
    for column in columns[1:]:
        tried = np.column_stack([*chosen, column])
        if np.linalg.matrix_rank(tried) == tried.shape[1]:
            chosen.append(column)
    return np.column_stack(chosen)


def _fit(design: FloatArray, selected: npt.NDArray[np.float64], people: npt.NDArray[np.float64]) -> tuple[float, float]:
    """First coefficient, by Newton's method, and half the width of its interval."""
    weights = np.zeros(design.shape[1])
    for _ in range(_MOST_ROUNDS):
        rates = expit(design @ weights)
        information = design.T @ (design * (people * rates * (1 - rates))[:, None])
        step = np.linalg.solve(information, design.T @ (selected - people * rates))
        # A long step can jump over the maximum and never return.
        weights += step * min(1.0, _LONGEST_STEP / float(np.abs(step).max(initial=_LONGEST_STEP)))
        if float(np.abs(step).max()) < _TOLERANCE:
            break
    rates = expit(design @ weights)
    information = design.T @ (design * (people * rates * (1 - rates))[:, None])
    return float(weights[0]), Z * math.sqrt(float(np.linalg.inv(information)[0, 0]))


def is_separated(design: FloatArray, selected: npt.NDArray[np.float64], rejected: npt.NDArray[np.float64]) -> bool:
    """Whether some weights of the terms divide the selected from the others: the likelihood has no maximum (Albert and Anderson 1984)."""
    # Where counts with both outcomes have every term, no weights divide, and the programme (fifty times as long) is not needed.
    both = design[(selected > 0) & (rejected > 0)]
    if np.linalg.matrix_rank(both) == design.shape[1]:
        return False
    from scipy.optimize import linprog  # noqa: PLC0415 - a tenth of a second to load, and few tables come here

    signed = np.vstack([design[selected > 0], -design[rejected > 0]])
    found = linprog(-signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(signed)), bounds=[(-1, 1)] * design.shape[1], method="highs")
    return bool(-found.fun > _SEPARATES)
