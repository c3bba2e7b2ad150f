"""Measures figures of scores in each scope."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ...domain.check import Details
from ..formulas.score_distances import EQUALIZED_ODDS, GAPS
from ..formulas.score_figures import COUNTS, FIGURES, MAX_BINNING_ERROR, TOO_CLOSE, ScoreFigures
from ..group_labels import AnyArray, Groups
from ..intervals.intervals import Interval, IntervalEnds
from ..intervals.verdicts import Measured, Undefined, Value
from ..tables.score_table import ScoreTable
from .measure_rates import Member, build_result, build_value, list_members, list_monitored, pool_reference


def measure_scores(table: ScoreTable, groups: Groups, formulas: Mapping[str, str]) -> list[Measured]:
    """Measures the metrics that `formulas` names, in its order; `groups` are the table's.

    A table without groups gives overall figures only.

    Raises:
        KeyError: a metric is not one of scores.
    """
    subjects = list_members(("overall", "group", "pooled", "reference"), groups)
    sums = table.join_columns([member.columns for member in subjects])
    everybody = table.join_columns([range(len(table.unscored))])
    results = list[Measured]()
    with np.errstate(all="ignore"):
        for key, formula in formulas.items():
            if key in GAPS:
                results += _compare_members(key, table, everybody, groups, formula)
            else:
                figures = COUNTS[key](sums, everybody) if key in COUNTS else FIGURES[key](sums)
                results += _measure_members(key, sums, formula, figures, subjects)
    return results


def _measure_members(
    key: str, sets: ScoreTable, formula: str, figures: ScoreFigures, subjects: Sequence[Member]
) -> list[Measured]:
    results = []
    for index, member in enumerate(subjects):
        counts = _list_counts(figures.details, index)
        is_doubtful = (counts.get("binning_error") or 0.0) > MAX_BINNING_ERROR
        reason = (TOO_CLOSE if is_doubtful else figures.lacking).format(of=member.of, **counts)
        point = math.nan if is_doubtful else figures.points[index]
        number = _build_number(point, figures.limits, index, figures.method, int(figures.n[index]), reason)
        details = Details(
            formula=formula, subject=member.subject, counts=counts, unscored=int(sets.unscored[index])
        )
        results.append(build_result(key, member, number, int(figures.smallest[index]), details))
    return results


def _compare_members(
    key: str, table: ScoreTable, everybody: ScoreTable, groups: Groups, formula: str
) -> list[Measured]:
    subjects = list_monitored(groups)
    reference = pool_reference(groups)
    if not subjects:
        return []
    sums = table.join_columns([member.columns for member in (*subjects, reference)])
    gaps = GAPS[key](sums, everybody)

    results = []
    for index, member in enumerate(subjects):
        # The monitored side comes first: where both sides lack something, the reason names it.
        sides = (member, gaps.missing[index]), (reference, gaps.missing[-1])
        side_reason = next((text.format(of=side.of) for side, text in sides if text), "")
        reason = side_reason or gaps.lacking.format(reference=reference.name, **gaps.details)
        n = int(sums.counts[[index, -1]].sum())
        details = Details(
            formula=formula,
            monitored=member.name,
            reference=reference.name,
            counts={name: value if np.isfinite(value) else None for name, value in gaps.details.items()},
            monitored_counts=_list_counts(gaps.side_details, index),
            reference_counts=_list_counts(gaps.side_details, -1),
            unscored=None if key == EQUALIZED_ODDS else int(sums.unscored[[index, -1]].sum()),
        )
        number = _build_number(gaps.points[index], gaps.limits, index, gaps.method, n, reason)
        results.append(build_result(key, member, number, int(gaps.smallest[[index, -1]].min()), details))
    return results


def _list_counts(columns: Mapping[str, AnyArray], index: int) -> dict[str, float | None]:
    values = {name: column[index].item() for name, column in columns.items()}
    return {name: value if np.isfinite(value) else None for name, value in values.items()}


def _build_number(
    point: float, limits: IntervalEnds, index: int, method: str, n: int, reason: str
) -> Value | Undefined:
    if not np.isfinite(point):
        return Undefined(reason, n)
    interval = Interval(float(limits.lower[index]), float(limits.upper[index]), method)
    return build_value(float(point), interval, n)
