"""Controls sheet as data, unrounded."""

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import chdtrc, expit

from ...base.frozen import frozen
from ..formulas.conditional_disparity import StrataOutcomes
from ..formulas.strata_odds import common_odds_limits, common_odds_ratio, measure_homogeneity
from ..group_labels import MISSING, FloatArray
from ..intervals.intervals import Z
from .category_people import AttributeCategories, CountedPeople, combine_controls, count_category, name_reference, reference_rows
from .four_fifths import ImpactRow, OddsRatio
from .selection_categories import Category

NOBODY = "no value of the controls has people of both categories and both outcomes"
SEPARATED = "category and controls divide the selected from the others without overlap, so the adjusted odds ratio has no finite value"

_MOST_ROUNDS = 100
_LONGEST_STEP = 4.0
_TOLERANCE = 1e-10
_SEPARATES = 1e-6


@frozen
class ControlledCount:
    controls: tuple[str, ...]
    is_category: bool
    selected: int
    rejected: int


@frozen
class AdjustedOdds:
    """Adjusted odds ratio. `left_out` people have a value of a control that says nothing about it."""

    odds: OddsRatio
    people: int
    left_out: int


def adjusted_odds(category: Category, reference: Category, counts: Sequence[ControlledCount]) -> AdjustedOdds:
    """Odds ratio given the controls, with Wald's interval.

    Values of a control with one outcome or one category only are left out: the fit would not converge.
    """
    everybody = sum(count.selected + count.rejected for count in counts)
    used = drop_uninformative([count for count in counts if count.selected + count.rejected])
    people = sum(count.selected + count.rejected for count in used)
    if not used:
        return AdjustedOdds(OddsRatio(None, None, None, NOBODY), 0, everybody)
    design = design_terms(used)
    selected = np.array([count.selected for count in used], dtype=np.float64)
    rejected = np.array([count.rejected for count in used], dtype=np.float64)
    if is_separated(design, selected, rejected):
        return AdjustedOdds(OddsRatio(None, None, None, f"{SEPARATED} ({category.label}, {reference.label})"), people, everybody - people)
    value, half = _fit(design, selected, selected + rejected)
    return AdjustedOdds(OddsRatio(math.exp(value), math.exp(value - half), math.exp(value + half)), people, everybody - people)


def drop_uninformative(counts: Sequence[ControlledCount]) -> list[ControlledCount]:
    """Counts without values of a control that hold one outcome or one side only; leaving some out may empty others."""
    used = list(counts)
    while used:
        keys = [(control, count.controls[control]) for count in used for control in range(len(count.controls))]
        held = {key: np.zeros(4, dtype=np.int64) for key in keys}
        for count in used:
            people = count.selected + count.rejected
            sums = (count.selected, count.rejected, people * count.is_category, people * (not count.is_category))
            for control, value in enumerate(count.controls):
                held[control, value] += sums
        informative = [count for count in used if all(held[control, value].all() for control, value in enumerate(count.controls))]
        if len(informative) == len(used):
            break
        used = informative
    return used


def design_terms(used: Sequence[ControlledCount]) -> FloatArray:
    """Terms [counts, terms]: the category, one for all, and values of each control, without those that follow from others."""
    columns = [np.array([count.is_category for count in used], dtype=np.float64), np.ones(len(used))]
    for control in range(len(used[0].controls)):
        values = sorted({count.controls[control] for count in used})
        columns += [np.array([count.controls[control] == value for count in used], dtype=np.float64) for value in values[1:]]
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
    mixed = design[(selected > 0) & (rejected > 0)]
    if np.linalg.matrix_rank(mixed) == design.shape[1]:
        return False
    from scipy.optimize import linprog  # noqa: PLC0415 - a tenth of a second to load, and few tables come here

    signed = np.vstack([design[selected > 0], -design[rejected > 0]])
    solution = linprog(-signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(signed)), bounds=[(-1, 1)] * design.shape[1], method="highs")
    return bool(-solution.fun > _SEPARATES)


ONE_STRATUM = "only one stratum has people of both categories and both outcomes, so there is nothing to compare the strata by"
NO_STRATUM = "no stratum has people of both categories and both outcomes"
NO_FINITE = "within every stratum everybody of {one} was selected or nobody of {other} was, so the odds ratio has no finite value"
ZERO = "within every stratum nobody of {one} was selected or everybody of {other} was, so the odds ratio is 0 and has no interval"


@frozen
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


@frozen
class StratumTest:
    """Chi-squared statistic with degrees of freedom and p-value; all None where there is none."""

    statistic: float | None
    degrees: int | None
    p_value: float | None
    reason: str | None = None


@frozen
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


def stratified_odds(category: Category, reference: Category, strata: Sequence[Stratum]) -> StratifiedOdds:
    used = [stratum for stratum in strata if stratum.is_informative]
    people = sum(stratum.selected + stratum.rejected + stratum.others_selected + stratum.others_rejected for stratum in strata)
    if not used:
        absent = StratumTest(None, None, None, NO_STRATUM)
        return StratifiedOdds(None, None, None, NO_STRATUM, absent, absent, 0, people)
    cells = np.array(
        [(stratum.selected, stratum.rejected, stratum.others_selected, stratum.others_rejected) for stratum in used], dtype=np.float64
    ).T
    value, lower, upper, reason = pool_strata(cells, category.label, reference.label)
    left_out = people - int(cells.sum())
    return StratifiedOdds(value, lower, upper, reason, association_test(cells), homogeneity_test(cells, reason), len(used), left_out)


def pool_strata(cells: FloatArray, category: str, reference: str) -> tuple[float | None, float | None, float | None, str | None]:
    """Common odds ratio, ends of its interval, and the reason where one is missing; `cells` is [4, strata]."""
    of_category, of_reference = _sides(cells)
    value = float(common_odds_ratio(of_category, of_reference))
    if not math.isfinite(value):
        return None, None, None, NO_FINITE.format(one=category, other=reference)
    if not value:
        return value, None, None, ZERO.format(one=category, other=reference)
    lower, upper = common_odds_limits(*(StrataOutcomes(side.astype(np.int64), side, side) for side in (of_category, of_reference)))
    return value, float(lower), float(upper), None


def association_test(cells: FloatArray) -> StratumTest:
    """Test of Cochran, Mantel and Haenszel of an odds ratio of 1 in every stratum."""
    a, b, c, d = cells
    n = cells.sum(axis=0)
    spread = float(((a + b) * (c + d) * (a + c) * (b + d) / (n**2 * (n - 1))).sum())
    statistic = float((a - (a + b) * (a + c) / n).sum()) ** 2 / spread
    return StratumTest(statistic, 1, float(chdtrc(1, statistic)))


def homogeneity_test(cells: FloatArray, reason: str | None) -> StratumTest:
    """Breslow and Day's test that the odds ratio is the same in every stratum."""
    if cells.shape[1] == 1:
        return StratumTest(None, None, None, ONE_STRATUM)
    test = measure_homogeneity(*_sides(cells))
    return StratumTest(None, None, None, reason) if test is None else StratumTest(test.statistic, len(test.strata) - 1, test.p_value)


def _sides(cells: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Outcomes [strata, 2] of both categories, those not selected first."""
    return np.stack((cells[1], cells[0]), axis=-1), np.stack((cells[3], cells[2]), axis=-1)


Json: TypeAlias = dict[str, Any]
Rows: TypeAlias = npt.NDArray[np.bool_]

NO_CONTROLS = "no control was chosen; name columns that decisions may lawfully depend on, such as experience"


def controls_sheet(people: CountedPeople) -> Json:
    names = [control.name for control in people.controls]
    notes = [control.note for control in people.controls if control.note]
    if not names:
        return {"controls": [], "notes": [], "tables": [], "reason": NO_CONTROLS}
    tables = []
    for attribute in people.attributes:
        reference, name = reference_rows(attribute), name_reference(attribute)
        has_reference = people.count(reference & people.is_assessed) > 0
        rows = [
            _controlled_row(people, attribute, position, reference)
            for position in range(len(attribute.labels))
            if attribute.roles[position] != "reference" and people.count((attribute.codes == position) & people.is_assessed)
        ]
        tables.append({"attribute": attribute.feature, "reference": name, "rows": rows if has_reference else []})
    return {"controls": names, "notes": notes, "tables": tables, "reason": None}


def _controlled_row(people: CountedPeople, attribute: AttributeCategories, position: int, reference: Rows) -> Json:
    mine, strata = attribute.codes == position, combine_controls(people)
    used = (mine | reference) & people.is_assessed & (strata != MISSING)
    # Only combinations that occur: the product of controls may be far larger than the log.
    present, stratum_of = np.unique(strata[used], return_inverse=True)
    cells = np.zeros((present.size, 4), dtype=np.int64)
    side = np.where(mine[used], 0, 2) + np.where(people.is_selected[used], 0, 1)
    np.add.at(cells, (stratum_of, side), people.records[used])
    sizes = [len(control.labels) for control in people.controls]
    values = [
        tuple(control.labels[int(index)] for control, index in zip(people.controls, np.unravel_index(code, sizes), strict=True))
        for code in present.tolist()
    ]
    category = count_category(people, attribute.labels[position], mine)
    reference_category = count_category(people, name_reference(attribute), reference)
    strata_cells = [Stratum(*row) for row in cells.tolist()]
    counts = [
        count
        for names, row in zip(values, cells.tolist(), strict=True)
        for count in (ControlledCount(names, True, row[0], row[1]), ControlledCount(names, False, row[2], row[3]))
    ]
    crude = ImpactRow(category, reference_category).odds_ratio
    return {
        "category": category.label,
        "people": int(cells.sum()),
        "without_control": people.count((mine | reference) & people.is_assessed & (strata == MISSING)),
        "crude": None if crude is None else asdict(crude),
        "mantel_haenszel": asdict(stratified_odds(category, reference_category, strata_cells)),
        "logit": asdict(adjusted_odds(category, reference_category, counts)),
    }
