"""Figures of more than one rate, with drawn intervals."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...domain.figure_details import Details
from ..catalogue.metric import Across, Metric, Need, OfPair, OfSet, Over, OverStrata, PairFunction
from ..figure_values import Measured, Undefined, Value
from ..formulas.conditional_disparity import StrataOutcomes
from ..formulas.strata_odds import measure_homogeneity, odds_ratio
from ..group_labels import FloatArray, IntArray
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
from ..intervals.verdicts import MINIMUM_GROUP_SIZE
from ..tables.strata_counts import Strata
from .figure_members import Member, build_result, members, monitored, reference

NO_STRATA = "the records are not divided into strata; name the column whose values say which records are alike"
_ROUNDING = 1e-12
FEW_GROUPS = "fewer than two groups have labelled records"
FEW_WEIGHING = "fewer than two groups have labelled records that weigh anything"
_CONFUSION = ("true_negative", "false_positive", "false_negative", "true_positive")
_CHANGES = ("unfavourable_kept", "lifted", "lowered", "favourable_kept")
_NAMES: Mapping[Over, tuple[str, ...]] = MappingProxyType(
    {
        "confusion": _CONFUSION,
        "confusion_after": _CONFUSION,
        "labels": ("unfavourable_labels", "favourable_labels"),
        "predictions": ("unfavourable", "favourable"),
        "changes": _CHANGES,
        "corrections": ("wrong_kept", "turned_right", "turned_wrong", "right_kept"),
        "label_changes": tuple(f"{label}_label_{name}" for label in ("unfavourable", "favourable") for name in _CHANGES),
    }
)
"""Names of the cells in the details, in flattened order."""


def measure_sets(metric: Metric, how: OfSet, evidence: TableEvidence) -> list[Measured]:
    cells, subjects = evidence.cells[how.over], members(metric.scopes, evidence.groups)
    if not subjects:
        return []
    sets = [member.columns for member in subjects]
    records, weights, sizes = cells.records(sets), cells.point(sets)[0], _smallest(how.needs, cells, sets)
    cautious = _cautious_records(how.needs, cells, sets)
    with np.errstate(all="ignore"):
        points, drawn = how.function(weights[None])[0], how.function(cells.drawn(sets))
    intervals = build_intervals(points, drawn)

    results = []
    for index, member in enumerate(subjects):
        missing, n = _explain_missing(how.needs, [_Side(weights[index], records[index], member)]), int(records[index].sum())
        number = _build_number(float(points[index]), intervals[index], n, missing, how.endless.format(of=member.of))
        details = Details(
            formula=metric.formula, subject=member.subject, counts=_name_counts(how.over, records[index]), draws=cells.fewer_draws(sets)
        )
        result = build_result(metric.key, member, number, int(sizes[index]), details)
        results.append(result if cautious is None else replace(result, cautious_of=int(cautious[index])))
    return results


def measure_pairs(metric: Metric, how: OfPair, evidence: TableEvidence) -> list[Measured]:
    cells, subjects, reference_member = evidence.cells[how.over], monitored(evidence.groups), reference(evidence.groups)
    if not subjects:
        return []
    sets = [*(member.columns for member in subjects), reference_member.columns]
    records, sizes, cautious = cells.records(sets), _smallest(how.needs, cells, sets), _cautious_records(how.needs, cells, sets)
    point, drawn = cells.point(sets), cells.drawn(sets)
    # Empty denominators give NaN or infinity, which `_build_number` turns into a reason.
    with np.errstate(all="ignore"):
        points, intervals = _compute_pairs(metric, how, point, drawn)

    results = []
    for index, member in enumerate(subjects):
        missing = _explain_missing(
            how.needs, [_Side(point[0, index], records[index], member), _Side(point[0, -1], records[-1], reference_member)]
        )
        n = int(records[index].sum() + records[-1].sum())
        number = _build_number(float(points[index]), intervals[index], n, missing, how.endless.format(of=member.of))
        details = _trace_pair(metric, how.over, member, reference_member, records[[index, -1]]).changed(draws=cells.fewer_draws(sets))
        result = build_result(metric.key, member, number, int(min(sizes[index], sizes[-1])), details)
        results.append(result if cautious is None else replace(result, cautious_of=int(min(cautious[index], cautious[-1]))))
    return results


def _compute_pairs(metric: Metric, how: OfPair, point: FloatArray, drawn: FloatArray) -> tuple[FloatArray, list[Interval]]:

    def over(function: PairFunction) -> FloatArray:
        return function(drawn[:, :-1], drawn[:, -1:])

    points = how.function(point[:, :-1], point[:, -1:])[0]
    if not how.vanishing or metric.ideal is None:
        return points, build_intervals(points, over(how.function))
    signed = np.stack([over(function) for function in how.vanishing], axis=-1)
    if not how.parts:
        return points, build_intervals(points, over(how.function), metric.ideal, vanishing=signed)
    of_parts = np.stack([over(function) for function in how.parts], axis=-1)
    return points, intervals_of_parts(points, of_parts, metric.ideal, vanishing=signed, reduce=how.whole)


def measure_across(metric: Metric, how: Across, evidence: TableEvidence) -> list[Measured]:
    """Where some groups are below `MINIMUM_GROUP_SIZE` next to two larger ones, details also hold the figure of the larger ones."""
    cells = evidence.cells[how.over]
    if not evidence.groups:
        return []
    singles = [(position,) for position in range(len(evidence.groups))]
    records, sizes = _sum_cells(cells.records(singles)), cells.certain(singles, _sum_cells)
    present = np.flatnonzero(_sum_cells(cells.point(singles)[0]) > 0)
    n = int(records[present].sum())
    details = Details(formula=metric.formula, groups=len(present), counts={"n": n})
    member = members(("attribute",), evidence.groups)[0]
    if len(present) < 2:  # noqa: PLR2004 - a difference needs two
        reason = FEW_GROUPS if np.count_nonzero(records) < 2 else FEW_WEIGHING  # noqa: PLR2004 - the same two
        return [build_result(metric.key, member, Undefined(reason, n), 0, details)]

    sets = [(int(position),) for position in present]
    is_large = sizes[present] >= MINIMUM_GROUP_SIZE
    large, small = present[is_large], present[~is_large]
    is_mixed = len(small) > 0 and len(large) > 1
    with np.errstate(all="ignore"):
        point = float(how.function(cells.point(sets))[0])
        interval = _interval_across(how, point, cells, sets)
        point_of_large = float(how.function(cells.point([(int(position),) for position in large]))[0]) if is_mixed else math.nan
    number = _build_number(point, interval, n, "", how.endless)

    details = details.changed(smallest_group=evidence.groups[int(present[sizes[present].argmin()])].label)
    if is_mixed:
        details = details.changed(
            small_groups=len(small),
            records_of_small_groups=int(_sum_cells(cells.counts)[small].sum()),
            value_without_small_groups=point_of_large if np.isfinite(point_of_large) else None,
        )
    # Limits in closed form need no draws.
    details = details.changed(draws=None if how.limits else cells.fewer_draws(sets))
    return [build_result(metric.key, member, number, int(sizes[present].min()), details)]


def _sum_cells(cells: NDArray[Any]) -> NDArray[Any]:
    total: NDArray[Any] = cells.reshape(len(cells), -1).sum(axis=1)
    return total


def _interval_across(how: Across, point: float, cells: DrawnCells, sets: Sequence[Sequence[int]]) -> Interval:
    if how.limits is not None:
        return limits_around(point, *how.limits(cells.shapes(sets)), method=LIMITS)
    drawn = how.function(cells.drawn(sets))
    if how.power:
        return sum_of_squares_interval(point, drawn, len(sets) - 1, how.power)
    interval = build_intervals(np.array([point]), drawn[:, None])[0]
    if how.reach is None or interval.upper is None:
        return interval
    lower, upper = how.reach(cells.shapes(sets))
    return limits_around(point, min(interval.lower, lower), max(interval.upper, upper), method=interval.method)


def measure_strata(metric: Metric, how: OverStrata, evidence: TableEvidence) -> list[Measured]:
    subjects, reference_member, strata = monitored(evidence.groups), reference(evidence.groups), evidence.strata.get(how.over)
    if not subjects:
        return []
    cells, results = evidence.cells[how.over], []
    if strata is None or strata.reason:
        for member in subjects:
            of_sides = cells.records([member.columns, reference_member.columns])
            number: Value | Undefined = Undefined(strata.reason if strata else NO_STRATA, int(of_sides.sum()))
            details = _trace_pair(metric, how.over, member, reference_member, of_sides)
            results.append(build_result(metric.key, member, number, int(of_sides.sum(axis=1).min()), details))
        return results

    of_each, of_other = _stack_outcomes(strata, subjects), _stack_outcomes(strata, [reference_member])
    with np.errstate(all="ignore"):
        points = how.function(of_each.weights, of_other.weights)
        # What rounding leaves of equality is equality.
        points = np.where(np.isclose(points, metric.ideal or 0.0, rtol=0, atol=_ROUNDING), metric.ideal or 0.0, points)
        ends = how.limits(of_each, of_other)
    names, groups = np.array(strata.labels)[strata.counts.any(axis=(1, 2))], sum(member.scope == "group" for member in subjects)
    for index, member in enumerate(subjects):
        pair = StrataOutcomes(
            *(np.stack([of_member[index], of_reference[0]]) for of_member, of_reference in zip(of_each, of_other, strict=True))
        )
        records, sets = pair.counts.sum(axis=1), [member.columns, reference_member.columns]
        n, smallest = int(records.sum()), int(certain_records(*(counts.sum(axis=(1, 2)) for counts in pair)).min())
        missing = _explain_missing_strata(pair, cells.point(sets)[0], member, reference_member)
        interval = limits_around(points[index], *(end[index] for end in ends), method=how.method)
        number = _build_number(float(points[index]), interval, n, missing, how.endless.format(of=member.of))
        details = _trace_pair(metric, how.over, member, reference_member, records).changed(
            strata=len(strata.labels),
            records_without_a_stratum=max(0, int(cells.records(sets).sum()) - n),
            caution=how.caution(pair) if isinstance(number, Value) else None,
            **_trace_homogeneity(pair, names, groups if member.scope == "group" else 1),
        )
        results.append(build_result(metric.key, member, number, smallest, details))
    return results


def _trace_homogeneity(pair: StrataOutcomes, names: NDArray[np.str_], groups: int) -> dict[str, Any]:
    """Test that all strata have one odds ratio, for so many groups, and those furthest apart; empty where records do not suffice."""
    of_monitored, of_reference = pair.weights * pair.density
    homogeneity = measure_homogeneity(of_monitored, of_reference)
    if homogeneity is None or not homogeneity.has_enough:
        return {}
    p_values = {
        "p_value": homogeneity.p_value,
        "tarone_p_value": homogeneity.tarone_p_value,
        "p_value_for_choice": min(1.0, groups * homogeneity.p_value),
    }
    odds = odds_ratio(of_monitored, of_reference)[homogeneity.strata]
    finite = np.flatnonzero(np.isfinite(odds))
    furthest = {
        str(names[homogeneity.strata[at]]): float(odds[at]) for at in sorted(finite, key=odds.__getitem__)[:: max(1, len(finite) - 1)]
    }
    return {
        "homogeneity": {"breslow_day": homogeneity.statistic, "degrees": len(homogeneity.strata) - 1, **p_values, "odds_ratios": furthest}
    }


def _stack_outcomes(strata: Strata, subjects: Sequence[Member]) -> StrataOutcomes:
    filled, weighting = strata.counts.any(axis=(1, 2)), strata.known
    filled_cells = (stored[filled] for stored in (strata.counts, weighting.weights, weighting.squares))
    return StrataOutcomes(*(np.stack([stored[:, list(member.columns)].sum(axis=1) for member in subjects]) for stored in filled_cells))


def _explain_missing_strata(outcomes: StrataOutcomes, everything: FloatArray, member: Member, reference_member: Member) -> str:
    """Empty if the pair has a disparity; `everything` [2, 2] includes records without a stratum."""
    counts, weights, _ = outcomes
    sides = zip(weights.sum(axis=(1, 2)), counts.sum(axis=(1, 2)), everything, (member, reference_member), strict=True)
    for weight, count, total, side in sides:
        if weight <= 0:
            return _explain_weightless(side, total) if count else f"no record{side.of} has a stratum and an outcome"
    names = ("an unfavourable", "a favourable")
    for weight, count, outcome in zip(weights.sum(axis=(0, 1)), counts.sum(axis=(0, 1)), names, strict=True):
        if weight <= 0:
            empty = f"no record of either group has {outcome} outcome"
            return f"the records of both groups with {outcome} outcome weigh nothing" if count else empty
    if not (weights.sum(axis=2) > 0).all(axis=0).any():
        return f"no stratum holds records{member.of} and{reference_member.of}, so like is nowhere compared with like"
    return ""


def _smallest(needs: Sequence[Need], cells: DrawnCells, sets: Sequence[Sequence[int]]) -> IntArray:
    smallest: IntArray = np.min([cells.certain(sets, need.of) for need in needs], axis=0)
    return smallest


def _cautious_records(needs: Sequence[Need], cells: DrawnCells, sets: Sequence[Sequence[int]]) -> IntArray | None:
    """Of figures that judge their own denominators."""
    return cells.certain(sets, _sum_cells) if any(need.is_outcome for need in needs) else None


class _Side(NamedTuple):
    weights: FloatArray
    counts: IntArray
    member: Member


def _explain_missing(needs: Sequence[Need], sides: Sequence[_Side]) -> str:
    for weights, counts, member in sides:
        for need in needs:
            if need.of(weights) <= 0:
                return _explain_weightless(member, weights) if need.of(counts) > 0 else need.empty.format(of=member.of)
    return ""


def _explain_weightless(member: Member, everything: FloatArray) -> str:
    """`everything` includes records the figure skips."""
    return f"the records{member.of} that it rests on weigh nothing" if everything.any() else f"the records{member.of} weigh nothing"


def _build_number(point: float, interval: Interval, n: int, missing: str, endless: str) -> Value | Undefined:
    if missing:
        return Undefined(missing, n)
    if not np.isfinite(point):
        return Undefined(endless or "a denominator of it is zero", n)
    lower = interval.lower if np.isfinite(interval.lower) else None
    return Value(point, lower, interval.upper, interval.method, n)


def _trace_pair(metric: Metric, over: Over, member: Member, reference_member: Member, records: IntArray) -> Details:
    return Details(
        formula=metric.formula,
        monitored=member.name,
        reference=reference_member.name,
        monitored_counts=_name_counts(over, records[0]),
        reference_counts=_name_counts(over, records[1]),
    )


def _name_counts(over: Over, records: IntArray) -> dict[str, float | None]:
    return dict(zip(_NAMES[over], records.ravel().tolist(), strict=True))
