"""Measures figures of more than one rate: of sets and pairs of cells, across all groups, and over strata.

Intervals are of draws of the cells, unless a metric brings its own limits.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...domain.check import Details
from ..catalogue.metric import (
    CellKind,
    Metric,
    Need,
    PairFigure,
    PairFunction,
    SetFigure,
    SpreadFigure,
    StrataFigure,
)
from ..formulas.conditional_disparity import StrataOutcomes
from ..formulas.strata_odds import measure_homogeneity, odds_ratio
from ..group_labels import AnyArray, FloatArray, IntArray
from ..intervals.draws import (
    LIMITS_METHOD,
    DrawnCells,
    TableEvidence,
    build_interval_around,
    build_intervals,
    build_intervals_of_parts,
    build_squares_interval,
    count_certain_records,
)
from ..intervals.intervals import Interval
from ..intervals.verdicts import MINIMUM_GROUP_SIZE, Measured, Undefined, Value
from ..tables.strata_counts import Strata
from .measure_rates import (
    Member,
    build_result,
    build_value,
    explain_weightless,
    list_members,
    list_monitored,
    pool_reference,
)

NO_STRATA = (
    "the records are not divided into strata; name the column whose values say which records are alike"
)
TOO_FEW_GROUPS = "fewer than two groups have labelled records"
TOO_FEW_WEIGHING_GROUPS = "fewer than two groups have labelled records that weigh anything"
_MAX_ROUNDING_ERROR = 1e-12
_CONFUSION_NAMES = ("true_negative", "false_positive", "false_negative", "true_positive")
_CHANGE_NAMES = ("unfavourable_kept", "lifted", "lowered", "favourable_kept")
_CELL_NAMES = {
    "confusion": _CONFUSION_NAMES,
    "confusion_after": _CONFUSION_NAMES,
    "labels": ("unfavourable_labels", "favourable_labels"),
    "predictions": ("unfavourable", "favourable"),
    "changes": _CHANGE_NAMES,
    "corrections": ("wrong_kept", "turned_right", "turned_wrong", "right_kept"),
    "label_changes": tuple(
        f"{label}_label_{name}" for label in ("unfavourable", "favourable") for name in _CHANGE_NAMES
    ),
}


def measure_cells(metric: Metric, measure: SetFigure | PairFigure, evidence: TableEvidence) -> list[Measured]:
    """Measures a figure of the cells of each member, or of each monitored group with the reference."""
    is_compared = isinstance(measure, PairFigure)
    reference = pool_reference(evidence.groups)
    subjects = (
        list_monitored(evidence.groups) if is_compared else list_members(metric.scopes, evidence.groups)
    )
    if not subjects:
        return []
    compared = (*subjects, reference) if is_compared else subjects
    cells = evidence.cells[measure.cell_kind].join_columns([member.columns for member in compared])
    sizes = np.min([cells.count_certain(need.count) for need in measure.needs], 0)
    all_sizes = cells.count_certain(_sum_cells)
    judges_need = any(need.is_outcome for need in measure.needs)
    # Empty denominators give NaN or infinity, which `_build_number` turns into a reason.
    with np.errstate(all="ignore"):
        points, intervals = _compute_intervals(metric, measure, cells.weights[None], cells.drawn)

    results = []
    for index, member in enumerate(subjects):
        positions = [index, -1] if is_compared else [index]
        records = cells.counts[positions]
        reasons = (
            _explain_missing(measure.needs, cells.weights[side], cells.counts[side], compared[side])
            for side in positions
        )
        number = _build_number(
            float(points[index]),
            intervals[index],
            int(records.sum()),
            next(filter(None, reasons), ""),
            measure.reason_if_infinite.format(of=member.of),
        )
        if is_compared:
            details = _describe_pair(metric, measure.cell_kind, member, reference, records)
        else:
            counts = _name_counts(measure.cell_kind, records[0])
            details = Details(formula=metric.formula, subject=member.subject, counts=counts)
        result = build_result(
            metric.key, member, number, int(sizes[positions].min()), details.changed(draws=cells.fewer_draws)
        )
        caution_records = int(all_sizes[positions].min()) if judges_need else None
        results.append(replace(result, caution_records=caution_records))
    return results


def _compute_intervals(
    metric: Metric, measure: SetFigure | PairFigure, weights: FloatArray, drawn: FloatArray
) -> tuple[FloatArray, list[Interval]]:
    """Figures [C] and intervals from cells [1, C, …] and draws of them; of pairs the reference is last."""
    if isinstance(measure, SetFigure):
        points = measure.function(weights)[0]
        return points, build_intervals(points, measure.function(drawn))

    def draw(function: PairFunction) -> FloatArray:
        return function(drawn[:, :-1], drawn[:, -1:])

    points = measure.function(weights[:, :-1], weights[:, -1:])[0]
    if not measure.vanishing or metric.ideal is None:
        return points, build_intervals(points, draw(measure.function))
    signed = np.stack([draw(function) for function in measure.vanishing], -1)
    if not measure.parts:
        return points, build_intervals(points, draw(measure.function), metric.ideal, vanishing=signed)
    drawn_parts = np.stack([draw(function) for function in measure.parts], -1)
    return points, build_intervals_of_parts(
        points, drawn_parts, metric.ideal, vanishing=signed, reduce=measure.whole
    )


def measure_across(metric: Metric, measure: SpreadFigure, evidence: TableEvidence) -> list[Measured]:
    """Measures a figure of all groups at once.

    If some groups have fewer than `MINIMUM_GROUP_SIZE` records, details also hold the figure of the others.
    """
    if not evidence.groups:
        return []
    cells = evidence.cells[measure.cell_kind]
    singles = cells.join_columns([(position,) for position in range(len(evidence.groups))])
    records = _sum_cells(singles.counts)
    sizes = singles.count_certain(_sum_cells)
    present = np.flatnonzero(_sum_cells(singles.weights) > 0)
    n = int(records[present].sum())
    details = Details(formula=metric.formula, groups=len(present), counts={"n": n})
    member = list_members(("attribute",), evidence.groups)[0]
    if len(present) < 2:  # noqa: PLR2004 - a difference needs two
        has_two_groups = np.count_nonzero(records) >= 2  # noqa: PLR2004 - the same two
        reason = TOO_FEW_WEIGHING_GROUPS if has_two_groups else TOO_FEW_GROUPS
        return [build_result(metric.key, member, Undefined(reason, n), 0, details)]

    is_large = sizes[present] >= MINIMUM_GROUP_SIZE
    large_groups = present[is_large]
    small_groups = present[~is_large]
    present_groups = cells.join_columns([(position,) for position in present.tolist()])
    with np.errstate(all="ignore"):
        point = float(measure.function(present_groups.weights[None])[0])
        number = _build_number(
            point, _build_interval(measure, point, present_groups), n, "", measure.reason_if_infinite
        )
        details = details.changed(smallest_group=evidence.groups[int(present[sizes[present].argmin()])].label)
        if len(small_groups) > 0 and len(large_groups) > 1:
            value = float(measure.function(singles.weights[None, large_groups])[0])
            details = details.changed(
                small_groups=len(small_groups),
                records_of_small_groups=int(records[small_groups].sum()),
                value_without_small_groups=value if np.isfinite(value) else None,
            )
    details = details.changed(draws=None if measure.limits else present_groups.fewer_draws)
    return [build_result(metric.key, member, number, int(sizes[present].min()), details)]


def _sum_cells(cells: AnyArray) -> AnyArray:
    total: AnyArray = cells.reshape(len(cells), -1).sum(1)
    return total


def _build_interval(measure: SpreadFigure, point: float, cells: DrawnCells) -> Interval:
    if measure.limits is not None:
        return build_interval_around(point, *measure.limits(cells.shapes), method=LIMITS_METHOD)
    drawn = measure.function(cells.drawn)
    if measure.power:
        return build_squares_interval(point, drawn, len(cells.counts) - 1, measure.power)
    interval = build_intervals(np.array([point]), drawn[:, None])[0]
    if measure.reach is None:
        return interval
    lower, upper = measure.reach(cells.shapes)
    return build_interval_around(
        point, min(interval.lower, lower), max(interval.upper, upper), method=interval.method
    )


def measure_strata(metric: Metric, measure: StrataFigure, evidence: TableEvidence) -> list[Measured]:
    """Measures a figure over strata of each monitored group with the reference."""
    subjects = list_monitored(evidence.groups)
    reference = pool_reference(evidence.groups)
    strata = evidence.strata.get(measure.cell_kind)
    if not subjects:
        return []
    cells = evidence.cells[measure.cell_kind].join_columns(
        [*(member.columns for member in subjects), reference.columns]
    )
    if not strata or strata.reason:
        return [
            _explain_no_strata(metric, measure, member, reference, cells.counts[[index, -1]], strata)
            for index, member in enumerate(subjects)
        ]

    subject_outcomes = _stack_outcomes(strata, subjects)
    reference_outcomes = _stack_outcomes(strata, [reference])
    ideal = metric.ideal or 0.0
    with np.errstate(all="ignore"):
        points = measure.function(subject_outcomes.weights, reference_outcomes.weights)
        points = np.where(np.isclose(points, ideal, rtol=0, atol=_MAX_ROUNDING_ERROR), ideal, points)
        ends = measure.limits(subject_outcomes, reference_outcomes)
    names = np.array(strata.labels)[strata.counts.any((1, 2))]
    groups = sum(member.scope == "group" for member in subjects)
    results = []
    for index, member in enumerate(subjects):
        pair = StrataOutcomes(
            *(
                np.stack([sums[index], reference_sums[0]])
                for sums, reference_sums in zip(subject_outcomes, reference_outcomes, strict=True)
            )
        )
        records = pair.counts.sum(1)
        positions = [index, -1]
        n = int(records.sum())
        smallest = int(count_certain_records(*(counts.sum((1, 2)) for counts in pair)).min())
        missing = _explain_missing_strata(pair, cells.weights[positions], member, reference)
        interval = build_interval_around(points[index], *(end[index] for end in ends), method=measure.method)
        number = _build_number(
            float(points[index]), interval, n, missing, measure.reason_if_infinite.format(of=member.of)
        )
        details = _describe_pair(metric, measure.cell_kind, member, reference, records).changed(
            strata=len(strata.labels),
            records_without_a_stratum=max(0, int(cells.counts[positions].sum()) - n),
            caution=measure.caution(pair) if measure.caution and isinstance(number, Value) else None,
            **_describe_homogeneity(pair, names, groups if member.scope == "group" else 1),
        )
        results.append(build_result(metric.key, member, number, smallest, details))
    return results


def _explain_no_strata(
    metric: Metric,
    measure: StrataFigure,
    member: Member,
    reference: Member,
    records: IntArray,
    strata: Strata | None,
) -> Measured:
    reason = Undefined(strata.reason if strata else NO_STRATA, int(records.sum()))
    details = _describe_pair(metric, measure.cell_kind, member, reference, records)
    return build_result(metric.key, member, reason, int(records.sum(1).min()), details)


def _describe_homogeneity(pair: StrataOutcomes, names: NDArray[np.str_], groups: int) -> dict[str, Any]:
    """Details of the test whether the strata of a pair differ; empty if the records do not suffice."""
    monitored, reference = pair.weights * pair.density
    test = measure_homogeneity(monitored, reference)
    if not (test and test.has_enough):
        return {}
    odds = odds_ratio(monitored, reference)[test.strata]
    by_odds = sorted(np.flatnonzero(np.isfinite(odds)), key=odds.__getitem__)
    extreme_odds = {
        str(names[test.strata[position]]): float(odds[position]) for position in (*by_odds[:1], *by_odds[-1:])
    }
    tested = {
        "breslow_day": test.statistic,
        "degrees": len(test.strata) - 1,
        "p_value": test.p_value,
        "tarone_p_value": test.tarone_p_value,
        "p_value_for_choice": min(1.0, groups * test.p_value),
        "odds_ratios": extreme_odds,
    }
    return {"homogeneity": tested}


def _stack_outcomes(strata: Strata, subjects: Sequence[Member]) -> StrataOutcomes:
    """Outcomes [subjects, S, 2] of the strata with records, summed over each subject's columns."""
    has_records = strata.counts.any((1, 2))
    weighting = strata.full_weighting
    sums = (cells[has_records] for cells in (strata.counts, weighting.weights, weighting.squares))
    return StrataOutcomes(
        *(np.stack([cells[:, list(member.columns)].sum(1) for member in subjects]) for cells in sums)
    )


def _explain_missing_strata(
    outcomes: StrataOutcomes, all_weights: FloatArray, member: Member, reference_member: Member
) -> str:
    """Says why a pair has no figure, or "". `all_weights` [2, 2] include records without a stratum."""
    counts, weights, _ = outcomes
    sides = zip(weights.sum((1, 2)), counts.sum((1, 2)), all_weights, (member, reference_member), strict=True)
    for weight, count, total, side in sides:
        if weight <= 0:
            return (
                explain_weightless(side, has_weight=bool(total.any()))
                if count
                else f"no record{side.of} has a stratum and an outcome"
            )
    names = ("an unfavourable", "a favourable")
    for weight, count, outcome in zip(weights.sum((0, 1)), counts.sum((0, 1)), names, strict=True):
        if weight <= 0:
            empty = f"no record of either group has {outcome} outcome"
            return f"the records of both groups with {outcome} outcome weigh nothing" if count else empty
    if not (weights.sum(2) > 0).all(0).any():
        return (
            f"no stratum holds records{member.of} and{reference_member.of}, "
            "so like is nowhere compared with like"
        )
    return ""


def _explain_missing(needs: Sequence[Need], weights: FloatArray, counts: IntArray, member: Member) -> str:
    for need in needs:
        if need.count(weights) <= 0:
            return (
                explain_weightless(member, has_weight=bool(weights.any()))
                if need.count(counts) > 0
                else need.empty.format(of=member.of)
            )
    return ""


def _build_number(
    point: float, interval: Interval, n: int, missing: str, reason_if_infinite: str
) -> Value | Undefined:
    if missing or not np.isfinite(point):
        return Undefined(missing or reason_if_infinite or "a denominator of it is zero", n)
    return build_value(point, interval, n)


def _describe_pair(
    metric: Metric, cell_kind: CellKind, member: Member, reference_member: Member, records: IntArray
) -> Details:
    return Details(
        formula=metric.formula,
        monitored=member.name,
        reference=reference_member.name,
        monitored_counts=_name_counts(cell_kind, records[0]),
        reference_counts=_name_counts(cell_kind, records[1]),
    )


def _name_counts(cell_kind: CellKind, records: IntArray) -> dict[str, float | None]:
    return dict(zip(_CELL_NAMES[cell_kind], records.ravel().tolist(), strict=True))
