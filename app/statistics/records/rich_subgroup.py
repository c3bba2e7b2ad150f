"""Rich subgroups: has an unnamed subgroup, made of several protected attributes, another error rate?

Source: Kearns, Neel, Roth and Wu 2018, "Preventing Fairness Gerrymandering". Of all subgroups that a
hyperplane through the protected attributes separates, the one with the largest |rate(subgroup) - rate| times
its share of all records.

Searched are lines across each attribute, across sum and difference of each two (of few), and across the
direction of the least-squares regression of the rate. AIF360's rate of the complement is wrong for records on
the line and not followed.
"""

import math
from itertools import combinations
from typing import Literal

import numpy as np

from ...base.values import frozen_arrays
from ..group_labels import BoolArray, FloatArray, IntArray
from ..intervals.intervals import Interval, Z
from .flip_test import TIE_TOLERANCE, Points, standardise

METHOD = "wald_with_drawn_null"
MAX_DRAWS = 500
MIN_DRAWS = 100
"""Draws by which chance is estimated; of large data fewer."""

MAX_DRAWN_NUMBERS = 1 << 21
"""Draws × positions in memory."""

MAX_PAIRED_ATTRIBUTES = 8
"""With more, sums and differences of two attributes are not searched."""

ErrorKind = Literal["false_positive", "false_negative"]


@frozen_arrays
class RichSubgroup:
    """Subgroup on the smaller side of its line.

    `value` is |`rate` - `overall_rate`| times its share. `judged` are positions of records whose error counts
    (actually unfavourable for false positives, favourable for false negatives), `members` of them in the
    subgroup.
    """

    value: float
    rate: float
    overall_rate: float
    judged: IntArray
    members: BoolArray
    interval: Interval


def find_rich_subgroup(
    protected: FloatArray, favoured: IntArray, actual: IntArray, kind: ErrorKind
) -> RichSubgroup | None:
    """Finds the subgroup of records, with predictions and labels (0 or 1), whose error rate differs most.

    `protected` is [records, attributes]. None where no record can have such an error, or all that can are
    alike in every protected attribute.
    """
    judged = np.flatnonzero(actual == (0 if kind == "false_positive" else 1))
    errors = favoured[judged] if kind == "false_positive" else 1 - favoured[judged]
    points = Points.of(protected[judged])
    if len(points.counts) < 2:  # noqa: PLR2004 - a line divides two
        return None
    search = _Search(points)
    wrong = np.bincount(points.of_record, weights=errors, minlength=len(points.counts))
    deviation, inside = search.find_largest(wrong - points.counts * errors.mean())
    members = inside[points.of_record]
    value = deviation / len(actual)
    return RichSubgroup(
        value=value,
        rate=float(errors[members].mean()),
        overall_rate=float(errors.mean()),
        judged=judged,
        members=members,
        interval=_build_interval(
            value, errors, members, len(actual), search.draw_chance_limit(int(errors.sum())) / len(actual)
        ),
    )


class _Search:
    """Search of the line on one side of which errors deviate most from the expected number."""

    def __init__(self, points: Points) -> None:
        self._places = standardise(points.positions)
        self._counts = points.counts
        centred = self._places - np.average(self._places, axis=0, weights=self._counts)
        self._fit = np.linalg.pinv(centred * np.sqrt(self._counts)[:, None]) / np.sqrt(self._counts)

    def find_largest(self, deviations: FloatArray) -> tuple[float, BoolArray]:
        """Largest deviation, and the positions on the smaller side of its line."""
        best = 0.0
        inside = np.arange(len(self._counts)) == 0
        for coordinates in self._list_directions(deviations[None]):
            sums, order = _sum_along(deviations[None], coordinates)
            largest = int(np.abs(sums[0]).argmax())
            # A later direction must be better by more than rounding.
            if abs(sums[0, largest]) > best * (1 + TIE_TOLERANCE) + TIE_TOLERANCE:
                best = float(abs(sums[0, largest]))
                inside = np.zeros(len(self._counts), bool)
                inside[order[0, : largest + 1]] = True
        return best, inside if 2 * self._counts[inside].sum() <= self._counts.sum() else ~inside

    def draw_chance_limit(self, errors: int) -> float:
        """Deviation that one search in twenty exceeds if all records have one error rate."""
        draws = max(MIN_DRAWS, min(MAX_DRAWS, MAX_DRAWN_NUMBERS // self._counts.size))
        total = self._counts.sum()
        # Half an error of either kind keeps some variance where all or none are errors.
        wrong = np.random.default_rng(0).binomial(
            self._counts, (errors + 0.5) / (total + 1), size=(draws, self._counts.size)
        )
        deviations = wrong - self._counts * (wrong.sum(1, keepdims=True) / total)
        largest = np.stack(
            [
                np.abs(_sum_along(deviations, coordinates)[0]).max(1)
                for coordinates in self._list_directions(deviations)
            ]
        )
        return float(np.quantile(largest.max(0), 0.95, method="higher"))

    def _list_directions(self, deviations: FloatArray) -> list[FloatArray]:
        """Coordinate along each direction: [1, places] for attributes, [draws, places] for regressions."""
        attributes = list(self._places.T[:, None])
        if len(attributes) == 1:
            return attributes
        pairs = combinations(attributes, 2) if len(attributes) <= MAX_PAIRED_ATTRIBUTES else ()
        diagonals = [along for first, second in pairs for along in (first + second, first - second)]
        return [*attributes, *diagonals, (deviations @ self._fit.T) @ self._places.T]


def _sum_along(deviations: FloatArray, coordinates: FloatArray) -> tuple[FloatArray, IntArray]:
    """Running sums [draws, places] of the deviations, 0 if no line fits between two, and their order."""
    order = np.broadcast_to(np.argsort(coordinates, 1, kind="stable"), deviations.shape)
    sums = np.take_along_axis(deviations, order, axis=1).cumsum(1)
    steps = np.diff(np.take_along_axis(np.broadcast_to(coordinates, deviations.shape), order, axis=1), axis=1)
    divides = steps > TIE_TOLERANCE * np.abs(coordinates).max(1, keepdims=True)
    return np.where(np.pad(divides, ((0, 0), (0, 1))), sums, 0.0), order


def _build_interval(
    value: float, errors: IntArray, members: BoolArray, records: int, chance_limit: float
) -> Interval:
    """95 % interval from the variance of the records' parts (Wald).

    Unless the value exceeds what a search finds by chance, it reaches from 0 to at least that. Beyond, the
    subgroup is taken as given.
    """
    products = (members - members.mean()) * (errors - errors.mean())
    half = Z * math.sqrt(max(0.0, float(np.square(products).sum()) / records - value**2) / records)
    if value <= chance_limit:
        return Interval(0.0, min(1.0, max(value + half, chance_limit)), METHOD)
    return Interval(max(0.0, value - half), min(1.0, value + half), METHOD)
