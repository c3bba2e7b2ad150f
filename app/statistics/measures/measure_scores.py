"""Measures probabilities: every figure of scores in each of its scopes."""

from collections.abc import Mapping, Sequence

import numpy as np

from ...domain.figure_details import Details
from ..figure_values import Measured, Undefined, Value
from ..formulas.mean_limits import IntervalEnds
from ..formulas.score_distances import GAPS, Gap
from ..formulas.score_figures import FIGURES, Figures, Known, equalized_odds, odds
from ..group_labels import FloatArray, Groups, IntArray
from ..intervals.cautions import caution
from ..tables.score_table import ScoreTable
from .figure_members import Member, build_result, members, monitored, reference

EQUALIZED_ODDS = "generalized_equalized_odds_difference"
WITHOUT_SCORES = "no record{of} has a probability of the favourable outcome"


def measure_scores(table: ScoreTable, groups: Groups, formulas: Mapping[str, str]) -> list[Measured]:
    """Wanted metrics in that order, each with its formula's text; `groups` are the table's.

    A table without groups gives overall figures only. The worst value is chosen in measure.py.

    Raises:
        KeyError: a metric is not one of scores.
    """
    subjects = members(("overall", "group", "pooled", "reference"), groups)
    sums = Known(table.sums.together([member.columns for member in subjects]), table.sums.together([range(len(table.unscored))]))
    unscored = [int(table.unscored[list(member.columns)].sum()) for member in subjects]
    results: list[Measured] = []
    with np.errstate(all="ignore"):
        for key, formula in formulas.items():
            if key == EQUALIZED_ODDS:
                results += _measure_equalized_odds(table, groups, formula)
            elif key in GAPS:
                results += _measure_gap(key, table, groups, formula, GAPS[key])
            else:
                results += _measure_sets(key, formula, FIGURES[key](sums), subjects, unscored)
    return results


def _measure_sets(key: str, formula: str, figures: Figures, subjects: Sequence[Member], unscored: Sequence[int]) -> list[Measured]:
    results = []
    for index, member in enumerate(subjects):
        traced = {name: _to_json(values[index]) for name, values in figures.details.items()}
        is_doubtful = figures.is_doubtful is not None and figures.is_doubtful[index]
        lacking = (figures.doubtful if is_doubtful else figures.lacking).format(of=member.of, **traced)
        number = _build_number(figures.points[index], figures.limits, index, figures.method, int(figures.n[index]), lacking)
        smallest = int(figures.smallest[index])
        warning = caution(smallest) if isinstance(number, Value) else None
        details = Details(formula=formula, subject=member.subject, counts=traced, unscored=unscored[index], caution=warning)
        results.append(build_result(key, member, number, smallest, details))
    return results


def _measure_equalized_odds(table: ScoreTable, groups: Groups, formula: str) -> list[Measured]:
    subjects, reference_member = monitored(groups), reference(groups)
    if not subjects:
        return []
    sums = table.sums.together([*(member.columns for member in subjects), reference_member.columns])
    points, limits = equalized_odds(sums)
    rates = odds(sums)

    results = []
    for index, member in enumerate(subjects):
        lacking = ""
        # The monitored side comes last: where both lack a label, the reason names it.
        for column, side in ((len(subjects), reference_member), (index, member)):
            if np.isnan(rates[column]).any():
                label = "an unfavourable" if np.isnan(rates[column, 0]) else "a favourable"
                lacking = f"no record{side.of} with {label} label has a probability of the favourable outcome"
        smallest, n = int(sums.counts[[index, -1]].min()), int(sums.counts[[index, -1]].sum())
        number = _build_number(points[index], limits, index, "newcombe_effective", n, lacking)
        details = Details(
            formula=formula,
            monitored=member.name,
            reference=reference_member.name,
            monitored_counts=_trace_odds(sums.counts[index], rates[index]),
            reference_counts=_trace_odds(sums.counts[-1], rates[-1]),
            caution=caution(smallest) if isinstance(number, Value) else None,
        )
        results.append(build_result(EQUALIZED_ODDS, member, number, smallest, details))
    return results


def _measure_gap(key: str, table: ScoreTable, groups: Groups, formula: str, gap: Gap) -> list[Measured]:
    subjects, reference_member = monitored(groups), reference(groups)
    if not subjects:
        return []
    everyone = [*subjects, reference_member]
    sums = table.sums.together([member.columns for member in everyone])
    gaps = gap(sums, table.sums.together([range(len(table.unscored))]))
    counts, unscored = sums.counts.sum(axis=-1), [int(table.unscored[list(member.columns)].sum()) for member in everyone]

    results = []
    for index, member in enumerate(subjects):
        # The monitored side comes first: where neither side has a score, the reason names it.
        unknown = next((side for side, n in ((member, counts[index]), (reference_member, counts[-1])) if not n), None)
        lacking = (
            gaps.lacking.format(reference=reference_member.name, **gaps.details)
            if unknown is None
            else WITHOUT_SCORES.format(of=unknown.of)
        )
        smallest, n = int(min(counts[index], counts[-1])), int(counts[index] + counts[-1])
        number = _build_number(gaps.points[index], gaps.limits, index, gaps.method, n, lacking)
        traced = [{name: _to_json(values[side]) for name, values in gaps.of_sides.items()} for side in (index, -1)]
        details = Details(
            formula=formula,
            monitored=member.name,
            reference=reference_member.name,
            counts={name: value if np.isfinite(value) else None for name, value in gaps.details.items()},
            monitored_counts=traced[0],
            reference_counts=traced[1],
            unscored=unscored[index] + unscored[-1],
            caution=caution(smallest) if isinstance(number, Value) else None,
        )
        results.append(build_result(key, member, number, smallest, details))
    return results


def _trace_odds(counts: IntArray, rates: FloatArray) -> dict[str, float | None]:
    return {
        "unfavourable_labels": int(counts[0]),
        "favourable_labels": int(counts[1]),
        "generalized_false_positive_rate": _to_json(rates[0]),
        "generalized_true_positive_rate": _to_json(rates[1]),
    }


def _build_number(point: float, limits: IntervalEnds, index: int, method: str, n: int, lacking: str) -> Value | Undefined:
    """Rounding must not push the limits past the value."""
    if not np.isfinite(point):
        return Undefined(lacking, n)
    value, lower, upper = float(point), float(limits.lower[index]), float(limits.upper[index])
    return Value(value, min(value, lower), max(value, upper) if np.isfinite(upper) else None, method, n)


def _to_json(value: np.generic) -> float | None:
    plain: float = value.item()
    return plain if np.isfinite(plain) else None
