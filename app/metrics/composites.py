"""Measures what is more than one rate: functions of a set's cells, of a pair's, of all groups' and of strata, with drawn intervals.

Each function is evaluated once on the cells as counted and once on all draws of all groups together.
"""

from collections.abc import Sequence

import numpy as np

from app.metrics.catalogue.metric import Across, Metric, Need, OfPair, OfSet, OverStrata, PairFunction
from app.metrics.cautions import caution, caution_of_strata
from app.metrics.drawing import (
    CHUNK,
    FEWEST,
    LIMITS,
    Cells,
    intervals_of,
    intervals_of_parts,
    limits_around,
    shares_drawn,
    sum_of_squares_interval,
)
from app.metrics.evidence import Evidence
from app.metrics.groups import FloatArray, IntArray
from app.metrics.intervals import Interval
from app.metrics.members import Member, members, monitored, reference
from app.metrics.tables.strata import Strata
from app.metrics.values import Measured, Undefined, Value

NO_STRATA = "the records are not divided into strata; name the column whose values say which records are alike"
FEW_GROUPS = "fewer than two groups have labelled records"
_NAMES = {
    "confusion": (("true_negative", "false_positive"), ("false_negative", "true_positive")),
    "labels": ("unfavourable_labels", "favourable_labels"),
    "predictions": ("unfavourable", "favourable"),
}


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
    records = cells.records(sets)
    weights = cells.point(sets)[0]
    with np.errstate(all="ignore"):
        points, drawn = how.function(weights[None])[0], how.function(cells.drawn(sets))
    intervals = intervals_of(points, drawn)
    results = []
    for place, member in enumerate(whose):
        missing, smallest = _needed(how.needs, [(records[place], weights[place], member)])
        n = int(records[place].sum())
        number = _number(float(points[place]), intervals[place], n, missing or "", _endless(how.endless, member))
        details = {"formula": metric.formula, **member.named(), **_counts("", how.over, records[place])}
        results.append(_measured(metric, member, number, smallest, details))
    return results


def _pairs(metric: Metric, how: OfPair, evidence: Evidence) -> list[Measured]:
    """The function of each monitored value, and of all pooled, with the reference."""
    cells, whose, other = evidence.cells[how.over], monitored(evidence.groups), reference(evidence.groups)
    if not whose:
        return []
    sets = [*(member.columns for member in whose), other.columns]
    records = cells.records(sets)
    point, drawn = cells.point(sets), cells.drawn(sets)
    with np.errstate(all="ignore"):
        points, intervals = _of_pairs(metric, how, point, drawn)
    results = []
    for place, member in enumerate(whose):
        missing, smallest = _needed(how.needs, [(records[place], point[0, place], member), (records[-1], point[0, -1], other)])
        n = int(records[place].sum() + records[-1].sum())
        number = _number(float(points[place]), intervals[place], n, missing or "", _endless(how.endless, member))
        details = _of_two(metric, member, other) | _counts("monitored_", how.over, records[place])
        details |= _counts("reference_", how.over, records[-1])
        if how.over == "labels" and how.vanishing:
            details |= _caution(number, smallest, records[[place, -1]])
        results.append(_measured(metric, member, number, smallest, details))
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
    """The function of all groups that have records; the smallest of them decides how far the number can be trusted."""
    cells = evidence.cells[how.over]
    if not evidence.groups:
        return []
    each = [(position,) for position in range(len(evidence.groups))]
    sizes = cells.records(each).reshape(len(each), -1).sum(axis=1)
    present = np.flatnonzero(cells.point(each)[0].reshape(len(each), -1).sum(axis=1) > 0)
    details: dict[str, object] = {"formula": metric.formula, "groups": len(present), "n": int(sizes.sum())}
    member = members(("attribute",), evidence.groups)[0]
    if len(present) < 2:  # noqa: PLR2004 - a difference needs two
        return [_measured(metric, member, Undefined(FEW_GROUPS, int(sizes.sum())), 0, details)]
    sets = [(int(position),) for position in present]
    with np.errstate(all="ignore"):
        points = how.function(cells.point(sets))
        interval = _interval_across(how, float(points[0]), cells, sets)
    number = _number(float(points[0]), interval, int(sizes.sum()), "", "every labelled record was wrongly predicted unfavourable")
    smallest = int(sizes[present].min())
    details |= {"smallest_group": evidence.groups[int(present[sizes[present].argmin()])].label}
    if not how.power:
        details |= _caution(number, smallest, cells.records(sets))
    return [_measured(metric, member, number, smallest, details)]


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
    cells = evidence.cells[how.over]
    results = []
    for member in whose:
        records = cells.records([member.columns, other.columns])
        n, smallest = int(records.sum()), int(records.sum(axis=1).min())
        details = _of_two(metric, member, other) | _counts("monitored_", how.over, records[0])
        details |= _counts("reference_", how.over, records[1])
        if strata is None:
            number: Value | Undefined = Undefined(NO_STRATA, n)
        else:
            details["strata"] = len(strata.labels)
            number = _over_strata(how, strata, (member, other), n, evidence)
            details |= caution_of_strata(_lacking(strata, member, other)) if isinstance(number, Value) else {}
            details |= _caution(number, smallest, records)
        results.append(_measured(metric, member, number, smallest, details))
    return results


def _lacking(strata: Strata, *pair: Member) -> float:
    """The share of the pair's records in strata in which both have only one outcome."""
    both = strata.cells[:, [column for member in pair for column in member.columns]].sum(axis=1)
    return float(both[both.min(axis=1) <= 0].sum() / both.sum())


def _over_strata(how: OverStrata, strata: Strata, pair: tuple[Member, Member], n: int, evidence: Evidence) -> Value | Undefined:
    each = [strata.cells[:, list(member.columns)].sum(axis=1) for member in pair]
    total = (each[0] + each[1]).sum(axis=0)
    for size, member in zip((part.sum() for part in each), pair, strict=True):
        if size <= 0:
            return Undefined(f"no record{member.of} has a stratum and an outcome", n)
    for size, outcome in zip(total, ("unfavourable", "favourable"), strict=True):
        if size <= 0:
            return Undefined(f"no record of either group has {'an' if outcome[0] == 'u' else 'a'} {outcome} outcome", n)
    draws = max(FEWEST, min(evidence.draws, CHUNK // max(1, 2 * each[0].size)))
    known = evidence.cells[how.over]
    scale = float(known.weights.sum() / known.squares.sum()) if known.squares.sum() > 0 else 1.0
    drawn = shares_drawn(each[0] * scale, each[1] * scale, draws, np.random.default_rng([evidence.seed, 3]))
    with np.errstate(all="ignore"):
        point = how.function(each[0][None], each[1][None])
        interval = intervals_of(point, how.function(*drawn)[:, None])[0]
    return _number(float(point[0]), interval, n, "", "")


def _needed(needs: Sequence[Need], sides: Sequence[tuple[IntArray, FloatArray, Member]]) -> tuple[str | None, int]:
    """Why a figure has no number, or None; and the smallest number of records that one of its denominators rests on."""
    sizes = [int(need.of(records)) for records, _, _ in sides for need in needs]
    missing = [need.empty.format(of=member.of) for _, weights, member in sides for need in needs if need.of(weights) <= 0]
    return next(iter(missing), None), min(sizes, default=0)


def _number(point: float, interval: Interval, n: int, missing: str, endless: str) -> Value | Undefined:
    if missing:
        return Undefined(missing, n)
    if not np.isfinite(point):
        return Undefined(endless or "a denominator of it is zero", n)
    lower = interval.lower if np.isfinite(interval.lower) else None
    return Value(point, lower, interval.upper, interval.method, n)


def _caution(number: Value | Undefined, smallest: int, records: IntArray) -> dict[str, object]:
    """Of groups whose outcomes [..., 2], or labels and predictions [..., 2, 2], are compared."""
    each = [records] if records.ndim == 2 else [records.sum(axis=-1), records.sum(axis=-2)]  # noqa: PLR2004 - one outcome a record
    return caution(smallest, min(int(part.min()) for part in each)) if isinstance(number, Value) else {}


def _endless(endless: str, member: Member) -> str:
    return endless.format(of=member.of)


def _of_two(metric: Metric, member: Member, other: Member) -> dict[str, object]:
    return {"formula": metric.formula, "monitored": member.name, "reference": other.name}


def _counts(side: str, over: str, records: IntArray) -> dict[str, object]:
    names = np.array(_NAMES[over]).ravel()
    return {f"{side}{name}": int(count) for name, count in zip(names, records.ravel(), strict=True)}


def _measured(metric: Metric, member: Member, number: Value | Undefined, smallest: int, details: dict[str, object]) -> Measured:
    return Measured(metric=metric.key, scope=member.scope, group=member.label, number=number, smallest_group=smallest, details=details)
