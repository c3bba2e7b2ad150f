"""Rows of the catalogue: how a figure is computed, and what it means. Nothing here computes."""

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from enum import StrEnum
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from ..cautions import no_caution
from ..comparisons import ShareComparison
from ..formulas.conditional import StrataOutcomes
from ..groups import FloatArray
from ..values import Scope

Data: TypeAlias = Literal["payload", "payload_perturbed", "balanced", "feedback", "training", "debiased", "debiased_feedback"]
Needs: TypeAlias = Literal["predictions", "labels", "scores", "strata", "rows", "classes", "numbers", "copies"]
Order: TypeAlias = Literal["monitored - reference", "reference - monitored", "monitored / reference", "none"]
Side: TypeAlias = Literal["below", "above"]
"""The side of the ideal number on which a figure lies."""

Over: TypeAlias = Literal["confusion", "labels", "predictions", "confusion_after", "changes", "corrections", "label_changes"]
"""Cells [2, 2] by label and prediction, or [2] by one of them; the favourable outcome last.

For mitigation: [2, 2] by label and outcome after it, by outcome before and after it, or by whether the prediction was right before
and is after it; [2, 2, 2] by label, outcome before and outcome after.
"""

SetFunction: TypeAlias = Callable[[FloatArray], FloatArray]
PairFunction: TypeAlias = Callable[[FloatArray, FloatArray], FloatArray]


class Direction(StrEnum):
    """The direction in which a number gets better."""

    TOWARDS_IDEAL = "towards_ideal"
    HIGHER = "higher"
    LOWER = "lower"
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Need:
    """Records that a figure cannot do without: their number or weight, from cells, and the reason given where there are none.

    `is_outcome` marks a number that the figure itself judges, as that of the false positives in FN / FP.
    """

    of: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]
    empty: str
    is_outcome: bool = False


@dataclass(frozen=True, slots=True)
class RateOf:
    """A rate by itself. `parts` are rates of the same records that add up to it, whose counts are among its details."""

    rate: str
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ComparedRate:
    """A rate of a monitored group compared with that of the reference."""

    rate: str
    by: ShareComparison


@dataclass(frozen=True, slots=True)
class CountOf:
    """The number, or weight, of some of the cells."""

    part: str


@dataclass(frozen=True, slots=True)
class OfSet:
    """A function of one set's cells. `endless` is the reason given where it is not finite."""

    function: SetFunction
    over: Over
    needs: tuple[Need, ...]
    endless: str = ""


@dataclass(frozen=True, slots=True)
class OfPair:
    """A function of a monitored group's cells and the reference's. `vanishing` are its signed parts, all zero at equality.

    `parts`, one for each of these, are set where the figure is `whole` of them: np.max, np.min or np.mean over the last axis.
    """

    function: PairFunction
    over: Over
    needs: tuple[Need, ...]
    vanishing: tuple[PairFunction, ...] = ()
    endless: str = ""
    parts: tuple[PairFunction, ...] = ()
    whole: Callable[..., FloatArray] = np.mean


@dataclass(frozen=True, slots=True)
class Across:
    """A function of all groups' cells [..., G, …].

    `power` is the power of the figure that is, nearly, a sum of squares over the groups; 0 where none is. `limits` computes the
    interval, where it has its own form, from the cells with half a record added to each; `reach` is the least that the interval
    covers.
    """

    function: SetFunction
    over: Over
    power: int = 0
    limits: Callable[[FloatArray], tuple[float, float]] | None = None
    reach: Callable[[FloatArray], tuple[float, float]] | None = None


@dataclass(frozen=True, slots=True)
class OverStrata:
    """A function of a monitored group's outcomes [..., S, 2] and the reference's, stratum by stratum, and its `limits` by that method.

    `caution` returns one from the outcomes [2, S, 2] of a pair, or None. `endless` is the reason given where the figure is not finite.
    """

    function: PairFunction
    over: Over
    limits: Callable[[StrataOutcomes, StrataOutcomes], tuple[FloatArray, FloatArray]]
    method: str
    caution: Callable[[StrataOutcomes], str | None] = no_caution
    endless: str = ""


@dataclass(frozen=True, slots=True)
class FromScores:
    """Measured from the table of scores, by `measure_scores`."""


@dataclass(frozen=True, slots=True)
class FromRows:
    """Measured from the records themselves, by `measure_rows`."""


@dataclass(frozen=True, slots=True)
class FromAnswers:
    """Measured from labels and predictions themselves, not their outcomes, by `measure_answers`."""


Measure: TypeAlias = RateOf | ComparedRate | CountOf | OfSet | OfPair | Across | OverStrata | FromScores | FromRows | FromAnswers


@dataclass(frozen=True, slots=True)
class Metric:
    """One metric of the catalogue.

    `lowest` and `highest` are the range (None = unbounded), `ideal` the number that means equality or perfection, `limits` the
    fair range where a monitor sets none. `says` is the plain sentence (see sentences.py), `aliases` the names the metric
    has elsewhere. `redefined_on` are the data sets on which the key meant another figure in release 0.1. Those that are not
    `is_stored` a check only counts for: they are measured from its tables when somebody asks.

    `disadvantage` is the side of the ideal on which the monitored group gets, among like records, the favourable outcome less often
    than the reference; on the other side the reference does. None where a number does not say that of either: figures that do not
    compare two groups, distances, and errors, which may be in a group's favour.
    """

    key: str
    title: str
    formula: str
    _: KW_ONLY
    data: tuple[Data, ...]
    measure: Measure
    scopes: tuple[Scope, ...]
    lowest: float | None = 0.0
    highest: float | None = 1.0
    ideal: float | None = None
    direction: Direction = Direction.NONE
    convention: str
    source: str
    says: str = ""
    order: Order = "none"
    needs: tuple[Needs, ...] = ()
    limits: tuple[float | None, float | None] = (None, None)
    disadvantage: Side | None = None
    aliases: tuple[str, ...] = ()
    is_default: bool = False
    redefined_on: tuple[Data, ...] = ()
    is_stored: bool = True

    @property
    def is_of_tables(self) -> bool:
        """Returns whether count tables suffice for the metric, so that it can be rolled up."""
        return not isinstance(self.measure, FromRows | FromAnswers)

    def definition_on(self, data: Data) -> int:
        """Returns the number of the definition on a data set: 1, or 2 where release 0.1 defined the same key differently."""
        return 2 if data in self.redefined_on else 1

    def scopes_on(self, data: Data) -> tuple[Scope, ...]:
        """Returns the metric's scopes on a data set.

        With counterfactuals a pair of groups is compared through the reference only; and among count tables only those of feedback
        hold the outcomes of ungrouped records, which overall figures need.
        """
        if not self.is_of_tables:
            return self.scopes
        with_copies = {"worst_pair", "overall"}
        absent = {"balanced": with_copies, "payload_perturbed": with_copies, "payload": {"overall"}, "training": {"overall"}}.get(
            data, set()
        )
        return tuple(scope for scope in self.scopes if scope not in absent)
