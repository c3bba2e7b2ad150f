"""Definition of a metric: how its figure is computed, and what it means."""

from collections.abc import Callable
from dataclasses import KW_ONLY
from enum import StrEnum
from functools import partial
from typing import Literal

import numpy as np

from ...base.values import frozen
from ..formulas.conditional_disparity import StrataOutcomes
from ..group_labels import AnyArray, FloatArray
from ..intervals.rate_estimates import PARTS, ShareComparison
from ..intervals.verdicts import FigureScope

Data = Literal[
    "as_logged", "openscale", "counterfactual", "labelled", "training", "mitigated", "mitigated_labelled"
]
NeededInput = Literal["predictions", "labels", "scores", "strata", "rows", "copies"]
Order = Literal["monitored - reference", "reference - monitored", "monitored / reference", "none"]
SideOfIdeal = Literal["below", "above"]

CellKind = Literal[
    "confusion", "labels", "predictions", "confusion_after", "changes", "corrections", "label_changes"
]
"""Cells that a figure is computed from, unfavourable first.

`labels` and `predictions` are [2], `confusion` [2, 2] by label and prediction. `confusion_after` is by label
and outcome after mitigation; `changes` by outcome before and after it, `corrections` by being right (last)
before and after it; `label_changes` [2, 2, 2] by label, outcome before and after.
"""

SetFunction = Callable[[FloatArray], FloatArray]
PairFunction = Callable[[FloatArray, FloatArray], FloatArray]


class Direction(StrEnum):
    """The direction in which a number gets better."""

    TOWARDS_IDEAL = "towards_ideal"
    HIGHER = "higher"
    LOWER = "lower"
    NONE = "none"


@frozen
class Need:
    """Records that a figure needs, and the reason where there are none.

    `count` sums them from cells. `is_outcome`: the figure judges their number, as false positives in FN / FP.
    """

    count: Callable[[AnyArray], AnyArray]
    empty: str
    is_outcome: bool = False


@frozen
class RateFigure:
    """A rate by itself, a key of the estimates. `parts` are rates of the same records that add up to it."""

    rate: str
    parts: tuple[str, ...] = ()


@frozen
class RateComparison:
    """Comparison of a rate, a key of the estimates, of a monitored group with the reference's."""

    rate: str
    by: ShareComparison


@frozen
class CountFigure:
    """Number of the records in a part of the confusion matrix, a key of PARTS."""

    part: str


@frozen
class SetFigure:
    """Function of one set's cells. `reason_if_infinite` is the reason where it is not finite."""

    function: SetFunction
    cell_kind: CellKind
    needs: tuple[Need, ...]
    reason_if_infinite: str = ""


@frozen
class PairFigure:
    """Function of a monitored group's cells and the reference's.

    `vanishing` are signed differences, all zero at equality. If `parts` are set, one for each, the figure is
    `whole` of them: np.max, np.min or np.mean over the last axis.
    """

    function: PairFunction
    cell_kind: CellKind
    needs: tuple[Need, ...]
    vanishing: tuple[PairFunction, ...] = ()
    reason_if_infinite: str = ""
    parts: tuple[PairFunction, ...] = ()
    whole: Callable[..., FloatArray] = np.mean


@frozen
class SpreadFigure:
    """Function of all groups' cells [..., G, …].

    To this `power` the figure is, nearly, a sum of squares over the groups; 0: to none. `limits` computes the
    interval from the cells with half a record added to each, `reach` the least interval.
    """

    function: SetFunction
    cell_kind: CellKind
    power: int = 0
    limits: Callable[[FloatArray], tuple[float, float]] | None = None
    reach: Callable[[FloatArray], tuple[float, float]] | None = None
    reason_if_infinite: str = "every labelled record was wrongly predicted unfavourable"


@frozen
class StrataFigure:
    """Function of both groups' outcomes [..., S, 2] by stratum, and its `limits`.

    `caution` warns of outcomes [2, S, 2] of a pair; None for figures that leave out strata without both
    outcomes.
    """

    function: PairFunction
    cell_kind: CellKind
    limits: Callable[[StrataOutcomes, StrataOutcomes], tuple[FloatArray, FloatArray]]
    method: str
    caution: Callable[[StrataOutcomes], str | None] | None = None
    reason_if_infinite: str = ""


@frozen
class ScoreFigure:
    """Figure of scores, measured by `measure_scores`."""


@frozen
class RowFigure:
    """Figure of the records themselves, measured by `measure_rows`."""


Measure = (
    RateFigure
    | RateComparison
    | CountFigure
    | SetFigure
    | PairFigure
    | SpreadFigure
    | StrataFigure
    | ScoreFigure
    | RowFigure
)


@frozen
class Metric:
    """One metric of the catalogue.

    `lowest` and `highest` are the range (None = unbounded), `ideal` means equality or perfection, `limits`
    are the fair range where a monitor sets none. `aliases` are names elsewhere. On `redefined_on` the key
    meant another figure in release 0.1. If not `is_stored`, a check only counts for it, and it is measured
    on request. `disadvantage` is the side of the ideal on which the monitored group gets, among like
    records, the favourable outcome less often than the reference; the reverse on the other side. None
    where a number says neither: distances, errors that may be in a group's favour, or no comparison of two
    groups. If `is_judged_by_value`, the interval does not count.
    """

    key: str
    title: str
    formula: str
    _: KW_ONLY
    data: tuple[Data, ...]
    measure: Measure
    scopes: tuple[FigureScope, ...]
    lowest: float | None = 0.0
    highest: float | None = 1.0
    ideal: float | None = None
    direction: Direction = Direction.NONE
    convention: str
    source: str
    says: str = ""
    order: Order = "none"
    needs: tuple[NeededInput, ...] = ()
    limits: tuple[float | None, float | None] = (None, None)
    disadvantage: SideOfIdeal | None = None
    aliases: tuple[str, ...] = ()
    is_default: bool = False
    redefined_on: tuple[Data, ...] = ()
    is_stored: bool = True
    is_judged_by_value: bool = False

    def find_definition(self, data: Data) -> int:
        """Returns 2 where release 0.1 defined the key differently, else 1."""
        return 2 if data in self.redefined_on else 1

    def list_scopes_on(self, data: Data) -> tuple[FigureScope, ...]:
        """Lists the scopes of figures on a data set.

        With counterfactuals groups are compared through the reference only; of count tables only those of
        feedback hold ungrouped records, which overall figures need.
        """
        if isinstance(self.measure, RowFigure):
            return self.scopes
        with_copies = {"worst_pair", "overall"}
        absent = {
            "counterfactual": with_copies,
            "openscale": with_copies,
            "as_logged": {"overall"},
            "training": {"overall"},
        }.get(data, set())
        return tuple(scope for scope in self.scopes if scope not in absent)


build_labelled = partial(Metric, data=("labelled",), needs=("predictions", "labels"))
build_ratio = partial(
    Metric, highest=None, ideal=1.0, direction=Direction.TOWARDS_IDEAL, order="monitored / reference"
)
build_difference = partial(
    Metric, lowest=-1.0, ideal=0.0, direction=Direction.TOWARDS_IDEAL, order="monitored - reference"
)
build_reversed_difference = partial(build_difference, order="reference - monitored")


def list_needs(*names: str) -> tuple[Need, ...]:
    """Lists needs of a figure that divides by these parts of the confusion matrix, keys of PARTS."""
    return tuple(Need(PARTS[name].sum_cells, PARTS[name].empty) for name in names)


def list_judged_needs(name: str) -> tuple[Need, ...]:
    """Lists the need of a figure that judges the part it divides by."""
    return (Need(PARTS[name].sum_cells, PARTS[name].empty, is_outcome=True),)


def _sum_outcomes(outcomes: AnyArray) -> AnyArray:
    total: AnyArray = outcomes.sum(-1)
    return total


PREDICTION_NEEDS = (Need(_sum_outcomes, "no record{of} was classified"),)
"""Needs of figures from cells [..., 2] by prediction."""

LABEL_NEEDS = (Need(_sum_outcomes, "no record{of} has a label among the outcomes"),)
