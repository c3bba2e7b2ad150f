"""Measures probabilities: every figure of scores in each of its scopes."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ...domain.check import Details
from ..figure_values import Measured, Undefined, Value
from ..formulas.score_distances import EQUALIZED_ODDS, GAPS
from ..formulas.score_figures import COUNTS, FIGURES, MOST_ERROR, TOO_CLOSE, Figures
from ..group_labels import AnyArray, Groups
from ..intervals.intervals import Interval, IntervalEnds
from ..tables.score_table import ScoreSums, ScoreTable
from .measure_rates import Member, build_result, build_value, members, monitored, reference, with_caution


def measure_scores(table: ScoreTable, groups: Groups, formulas: Mapping[str, str]) -> list[Measured]:
    """In the order of `formulas`, each with its text; the worst value is chosen in measure.py.

    A table without groups gives overall figures only.
    """
    subjects = members(("overall", "group", "pooled", "reference"), groups)
    sums = table.sums.together([member.columns for member in subjects])
    everybody = table.sums.together([range(len(table.unscored))])
    results = list[Measured]()
    with np.errstate(all="ignore"):
        for key, formula in formulas.items():
            if key in GAPS:
                results += _measure_gap(key, table, everybody, groups, formula)
            else:
                figures = COUNTS[key](sums, everybody) if key in COUNTS else FIGURES[key](sums)
                results += _measure_sets(key, table, formula, figures, subjects)
    return [with_caution(result) for result in results]


def _measure_sets(
    key: str, table: ScoreTable, formula: str, figures: Figures, subjects: Sequence[Member]
) -> list[Measured]:
    results = []
    for index, member in enumerate(subjects):
        traced = _trace(figures.details, index)
        is_doubtful = (traced.get("binning_error") or 0.0) > MOST_ERROR
        lacking = (TOO_CLOSE if is_doubtful else figures.lacking).format(of=member.of, **traced)
        point = math.nan if is_doubtful else figures.points[index]
        number = _build_number(point, figures.limits, index, figures.method, int(figures.n[index]), lacking)
        details = Details(
            formula=formula,
            subject=member.subject,
            counts=traced,
            unscored=int(table.unscored[list(member.columns)].sum()),
        )
        results.append(build_result(key, member, number, int(figures.smallest[index]), details))
    return results


def _measure_gap(
    key: str, table: ScoreTable, everybody: ScoreSums, groups: Groups, formula: str
) -> list[Measured]:
    subjects = monitored(groups)
    reference_member = reference(groups)
    if not subjects:
        return []
    sums = table.sums.together([member.columns for member in (*subjects, reference_member)])
    gaps = GAPS[key](sums, everybody)

    results = []
    for index, member in enumerate(subjects):
        # The monitored side comes first: where both sides lack something, the reason names it.
        sides = (member, gaps.missing[index]), (reference_member, gaps.missing[-1])
        missing = next((text.format(of=side.of) for side, text in sides if text), "")
        lacking = missing or gaps.lacking.format(reference=reference_member.name, **gaps.details)
        n = int(sums.counts[[index, -1]].sum())
        unscored = int(table.unscored[[*member.columns, *reference_member.columns]].sum())
        details = Details(
            formula=formula,
            monitored=member.name,
            reference=reference_member.name,
            counts={name: value if np.isfinite(value) else None for name, value in gaps.details.items()},
            monitored_counts=_trace(gaps.of_sides, index),
            reference_counts=_trace(gaps.of_sides, -1),
            unscored=None if key == EQUALIZED_ODDS else unscored,
        )
        number = _build_number(gaps.points[index], gaps.limits, index, gaps.method, n, lacking)
        results.append(build_result(key, member, number, int(gaps.smallest[[index, -1]].min()), details))
    return results


def _trace(columns: Mapping[str, AnyArray], row: int) -> dict[str, float | None]:
    values = {name: column[row].item() for name, column in columns.items()}
    return {name: value if np.isfinite(value) else None for name, value in values.items()}


def _build_number(
    point: float, limits: IntervalEnds, index: int, method: str, n: int, lacking: str
) -> Value | Undefined:
    if not np.isfinite(point):
        return Undefined(lacking, n)
    upper = float(limits.upper[index])
    interval = Interval(float(limits.lower[index]), upper if np.isfinite(upper) else None, method)
    return build_value(float(point), interval, n)
