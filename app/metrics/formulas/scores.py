"""Measures what probabilities say: every figure of scores in each of its scopes, under its name."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from app.metrics.cautions import caution
from app.metrics.formulas.means import Limits
from app.metrics.formulas.score_figures import FIGURES, Figures, Known, equalized_odds, odds
from app.metrics.groups import FloatArray, Groups, IntArray
from app.metrics.members import Member, members, monitored, reference
from app.metrics.tables.score_sums import ScoreSums
from app.metrics.tables.score_table import ScoreTable
from app.metrics.values import Measured, Undefined, Value

EQUALIZED_ODDS = "generalized_equalized_odds_difference"


def measure_scores(table: ScoreTable, groups: Groups, wanted: Mapping[str, str]) -> list[Measured]:
    """The wanted metrics, in that order, of `groups`, which are the table's; `wanted` has each one's formula for its details.

    Of a table without groups, everybody's only. The worst value is chosen where all metrics are (measure.py).

    Raises:
        KeyError: a metric is none of scores.
    """
    whose = members(("overall", "group", "pooled", "reference"), groups)
    known = Known(table.sums.together([member.columns for member in whose]), table.sums.together([range(len(table.unscored))]))
    unscored = [int(table.unscored[list(member.columns)].sum()) for member in whose]
    results: list[Measured] = []
    # What has no records is NaN throughout, and is told apart at the end.
    with np.errstate(all="ignore"):
        for key, formula in wanted.items():
            if key == EQUALIZED_ODDS:
                results += _equalized_odds(table, groups, formula)
            else:
                results += _sets(_Asked(key, formula), FIGURES[key](known), whose, unscored)
    return results


class _Asked(NamedTuple):
    key: str
    formula: str


def _sets(asked: _Asked, figures: Figures, whose: Sequence[Member], unscored: Sequence[int]) -> list[Measured]:
    results = []
    for place, member in enumerate(whose):
        traced = {name: _plain(values[place]) for name, values in figures.details.items()}
        details: dict[str, object] = {"formula": asked.formula, **member.named(), **traced, "unscored": unscored[place]}
        is_doubtful = figures.is_doubtful is not None and figures.is_doubtful[place]
        lacking = (figures.doubtful if is_doubtful else figures.lacking).format(of=member.of, **traced)
        number = _number(figures.points[place], _at(figures.limits, place), figures.method, int(figures.n[place]), lacking)
        results.append(_measured(asked, member, number, int(figures.smallest[place]), details))
    return results


def _equalized_odds(table: ScoreTable, groups: Groups, formula: str) -> list[Measured]:
    """Each monitored value, and all of them pooled, with the reference."""
    asked, whose, other = _Asked(EQUALIZED_ODDS, formula), monitored(groups), reference(groups)
    if not whose:
        return []
    sums = table.sums.together([*(member.columns for member in whose), other.columns])
    points, limits = equalized_odds(sums)
    rates = odds(sums)
    results = []
    for place, member in enumerate(whose):
        sides = [("monitored", place, member), ("reference", len(whose), other)]
        details: dict[str, object] = {"formula": formula, "monitored": member.name, "reference": other.name}
        for side, column, _ in sides:
            details |= _odds_details(side, sums.counts[column], rates[column])
        counts = sums.counts[[place, -1]]
        lacking = next((_lacking(each.of, sums, column) for _, column, each in sides if np.isnan(rates[column]).any()), "")
        number = _number(points[place], _at(limits, place), "newcombe_effective", int(counts.sum()), lacking)
        results.append(_measured(asked, member, number, int(counts.min()), details))
    return results


def _odds_details(side: str, counts: IntArray, rates: FloatArray) -> dict[str, object]:
    named = {"unfavourable_labels": int(counts[0]), "favourable_labels": int(counts[1])}
    means = zip(("generalized_false_positive_rate", "generalized_true_positive_rate"), rates, strict=True)
    return {f"{side}_{name}": value for name, value in (*named.items(), *((name, _plain(mean)) for name, mean in means))}


def _lacking(of: str, sums: ScoreSums, column: int) -> str:
    label = "an unfavourable" if np.isnan(odds(sums)[column, 0]) else "a favourable"
    return f"no record{of} with {label} label has a probability of the favourable outcome"


def _measured(asked: _Asked, member: Member, number: Value | Undefined, smallest: int, details: dict[str, object]) -> Measured:
    if isinstance(number, Value):
        details |= caution(smallest)
    return Measured(metric=asked.key, scope=member.scope, group=member.label, number=number, smallest_group=smallest, details=details)


def _number(point: float, ends: tuple[float, float], method: str, n: int, lacking: str) -> Value | Undefined:
    """The value with its limits, which rounding must not push past it; or what is lacking."""
    if not np.isfinite(point):
        return Undefined(lacking, n)
    value, (lower, upper) = float(point), ends
    return Value(value, min(value, lower), max(value, upper) if np.isfinite(upper) else None, method, n)


def _at(limits: Limits, place: int) -> tuple[float, float]:
    return float(limits.lower[place]), float(limits.upper[place])


def _plain(value: np.generic) -> float | None:
    """The number as JSON has it; None where there is none."""
    plain: float = value.item()
    return plain if np.isfinite(plain) else None
