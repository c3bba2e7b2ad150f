"""Measures what is more than one rate: functions of a set's cells, of a pair's, of all groups' and of strata, with drawn intervals.

Each function is evaluated once on the cells as counted and once on all draws of all groups together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from app.metrics.catalogue.metric import Across, Metric, Need, OfPair, OfSet, Over, OverStrata, PairFunction
from app.metrics.cautions import caution_of_strata
from app.metrics.drawing import (
    LIMITS,
    MOMENTS,
    Cells,
    certain_records,
    intervals_of,
    intervals_of_parts,
    limits_around,
    sum_of_squares_interval,
)
from app.metrics.evidence import Evidence
from app.metrics.formulas import conditional
from app.metrics.formulas.conditional import Outcomes
from app.metrics.groups import FloatArray, IntArray
from app.metrics.intervals import Interval
from app.metrics.members import Member, members, monitored, reference
from app.metrics.tables.strata import Strata
from app.metrics.values import Measured, Undefined, Value
from app.metrics.verdicts import MINIMUM_GROUP_SIZE

NO_STRATA = "the records are not divided into strata; name the column whose values say which records are alike"
FEW_GROUPS = "fewer than two groups have labelled records"
FEW_WEIGHING = "fewer than two groups have labelled records that weigh anything"
_CONFUSION = (("true_negative", "false_positive"), ("false_negative", "true_positive"))
_CHANGES = (("unfavourable_kept", "lifted"), ("lowered", "favourable_kept"))
_NAMES: Mapping[Over, object] = MappingProxyType(
    {
        "confusion": _CONFUSION,
        "confusion_after": _CONFUSION,
        "labels": ("unfavourable_labels", "favourable_labels"),
        "predictions": ("unfavourable", "favourable"),
        "changes": _CHANGES,
        "corrections": (("wrong_kept", "turned_right"), ("turned_wrong", "right_kept")),
        "label_changes": tuple(
            tuple(f"{label}_label_{name}" for row in _CHANGES for name in row) for label in ("unfavourable", "favourable")
        ),
    }
)
"""What the cells of a set are called among the details."""


def measure_drawn(metric: Metric, how: OfSet | OfPair | Across | OverStrata, evidence: Evidence) -> list[Measured]:
    """The metric in each of its scopes but the worst."""
    match how:
        case OfSet():
            return _sets(metric, how, evidence)
        case OfPair():
            return _pairs(metric, how, evidence)
        case Across():
            return _across(metric, how, evidence)
        case OverStrata():
            return _strata(metric, how, evidence)


def _sets(metric: Metric, how: OfSet, evidence: Evidence) -> list[Measured]:
    """The function of each set of records the metric's scopes mean."""
    cells, whose = evidence.cells[how.over], members(metric.scopes, evidence.groups)
    if not whose:
        return []
    sets = [member.columns for member in whose]
    records, weights, sizes = cells.records(sets), cells.point(sets)[0], _smallest(how.needs, cells, sets)
    cautious = _cautious_of(how.needs, cells, sets)
    with np.errstate(all="ignore"):
        points, drawn = how.function(weights[None])[0], how.function(cells.drawn(sets))
    intervals = intervals_of(points, drawn)
    results = []
    for place, member in enumerate(whose):
        missing, n = _missing(how.needs, [(weights[place], records[place], member)]), int(records[place].sum())
        number = _number(float(points[place]), intervals[place], n, missing, _endless(how.endless, member))
        details = {"formula": metric.formula, **member.named(), **_counts("", how.over, records[place]), **cells.fewer_draws(sets)}
        found = _measured(metric, member, number, int(sizes[place]), details)
        results.append(found if cautious is None else replace(found, cautious_of=int(cautious[place])))
    return results


def _pairs(metric: Metric, how: OfPair, evidence: Evidence) -> list[Measured]:
    """The function of each monitored value, and of all pooled, with the reference."""
    cells, whose, other = evidence.cells[how.over], monitored(evidence.groups), reference(evidence.groups)
    if not whose:
        return []
    sets = [*(member.columns for member in whose), other.columns]
    records, sizes, cautious = cells.records(sets), _smallest(how.needs, cells, sets), _cautious_of(how.needs, cells, sets)
    point, drawn = cells.point(sets), cells.drawn(sets)
    with np.errstate(all="ignore"):
        points, intervals = _of_pairs(metric, how, point, drawn)
    results = []
    for place, member in enumerate(whose):
        missing = _missing(how.needs, [(point[0, place], records[place], member), (point[0, -1], records[-1], other)])
        smallest = int(min(sizes[place], sizes[-1]))
        n = int(records[place].sum() + records[-1].sum())
        number = _number(float(points[place]), intervals[place], n, missing, _endless(how.endless, member))
        details = _of_two(metric, member, other) | _counts("monitored_", how.over, records[place])
        details |= _counts("reference_", how.over, records[-1]) | cells.fewer_draws(sets)
        found = _measured(metric, member, number, smallest, details)
        results.append(found if cautious is None else replace(found, cautious_of=int(min(cautious[place], cautious[-1]))))
    return results


def _of_pairs(metric: Metric, how: OfPair, point: FloatArray, drawn: FloatArray) -> tuple[FloatArray, list[Interval]]:
    """The figures of all sets but the last with the last, and their intervals."""

    def over(function: PairFunction) -> FloatArray:
        return function(drawn[:, :-1], drawn[:, -1:])

    points = how.function(point[:, :-1], point[:, -1:])[0]
    if not how.vanishing or metric.ideal is None:
        return points, intervals_of(points, over(how.function))
    signed = np.stack([over(function) for function in how.vanishing], axis=-1)
    if not how.parts:
        return points, intervals_of(points, over(how.function), metric.ideal, vanishing=signed)
    parts = np.stack([over(function) for function in how.parts], axis=-1)
    return points, intervals_of_parts(points, parts, metric.ideal, vanishing=signed, whole=how.whole)


def _across(metric: Metric, how: Across, evidence: Evidence) -> list[Measured]:
    """The function of all groups that have records, however few; the smallest of them decides how far the number can be trusted.

    Where groups of fewer than `MINIMUM_GROUP_SIZE` records stand beside two others at least, the figure of the others alone is among
    the details, too: three odd records can make the whole figure.
    """
    cells = evidence.cells[how.over]
    if not evidence.groups:
        return []
    each = [(position,) for position in range(len(evidence.groups))]
    records, sizes = _whole(cells.records(each)), cells.certain(each, _whole)
    present = np.flatnonzero(_whole(cells.point(each)[0]) > 0)
    n = int(records[present].sum())
    details: dict[str, object] = {"formula": metric.formula, "groups": len(present), "n": n}
    member = members(("attribute",), evidence.groups)[0]
    if len(present) < 2:  # noqa: PLR2004 - a difference needs two
        reason = FEW_GROUPS if np.count_nonzero(records) < 2 else FEW_WEIGHING  # noqa: PLR2004 - the same two
        return [_measured(metric, member, Undefined(reason, n), 0, details)]
    sets = [(int(position),) for position in present]
    with np.errstate(all="ignore"):
        points = how.function(cells.point(sets))
        interval = _interval_across(how, float(points[0]), cells, sets)
    number = _number(float(points[0]), interval, n, "", "every labelled record was wrongly predicted unfavourable")
    smallest = int(sizes[present].min())
    details |= {"smallest_group": evidence.groups[int(present[sizes[present].argmin()])].label}
    details |= _without_small_groups(how, cells, present, sizes)
    details |= {} if how.limits else cells.fewer_draws(sets)
    return [_measured(metric, member, number, smallest, details)]


def _without_small_groups(how: Across, cells: Cells, present: NDArray[Any], sizes: IntArray) -> dict[str, object]:
    """The figure of the larger groups alone, as details; nothing where all are large, or fewer than two. `sizes` [groups]."""
    is_large = sizes[present] >= MINIMUM_GROUP_SIZE
    large, small = present[is_large], present[~is_large]
    if not len(small) or len(large) < 2:  # noqa: PLR2004 - a difference needs two
        return {}
    with np.errstate(all="ignore"):
        point = float(how.function(cells.point([(int(position),) for position in large]))[0])
    figure = {"value_without_small_groups": point} if np.isfinite(point) else {}
    return {"small_groups": len(small), "records_of_small_groups": int(_whole(cells.counts)[small].sum()), **figure}


def _whole(cells: NDArray[Any]) -> NDArray[Any]:
    """The sum [sets] of the cells [sets, …]."""
    total: NDArray[Any] = cells.reshape(len(cells), -1).sum(axis=1)
    return total


def _interval_across(how: Across, point: float, cells: Cells, sets: Sequence[Sequence[int]]) -> Interval:
    if how.limits is not None:
        return limits_around(point, *how.limits(cells.shapes(sets)), method=LIMITS)
    drawn = how.function(cells.drawn(sets))
    if how.power:
        return sum_of_squares_interval(point, drawn, len(sets) - 1, how.power)
    interval = intervals_of(np.array([point]), drawn[:, None])[0]
    if how.reach is None or interval.upper is None:
        return interval
    lower, upper = how.reach(cells.shapes(sets))
    return limits_around(point, min(interval.lower, lower), max(interval.upper, upper), method=interval.method)


def _strata(metric: Metric, how: OverStrata, evidence: Evidence) -> list[Measured]:
    """The function of each monitored value, and of all pooled, with the reference, stratum by stratum."""
    whose, other, strata = monitored(evidence.groups), reference(evidence.groups), evidence.strata.get(how.over)
    if not whose:
        return []
    if strata is None or strata.reason:
        return [_without_strata(metric, how, evidence, (member, other), strata.reason if strata else NO_STRATA) for member in whose]
    of_each, of_other = _outcomes(strata, whose), _outcomes(strata, [other])
    with np.errstate(all="ignore"):
        points = how.function(of_each.weights, of_other.weights)
        ends = conditional.limits(of_each, of_other)
    results = []
    for place, member in enumerate(whose):
        pair = Outcomes(*(np.stack([one[place], both[0]]) for one, both in zip(of_each, of_other, strict=True)))
        records, cells, sets = pair.counts.sum(axis=1), evidence.cells[how.over], [member.columns, other.columns]
        n, smallest = int(records.sum()), int(certain_records(*(part.sum(axis=(1, 2)) for part in pair)).min())
        missing = _missing_of_strata(pair, cells.point(sets)[0], (member, other))
        interval = limits_around(points[place], *(end[place] for end in ends), method=MOMENTS)
        number = _number(float(points[place]), interval, n, missing, "")
        details = _of_two(metric, member, other) | _counts("monitored_", how.over, records[0]) | _counts("reference_", how.over, records[1])
        details |= {"strata": len(strata.labels), "records_without_a_stratum": max(0, int(cells.records(sets).sum()) - n)}
        details |= caution_of_strata(_lacking(pair.weights)) if isinstance(number, Value) else {}
        results.append(_measured(metric, member, number, smallest, details))
    return results


def _outcomes(strata: Strata, whose: Sequence[Member]) -> Outcomes:
    """The outcomes [members, S, 2] of each, in the strata that hold any record."""
    filled, known = strata.counts.any(axis=(1, 2)), strata.known
    parts = (part[filled] for part in (strata.counts, known.weights, known.squares))
    return Outcomes(*(np.stack([part[:, list(member.columns)].sum(axis=1) for member in whose]) for part in parts))


def _without_strata(metric: Metric, how: OverStrata, evidence: Evidence, pair: tuple[Member, Member], reason: str) -> Measured:
    member, other = pair
    records = evidence.cells[how.over].records([member.columns, other.columns])
    details = _of_two(metric, member, other) | _counts("monitored_", how.over, records[0]) | _counts("reference_", how.over, records[1])
    return _measured(metric, member, Undefined(reason, int(records.sum())), int(records.sum(axis=1).min()), details)


def _lacking(weights: FloatArray) -> float:
    """The share of a pair's records [2, S, 2] in strata in which both have only one outcome."""
    both = weights.sum(axis=0)
    return float(both[both.min(axis=1) <= 0].sum() / both.sum())


def _missing_of_strata(outcomes: Outcomes, everything: FloatArray, pair: tuple[Member, Member]) -> str:
    """Why a pair's records [2, S, 2] have no disparity, or nothing; `everything` [2, 2] weighs the records without a stratum, too."""
    counts, weights, _ = outcomes
    sides = zip(weights.sum(axis=(1, 2)), counts.sum(axis=(1, 2)), everything, pair, strict=True)
    for weight, count, whole, member in sides:
        if weight <= 0:
            return _weightless(member, whole) if count else f"no record{member.of} has a stratum and an outcome"
    names = ("an unfavourable", "a favourable")
    for weight, count, outcome in zip(weights.sum(axis=(0, 1)), counts.sum(axis=(0, 1)), names, strict=True):
        if weight <= 0:
            empty = f"no record of either group has {outcome} outcome"
            return f"the records of both groups with {outcome} outcome weigh nothing" if count else empty
    if not (weights.sum(axis=2) > 0).all(axis=0).any():
        return f"no stratum holds records{pair[0].of} and{pair[1].of}, so like is nowhere compared with like"
    return ""


def _smallest(needs: Sequence[Need], cells: Cells, sets: Sequence[Sequence[int]]) -> IntArray:
    """Of each set, the smallest number of records that one of its denominators rests on."""
    smallest: IntArray = np.min([cells.certain(sets, need.of) for need in needs], axis=0)
    return smallest


def _cautious_of(needs: Sequence[Need], cells: Cells, sets: Sequence[Sequence[int]]) -> IntArray | None:
    """Of each set, the records that a caution looks at where denominators are themselves what is judged; None where none is."""
    return cells.certain(sets, _whole) if any(need.is_outcome for need in needs) else None


def _missing(needs: Sequence[Need], sides: Sequence[tuple[FloatArray, IntArray, Member]]) -> str:
    """Why a figure of cells of these weights and counts has no number, or nothing."""
    for weights, counts, member in sides:
        for need in needs:
            if need.of(weights) <= 0:
                return _weightless(member, weights) if need.of(counts) > 0 else need.empty.format(of=member.of)
    return ""


def _weightless(member: Member, everything: FloatArray) -> str:
    """Why records that are there give no number; `everything` weighs all records of the set, also those that the figure passes over."""
    return f"the records{member.of} that it rests on weigh nothing" if everything.any() else f"the records{member.of} weigh nothing"


def _number(point: float, interval: Interval, n: int, missing: str, endless: str) -> Value | Undefined:
    if missing:
        return Undefined(missing, n)
    if not np.isfinite(point):
        return Undefined(endless or "a denominator of it is zero", n)
    lower = interval.lower if np.isfinite(interval.lower) else None
    return Value(point, lower, interval.upper, interval.method, n)


def _endless(endless: str, member: Member) -> str:
    return endless.format(of=member.of)


def _of_two(metric: Metric, member: Member, other: Member) -> dict[str, object]:
    return {"formula": metric.formula, "monitored": member.name, "reference": other.name}


def _counts(side: str, over: Over, records: IntArray) -> dict[str, object]:
    names = np.array(_NAMES[over]).ravel()
    return {f"{side}{name}": int(count) for name, count in zip(names, records.ravel(), strict=True)}


def _measured(metric: Metric, member: Member, number: Value | Undefined, smallest: int, details: dict[str, object]) -> Measured:
    return Measured(metric=metric.key, scope=member.scope, group=member.label, number=number, smallest_group=smallest, details=details)
