"""Controls sheet as unrounded data: odds ratios given the controls, by a regression and within strata."""

import math
from dataclasses import asdict

import numpy as np
from scipy.special import chdtrc, expit

from ...base.values import frozen
from ..formulas.conditional_disparity import StrataOutcomes
from ..formulas.strata_odds import common_odds_limits, common_odds_ratio, measure_homogeneity
from ..group_labels import MISSING, FloatArray, IntArray
from ..intervals.intervals import Z
from .category_people import (
    Category,
    CountedPeople,
    Json,
    RowMask,
    combine_controls,
    compare_categories,
    name_reference,
    select_reference,
)
from .four_fifths import OddsRatio, compute_odds_ratio

NO_CONTROLS = "no control was chosen; name columns that decisions may lawfully depend on, such as experience"
NOBODY_INFORMATIVE = "no value of the controls has people of both categories and both outcomes"

SEPARATED = (
    "category and controls divide the selected from the others without overlap, so the adjusted "
    "odds ratio has no finite value"
)

ONE_STRATUM = (
    "only one stratum has people of both categories and both outcomes, so there is nothing to "
    "compare the strata by"
)

NO_STRATUM = "no stratum has people of both categories and both outcomes"

NO_FINITE_ODDS = (
    "within every stratum everybody of {one} was selected or nobody of {other} was, so the odds "
    "ratio has no finite value"
)

ZERO_ODDS = (
    "within every stratum nobody of {one} was selected or everybody of {other} was, so the odds ratio is "
    "0 and has no interval"
)

_MAX_ROUNDS = 100
_MAX_STEP = 4.0
_TOLERANCE = 1e-10
"""Rounds of the fit, and the largest and the last change of a coefficient in one."""

_MIN_SEPARATION = 1e-6
"""Sum by which weights of the terms must divide the selected from the others."""


@frozen
class AdjustedOdds:
    """Adjusted odds ratio. `left_out` people have a value of a control that says nothing about it."""

    odds: OddsRatio
    people: int
    left_out: int


def adjust_odds(category: Category, reference: Category, controls: IntArray, cells: IntArray) -> AdjustedOdds:
    """Odds ratio given the controls, with Wald's interval.

    `controls` [strata, controls] are codes of their values, `cells` are as of `stratify_odds`. Values of a
    control with one outcome or one category only are left out: the fit would not converge.
    """
    tables = cells.reshape(-1, 2, 2)
    informative = find_informative(controls, tables)
    people = tables[informative].sum(2).ravel()
    odds = OddsRatio(reason=NOBODY_INFORMATIVE)
    if informative.size:
        # Terms [strata and categories, terms]: the category, one for all, and values of each control,
        # without those that follow from others.
        columns = [np.tile([1, 0], informative.size), np.ones(people.size)]
        for codes in np.repeat(controls[informative], 2, axis=0).T:
            columns += [codes == code for code in np.unique(codes)[1:]]
        terms = np.column_stack(columns)[people > 0].T
        design = np.empty((terms.shape[1], 0))
        for term in terms:
            with_term = np.column_stack([design, term])
            if np.linalg.matrix_rank(with_term) == with_term.shape[1]:
                design = with_term
        selected, rejected = tables[informative].reshape(-1, 2)[people > 0].T.astype(float)
        if is_separated(design, selected, rejected):
            odds = OddsRatio(reason=f"{SEPARATED} ({category.label}, {reference.label})")
        else:
            value, half = _fit_coefficient(design, selected, selected + rejected)
            odds = OddsRatio(math.exp(value), math.exp(value - half), math.exp(value + half))
    return AdjustedOdds(odds, int(people.sum()), int(cells.sum() - people.sum()))


def find_informative(controls: IntArray, tables: IntArray) -> IntArray:
    """Positions of the strata all of whose values of controls have both categories and both outcomes.

    Leaving some out may empty others, so it is repeated.
    """
    informative = np.arange(len(tables))
    while True:
        sides = np.hstack([tables[informative].sum(1), tables[informative].sum(2)])
        informs = np.ones(len(informative), bool)
        for codes in controls[informative].T:
            totals = np.zeros((codes.max(initial=0) + 1, 4), int)
            np.add.at(totals, codes, sides)
            informs &= totals[codes].all(1)
        if informs.all():
            return informative
        informative = informative[informs]


def _fit_coefficient(design: FloatArray, selected: FloatArray, people: FloatArray) -> tuple[float, float]:
    """First coefficient of a logistic regression, and half the width of its interval."""
    weights = np.zeros(design.shape[1])
    step = np.full(design.shape[1], np.inf)
    for rounds_left in range(_MAX_ROUNDS, -1, -1):
        rates = expit(design @ weights)
        information = design.T @ (design * (people * rates * (1 - rates))[:, None])
        if not rounds_left or float(np.abs(step).max()) < _TOLERANCE:
            break
        step = np.linalg.solve(information, design.T @ (selected - people * rates))
        # A long step can jump over the maximum and never return.
        weights += step * min(1.0, _MAX_STEP / float(np.abs(step).max(initial=_MAX_STEP)))
    return float(weights[0]), Z * math.sqrt(float(np.linalg.inv(information)[0, 0]))


def is_separated(design: FloatArray, selected: FloatArray, rejected: FloatArray) -> bool:
    """Whether weights of the terms divide the selected from the others: no fit (Albert and Anderson 1984)."""
    # Where counts with both outcomes have every term, no weights divide, and the programme (fifty times as
    # long) is not needed.
    if np.linalg.matrix_rank(design[(selected > 0) & (rejected > 0)]) == design.shape[1]:
        return False
    from scipy.optimize import linprog  # noqa: PLC0415 - slow to load, and few tables come here

    signed = np.vstack([design[selected > 0], -design[rejected > 0]])
    solution = linprog(
        -signed.sum(0),
        A_ub=-signed,
        b_ub=np.zeros(len(signed)),
        bounds=[(-1, 1)] * design.shape[1],
        method="highs",
    )
    return bool(-solution.fun > _MIN_SEPARATION)


@frozen
class StratumTest:
    """Chi-square test over strata; None with a `reason`."""

    statistic: float | None = None
    degrees: int | None = None
    p_value: float | None = None
    reason: str | None = None


@frozen
class StratifiedOdds:
    """Odds ratio within the strata of a control; None with a `reason`.

    `strata` are the informative ones, `left_out` people are in others. `cmh` tests an odds ratio of 1,
    `homogeneity` that it is the same in all strata.
    """

    value: float | None
    lower: float | None
    upper: float | None
    reason: str | None
    cmh: StratumTest
    homogeneity: StratumTest
    strata: int
    left_out: int


def stratify_odds(category: Category, reference: Category, cells: IntArray) -> StratifiedOdds:
    """Odds ratio given the control, from `cells` [strata, 4]: selected and rejected people of the category,
    then of the reference.

    Strata without both categories and both outcomes say nothing.
    """
    tables = cells.reshape(-1, 2, 2)
    informative = tables[tables.sum(1).all(1) & tables.sum(2).all(1)].astype(float)
    left_out = int(cells.sum() - informative.sum())
    if not len(informative):
        absent = StratumTest(reason=NO_STRATUM)
        return StratifiedOdds(None, None, None, NO_STRATUM, absent, absent, 0, left_out)
    # The people who were not selected come first.
    sides = informative[:, 0, ::-1], informative[:, 1, ::-1]
    ratio = float(common_odds_ratio(*sides))
    value = ratio if math.isfinite(ratio) else None
    reason = None
    if not value:
        form = NO_FINITE_ODDS if value is None else ZERO_ODDS
        reason = form.format(one=category.label, other=reference.label)
    limits = common_odds_limits(*(StrataOutcomes(side.astype(int), side, side) for side in sides))
    lower, upper = (float(limit) if value else None for limit in limits)
    test = measure_homogeneity(*sides)
    homogeneity = StratumTest(reason=ONE_STRATUM if len(informative) == 1 else reason)
    if test:
        homogeneity = StratumTest(test.statistic, len(test.strata) - 1, test.p_value)
    return StratifiedOdds(
        value, lower, upper, reason, assess_association(informative), homogeneity, len(informative), left_out
    )


def assess_association(tables: FloatArray) -> StratumTest:
    """Test of an odds ratio of 1 in every stratum (Cochran, Mantel and Haenszel)."""
    a, b, c, d = cells = tables.reshape(-1, 4).T
    n = cells.sum(0)
    spread = float(((a + b) * (c + d) * (a + c) * (b + d) / (n**2 * (n - 1))).sum())
    statistic = float((a - (a + b) * (a + c) / n).sum()) ** 2 / spread
    return StratumTest(statistic, 1, float(chdtrc(1, statistic)))


def build_controls_sheet(people: CountedPeople) -> Json:
    names = [control.name for control in people.controls]
    notes = [control.note for control in people.controls if control.note]
    if not names:
        return {"controls": [], "notes": [], "tables": [], "reason": NO_CONTROLS}
    tables = []
    for attribute in people.attributes:
        reference = select_reference(attribute)
        rows = [
            _build_category_row(people, reference, *compared)
            for compared in compare_categories(people, attribute)
        ]
        tables.append({"attribute": attribute.feature, "reference": name_reference(attribute), "rows": rows})
    return {"controls": names, "notes": notes, "tables": tables, "reason": None}


def _build_category_row(
    people: CountedPeople,
    reference: RowMask,
    is_category: RowMask,
    category: Category,
    reference_category: Category,
) -> Json:
    strata = combine_controls(people)
    compared = (is_category | reference) & people.is_assessed
    is_counted = compared & (strata != MISSING)
    # Only combinations that occur: the product of controls may be far larger than the log.
    occurring, stratum_of = np.unique(strata[is_counted], return_inverse=True)
    cells = np.zeros((occurring.size, 4), int)
    side = np.where(is_category[is_counted], 0, 2) + np.where(people.is_selected[is_counted], 0, 1)
    np.add.at(cells, (stratum_of, side), people.records[is_counted])
    sizes = [len(control.labels) for control in people.controls]
    controls = np.transpose(np.unravel_index(occurring, sizes))
    return {
        "category": category.label,
        "people": int(cells.sum()),
        "without_control": people.count(compared & (strata == MISSING)),
        "crude": asdict(compute_odds_ratio(category, reference_category)),
        "mantel_haenszel": asdict(stratify_odds(category, reference_category, cells)),
        "logit": asdict(adjust_odds(category, reference_category, controls, cells)),
    }
