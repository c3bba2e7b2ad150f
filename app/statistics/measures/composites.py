"""Figures of more than one rate, with drawn intervals."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...domain.check import Details
from ..catalogue.metric import Across, Metric, Need, OfPair, OfSet, Over, OverStrata, PairFunction
from ..formulas.conditional_disparity import StrataOutcomes
from ..formulas.strata_odds import measure_homogeneity, odds_ratio
from ..group_labels import AnyArray, FloatArray, IntArray
from ..intervals.draws import (
    LIMITS,
    DrawnCells,
    TableEvidence,
    build_intervals,
    certain_records,
    intervals_of_parts,
    limits_around,
    sum_of_squares_interval,
)
from ..intervals.intervals import Interval
from ..intervals.verdicts import MINIMUM_GROUP_SIZE, Measured, Undefined, Value
from ..tables.strata_counts import Strata
from .measure_rates import (
    Member,
    build_result,
    build_value,
    explain_weightless,
    members,
    monitored,
    reference,
)

NO_STRATA = (
    "the records are not divided into strata; name the column whose values say which records are alike"
)
_ROUNDING = 1e-12
FEW_GROUPS = "fewer than two groups have labelled records"
FEW_WEIGHING = "fewer than two groups have labelled records that weigh anything"
_CONFUSION = ("true_negative", "false_positive", "false_negative", "true_positive")
_CHANGES = ("unfavourable_kept", "lifted", "lowered", "favourable_kept")
_NAMES = {
    "confusion": _CONFUSION,
    "confusion_after": _CONFUSION,
    "labels": ("unfavourable_labels", "favourable_labels"),
    "predictions": ("unfavourable", "favourable"),
    "changes": _CHANGES,
    "corrections": ("wrong_kept", "turned_right", "turned_wrong", "right_kept"),
    "label_changes": tuple(
        f"{label}_label_{name}" for label in ("unfavourable", "favourable") for name in _CHANGES
    ),
}


def measure_cells(metric: Metric, how: OfSet | OfPair, evidence: TableEvidence) -> list[Measured]:
    is_compared = isinstance(how, OfPair)
    reference_member = reference(evidence.groups)
    subjects = monitored(evidence.groups) if is_compared else members(metric.scopes, evidence.groups)
    if not subjects:
        return []
    compared = (*subjects, reference_member) if is_compared else subjects
    cells = evidence.cells[how.over].together([member.columns for member in compared])
    sizes = np.min([cells.certain(need.of) for need in how.needs], 0)
    # Of figures that judge their own denominators.
    cautious = cells.certain(_sum_cells) if any(need.is_outcome for need in how.needs) else None
    # Empty denominators give NaN or infinity, which `_build_number` turns into a reason.
    with np.errstate(all="ignore"):
        points, intervals = _compute(metric, how, cells.weights[None], cells.drawn)

    results = []
    for index, member in enumerate(subjects):
        rows = [index, -1] if is_compared else [index]
        records = cells.counts[rows]
        reasons = (
            _explain_missing(how.needs, cells.weights[row], cells.counts[row], compared[row]) for row in rows
        )
        missing = next(filter(None, reasons), "")
        number = _build_number(
            float(points[index]),
            intervals[index],
            int(records.sum()),
            missing,
            how.endless.format(of=member.of),
        )
        details = (
            _trace_pair(metric, how.over, member, reference_member, records)
            if is_compared
            else Details(
                formula=metric.formula, subject=member.subject, counts=_name_counts(how.over, records[0])
            )
        )
        result = build_result(
            metric.key, member, number, int(sizes[rows].min()), details.changed(draws=cells.fewer_draws)
        )
        results.append(result if cautious is None else replace(result, cautious_of=int(cautious[rows].min())))
    return results


def _compute(
    metric: Metric, how: OfSet | OfPair, point: FloatArray, drawn: FloatArray
) -> tuple[FloatArray, list[Interval]]:
    if isinstance(how, OfSet):
        points = how.function(point)[0]
        return points, build_intervals(points, how.function(drawn))

    def over(function: PairFunction) -> FloatArray:
        return function(drawn[:, :-1], drawn[:, -1:])

    points = how.function(point[:, :-1], point[:, -1:])[0]
    if not how.vanishing or metric.ideal is None:
        return points, build_intervals(points, over(how.function))
    signed = np.stack([over(function) for function in how.vanishing], -1)
    if not how.parts:
        return points, build_intervals(points, over(how.function), metric.ideal, vanishing=signed)
    of_parts = np.stack([over(function) for function in how.parts], -1)
    return points, intervals_of_parts(points, of_parts, metric.ideal, vanishing=signed, reduce=how.whole)


def measure_across(metric: Metric, how: Across, evidence: TableEvidence) -> list[Measured]:
    """Where some groups are below `MINIMUM_GROUP_SIZE` next to two larger ones, details also hold the figure
    of the larger ones.
    """
    if not evidence.groups:
        return []
    cells = evidence.cells[how.over]
    singles = cells.together([(position,) for position in range(len(evidence.groups))])
    records = _sum_cells(singles.counts)
    sizes = singles.certain(_sum_cells)
    present = np.flatnonzero(_sum_cells(singles.weights) > 0)
    n = int(records[present].sum())
    details = Details(formula=metric.formula, groups=len(present), counts={"n": n})
    member = members(("attribute",), evidence.groups)[0]
    if len(present) < 2:  # noqa: PLR2004 - a difference needs two
        reason = FEW_GROUPS if np.count_nonzero(records) < 2 else FEW_WEIGHING  # noqa: PLR2004 - the same two
        return [build_result(metric.key, member, Undefined(reason, n), 0, details)]

    is_large = sizes[present] >= MINIMUM_GROUP_SIZE
    large = present[is_large]
    small = present[~is_large]
    filled = cells.together([(position,) for position in present.tolist()])
    with np.errstate(all="ignore"):
        point = float(how.function(filled.weights[None])[0])
        number = _build_number(point, _interval_across(how, point, filled), n, "", how.endless)
        details = details.changed(smallest_group=evidence.groups[int(present[sizes[present].argmin()])].label)
        if len(small) > 0 and len(large) > 1:
            point_of_large = float(how.function(singles.weights[None, large])[0])
            details = details.changed(
                small_groups=len(small),
                records_of_small_groups=int(records[small].sum()),
                value_without_small_groups=point_of_large if np.isfinite(point_of_large) else None,
            )
    # Limits in closed form need no draws.
    details = details.changed(draws=None if how.limits else filled.fewer_draws)
    return [build_result(metric.key, member, number, int(sizes[present].min()), details)]


def _sum_cells(cells: AnyArray) -> AnyArray:
    total: AnyArray = cells.reshape(len(cells), -1).sum(1)
    return total


def _interval_across(how: Across, point: float, cells: DrawnCells) -> Interval:
    if how.limits is not None:
        return limits_around(point, *how.limits(cells.shapes), method=LIMITS)
    drawn = how.function(cells.drawn)
    if how.power:
        return sum_of_squares_interval(point, drawn, len(cells.counts) - 1, how.power)
    interval = build_intervals(np.array([point]), drawn[:, None])[0]
    if how.reach is None:
        return interval
    lower, upper = how.reach(cells.shapes)
    return limits_around(
        point, min(interval.lower, lower), max(interval.upper, upper), method=interval.method
    )


def measure_strata(metric: Metric, how: OverStrata, evidence: TableEvidence) -> list[Measured]:
    subjects = monitored(evidence.groups)
    reference_member = reference(evidence.groups)
    strata = evidence.strata.get(how.over)
    if not subjects:
        return []
    cells = evidence.cells[how.over].together(
        [*(member.columns for member in subjects), reference_member.columns]
    )
    results = []
    if not strata or strata.reason:
        for index, member in enumerate(subjects):
            of_sides = cells.counts[[index, -1]]
            reason = Undefined(strata.reason if strata else NO_STRATA, int(of_sides.sum()))
            details = _trace_pair(metric, how.over, member, reference_member, of_sides)
            results.append(build_result(metric.key, member, reason, int(of_sides.sum(1).min()), details))
        return results

    of_each = _stack_outcomes(strata, subjects)
    of_other = _stack_outcomes(strata, [reference_member])
    with np.errstate(all="ignore"):
        points = how.function(of_each.weights, of_other.weights)
        # What rounding leaves of equality is equality.
        points = np.where(
            np.isclose(points, metric.ideal or 0.0, rtol=0, atol=_ROUNDING), metric.ideal or 0.0, points
        )
        ends = how.limits(of_each, of_other)
    names = np.array(strata.labels)[strata.counts.any((1, 2))]
    groups = sum(member.scope == "group" for member in subjects)
    for index, member in enumerate(subjects):
        pair = StrataOutcomes(
            *(
                np.stack([of_member[index], of_reference[0]])
                for of_member, of_reference in zip(of_each, of_other, strict=True)
            )
        )
        records = pair.counts.sum(1)
        rows = [index, -1]
        n = int(records.sum())
        smallest = int(certain_records(*(counts.sum((1, 2)) for counts in pair)).min())
        missing = _explain_missing_strata(pair, cells.weights[rows], member, reference_member)
        interval = limits_around(points[index], *(end[index] for end in ends), method=how.method)
        number = _build_number(float(points[index]), interval, n, missing, how.endless.format(of=member.of))
        details = _trace_pair(metric, how.over, member, reference_member, records).changed(
            strata=len(strata.labels),
            records_without_a_stratum=max(0, int(cells.counts[rows].sum()) - n),
            caution=how.caution(pair) if how.caution and isinstance(number, Value) else None,
            **_trace_homogeneity(pair, names, groups if member.scope == "group" else 1),
        )
        results.append(build_result(metric.key, member, number, smallest, details))
    return results


def _trace_homogeneity(pair: StrataOutcomes, names: NDArray[np.str_], groups: int) -> dict[str, Any]:
    """Empty where records do not suffice."""
    of_monitored, of_reference = pair.weights * pair.density
    homogeneity = measure_homogeneity(of_monitored, of_reference)
    if not (homogeneity and homogeneity.has_enough):
        return {}
    odds = odds_ratio(of_monitored, of_reference)[homogeneity.strata]
    finite = np.flatnonzero(np.isfinite(odds))
    furthest = {
        str(names[homogeneity.strata[at]]): float(odds[at])
        for at in sorted(finite, key=odds.__getitem__)[:: max(1, len(finite) - 1)]
    }
    tested = {
        "breslow_day": homogeneity.statistic,
        "degrees": len(homogeneity.strata) - 1,
        "p_value": homogeneity.p_value,
        "tarone_p_value": homogeneity.tarone_p_value,
        "p_value_for_choice": min(1.0, groups * homogeneity.p_value),
        "odds_ratios": furthest,
    }
    return {"homogeneity": tested}


def _stack_outcomes(strata: Strata, subjects: Sequence[Member]) -> StrataOutcomes:
    filled = strata.counts.any((1, 2))
    weighting = strata.known
    filled_cells = (stored[filled] for stored in (strata.counts, weighting.weights, weighting.squares))
    return StrataOutcomes(
        *(
            np.stack([stored[:, list(member.columns)].sum(1) for member in subjects])
            for stored in filled_cells
        )
    )


def _explain_missing_strata(
    outcomes: StrataOutcomes, everything: FloatArray, member: Member, reference_member: Member
) -> str:
    """Empty if the pair has a disparity; `everything` [2, 2] includes records without a stratum."""
    counts, weights, _ = outcomes
    sides = zip(weights.sum((1, 2)), counts.sum((1, 2)), everything, (member, reference_member), strict=True)
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
            f"no stratum holds records{member.of} and{reference_member.of}, so like is nowhere compared "
            "with like"
        )
    return ""


def _explain_missing(needs: Sequence[Need], weights: FloatArray, counts: IntArray, member: Member) -> str:
    for need in needs:
        if need.of(weights) <= 0:
            return (
                explain_weightless(member, has_weight=bool(weights.any()))
                if need.of(counts) > 0
                else need.empty.format(of=member.of)
            )
    return ""


def _build_number(point: float, interval: Interval, n: int, missing: str, endless: str) -> Value | Undefined:
    if missing or not np.isfinite(point):
        return Undefined(missing or endless or "a denominator of it is zero", n)
    return build_value(point, interval, n)


def _trace_pair(
    metric: Metric, over: Over, member: Member, reference_member: Member, records: IntArray
) -> Details:
    return Details(
        formula=metric.formula,
        monitored=member.name,
        reference=reference_member.name,
        monitored_counts=_name_counts(over, records[0]),
        reference_counts=_name_counts(over, records[1]),
    )


def _name_counts(over: Over, records: IntArray) -> dict[str, float | None]:
    return dict(zip(_NAMES[over], records.ravel().tolist(), strict=True))
