"""Odds ratios given a control: Mantel–Haenszel's common odds ratio, the CMH test and Breslow–Day's test.

The interval is that of Robins, Breslow and Greenland (1986). No continuity correction, no adjustment by Tarone. p-values are of `chi2.sf`:
statsmodels subtracts from 1 and has none below 1e-16.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import chdtrc

from ..metrics.formulas.conditional import StrataOutcomes
from ..metrics.formulas.strata_odds import common_odds_limits, common_odds_ratio, expected_favourable
from ..metrics.groups import FloatArray
from .categories import Category

ONE_STRATUM = "only one stratum has people of both categories and both outcomes, so there is nothing to compare the strata by"
NO_STRATUM = "no stratum has people of both categories and both outcomes"
NO_FINITE = "within every stratum everybody of {one} was selected or nobody of {other} was, so the odds ratio has no finite value"
ZERO = "within every stratum nobody of {one} was selected or everybody of {other} was, so the odds ratio is 0 and has no interval"


@dataclass(frozen=True, slots=True)
class Stratum:
    """People of two categories with the same value of the control; either may be empty."""

    selected: int
    rejected: int
    others_selected: int
    others_rejected: int

    @property
    def is_informative(self) -> bool:
        """Whether it has both categories and both outcomes; another says nothing about the odds ratio."""
        sides = (self.selected + self.rejected, self.others_selected + self.others_rejected)
        outcomes = (self.selected + self.others_selected, self.rejected + self.others_rejected)
        return all((*sides, *outcomes))


@dataclass(frozen=True, slots=True)
class StratumTest:
    """Chi-squared statistic with degrees of freedom and p-value; all None where there is none."""

    statistic: float | None
    degrees: int | None
    p_value: float | None
    reason: str | None = None


@dataclass(frozen=True, slots=True)
class StratifiedOdds:
    """Odds of selection over those of another category, given the control; None with a `reason`.

    `strata` are the informative ones, `left_out` people are in others. `cmh` tests an odds ratio of 1, `homogeneity` that it is the same in
    all strata.
    """

    value: float | None
    lower: float | None
    upper: float | None
    reason: str | None
    cmh: StratumTest
    homogeneity: StratumTest
    strata: int
    left_out: int


def stratified_odds(category: Category, other: Category, strata: Sequence[Stratum]) -> StratifiedOdds:
    used = [one for one in strata if one.is_informative]
    people = sum(one.selected + one.rejected + one.others_selected + one.others_rejected for one in strata)
    if not used:
        absent = StratumTest(None, None, None, NO_STRATUM)
        return StratifiedOdds(None, None, None, NO_STRATUM, absent, absent, 0, people)
    cells = np.array([(one.selected, one.rejected, one.others_selected, one.others_rejected) for one in used], dtype=np.float64).T
    value, lower, upper, reason = pool_strata(cells, category.label, other.label)
    left_out = people - int(cells.sum())
    return StratifiedOdds(value, lower, upper, reason, association_test(cells), homogeneity_test(cells, value, reason), len(used), left_out)


def pool_strata(cells: FloatArray, category: str, other: str) -> tuple[float | None, float | None, float | None, str | None]:
    """Common odds ratio, ends of its interval, and the reason where one is missing; `cells` is [4, strata]."""
    one, another = (np.stack(side, axis=-1) for side in ((cells[1], cells[0]), (cells[3], cells[2])))
    value = float(common_odds_ratio(one, another))
    if not math.isfinite(value):
        return None, None, None, NO_FINITE.format(one=category, other=other)
    if not value:
        return value, None, None, ZERO.format(one=category, other=other)
    lower, upper = common_odds_limits(*(StrataOutcomes(side.astype(np.int64), side, side) for side in (one, another)))
    return value, float(lower), float(upper), None


def association_test(cells: FloatArray) -> StratumTest:
    """Test of Cochran, Mantel and Haenszel of an odds ratio of 1 in every stratum."""
    a, b, c, d = cells
    n = cells.sum(axis=0)
    spread = float(((a + b) * (c + d) * (a + c) * (b + d) / (n**2 * (n - 1))).sum())
    statistic = float((a - (a + b) * (a + c) / n).sum()) ** 2 / spread
    return StratumTest(statistic, 1, float(chdtrc(1, statistic)))


def homogeneity_test(cells: FloatArray, value: float | None, reason: str | None) -> StratumTest:
    """Breslow and Day's test that the odds ratio is `value` in every stratum."""
    if cells.shape[1] == 1:
        return StratumTest(None, None, None, ONE_STRATUM)
    if not value:
        return StratumTest(None, None, None, reason)
    a, b, c, _ = cells
    row, column, n = a + b, a + c, cells.sum(axis=0)
    expected = expected_favourable(np.asarray(value), row, column, n)
    others = (row - expected, column - expected, n - row - column + expected)
    inverse = 1 / expected + sum(1 / one for one in others)
    statistic = float(((a - expected) ** 2 * inverse).sum())
    degrees = cells.shape[1] - 1
    return StratumTest(statistic, degrees, float(chdtrc(degrees, statistic)))
