"""E-values of hours: how much better an alternative explains the counts than the closest rates of the null.

In shapes, H are the hours and A the alternatives.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from ..group_labels import FloatArray
from .nulls import SMALLEST_RATE, Hours, Limit, Lines, Null, SideHours

UNSTEADINESS_HOURS = 168
"""Hours before an hour that its divisor is measured on."""

MIN_FAVOURABLE = 3
"""Favourable records that each group of an hour needs to be compared with the last such hour."""

MAX_TERM = 25.0
"""Bound on the square of one comparison, so that one jump does not decide."""

MIN_TERMS = 24
"""With fewer comparisons the divisor is 1."""

MAX_STEADY_FACTOR = 1.3
"""Variation, as a multiple of chance, up to which the divisor is 1."""

RATE_HOURS = 48
"""Hours before an hour whose records estimate its reference rate."""

MIN_RECENT_REFERENCE_RECORDS = 50
"""With fewer, the next older hour is added whole."""

MAX_OLDER_HOURS = 50
"""Older hours that are added at most."""

FIRST_RATES = np.clip(np.sin(np.pi * (np.arange(1, 100) - 0.5) / 198) ** 2, SMALLEST_RATE, 1 - SMALLEST_RATE)
"""Quantiles of the Beta(½, ½) prior: reference rates that an hour without an estimate bets on."""

MAX_LOGIT = 40.0
"""Projections are searched between this and its negative."""

MAX_STEPS = 60
"""As many halvings leave less than 1e-16; nearly all searches end within six."""

MIN_STEP = 1e-9
"""Newton's last step; the remaining error is of the order of its square."""


def measure_unsteadiness(hours: Hours, start: int = 0) -> FloatArray:
    """Divisor [H] of ln E of each hour from `start` on: 1, or the factor by which the log-ratios of the hours
    before it vary more than chance allows.

    With it E stays an e-value, since a power below 1 of one is one.
    """
    numbers = np.arange(start, len(hours))
    divisors = np.ones(len(numbers))
    monitored, reference = (side.favourable >= MIN_FAVOURABLE for side in hours.sides)
    (usable,) = (monitored & reference).nonzero()
    if len(usable) <= MIN_TERMS:
        return divisors
    logs, variances = np.zeros((2, len(usable)))
    for side, sign in zip(hours.sides, (1, -1), strict=True):
        counted = side.favourable[usable] + 0.5
        records = side.records[usable] + 1
        logs += sign * np.log(counted / records)
        variances += 1 / counted - 1 / records
    terms = np.minimum(np.diff(logs) ** 2 / (variances[1:] + variances[:-1]), MAX_TERM)
    # A divisor that reads its own hour would not keep the bound. Both hours of a term are among the last
    # `UNSTEADINESS_HOURS`.
    first = np.searchsorted(usable[:-1], numbers - UNSTEADINESS_HOURS)
    end = np.searchsorted(usable[1:], numbers)
    count = np.maximum(end - first, 0)
    # Running sums would depend on where the series begins. The last 0 is for empty ranges.
    bounds = np.array([first, np.maximum(end, first)]).T.ravel()
    sums = np.add.reduceat(np.append(terms, 0.0), bounds)[::2]
    means = np.where(count > 0, sums, 0.0) / np.maximum(count, 1)
    return np.where((count >= MIN_TERMS) & (means > MAX_STEADY_FACTOR), means, divisors)


class HourEstimates(NamedTuple):
    """Reference rate [H], as of `estimate_rates`, and divisor [H] of ln E, from the hours before each."""

    reference: FloatArray
    unsteadiness: FloatArray


def estimate_rates(
    reference: SideHours, older: Sequence[tuple[int, float, float]] = (), start: int = 0
) -> FloatArray:
    """Reference rate before each hour from `start` on; NaN with too few records.

    `older` are hours before the series: a position below 0, favourable and all reference records.
    """
    before = np.array(older, np.float64).reshape(-1, 3)
    filled = np.flatnonzero(reference.records)
    filled_numbers = np.concatenate([before[:, 0], filled])
    favourable, records = (
        np.concatenate([[0.0], np.cumsum(np.concatenate([earlier, counts[filled]]))])
        for earlier, counts in ((before[:, 1], reference.favourable), (before[:, 2], reference.records))
    )
    numbers = np.arange(start, len(reference.records))
    end = np.searchsorted(filled_numbers, numbers)
    recent = np.searchsorted(filled_numbers, numbers - RATE_HOURS)
    enough = np.searchsorted(records, records[end] - MIN_RECENT_REFERENCE_RECORDS, side="right") - 1
    first = np.maximum(np.minimum(enough, recent), np.maximum(recent - MAX_OLDER_HOURS, 0))
    total = records[end] - records[first]
    rates = (favourable[end] - favourable[first] + 0.5) / (total + 1)
    clipped = np.clip(rates, SMALLEST_RATE, 1 - SMALLEST_RATE)
    return np.where(total < MIN_RECENT_REFERENCE_RECORDS, np.nan, clipped)


def weigh_claims(
    hours: Hours, limit: Limit, estimates: HourEstimates | None = None, divisor: FloatArray | float = 1.0
) -> tuple[FloatArray, FloatArray]:
    """Ln E [H, A] against being inside the limit, and against being at or beyond it; NaN for a skipped hour.

    A `divisor` [H] above 1 lets records that may be of one person count for less.
    """
    rates, unsteadiness = estimates or (estimate_rates(hours.reference), measure_unsteadiness(hours))
    divisors = np.broadcast_to(unsteadiness * divisor, rates.shape)
    return (
        _weigh_claim(hours, limit.inside, limit.bet_outside, rates, divisors),
        _weigh_claim(hours, limit.outside, limit.bet_inside, rates, divisors),
    )


def _weigh_claim(
    hours: Hours, null: Null, bet: Callable[[FloatArray], FloatArray], rates: FloatArray, divisors: FloatArray
) -> FloatArray:
    logs = compute_log_e_values(hours, null, bet(rates), rates[:, None]) / divisors[:, None]
    first = np.flatnonzero(np.isnan(rates) & (hours.monitored.records > 0) & (hours.reference.records > 0))
    if first.size:
        points = len(FIRST_RATES)
        repeated = hours.take(np.repeat(first, points))
        references = np.tile(FIRST_RATES, first.size)
        of_points = compute_log_e_values(repeated, null, bet(references), references[:, None])
        of_points = of_points.reshape(first.size, points, -1) / divisors[first, None, None]
        logs[first] = average_log_arrays(of_points, axis=1)
    return logs


def average_log_arrays(logs: FloatArray, axis: int | tuple[int, ...]) -> FloatArray:
    """Logarithm of the mean of numbers along an axis, from their logarithms; NaN are left out."""
    count = np.sum(~np.isnan(logs), axis=axis)
    with np.errstate(divide="ignore"):
        return np.where(
            count > 0,
            np.logaddexp.reduce(np.where(np.isnan(logs), -np.inf, logs), axis=axis) - np.log(count),
            np.nan,
        )


def compute_log_e_values(
    hours: Hours, null: Null, monitored: FloatArray, reference: FloatArray
) -> FloatArray:
    """Ln E [H, A] for rates chosen before the hour, [H, A] and [H, 1]; NaN within the null or without
    records.

    E's expectation is at most 1 for all rates within the null: its ln is concave, 0 at the projection, and
    decreases from there into the null.
    """
    first, second = (monitored, reference) if null.monitored_first else (reference, monitored)
    with np.errstate(invalid="ignore"):
        is_inside = first >= null.slope * second - null.slack
    # NaN, not 0: the sum over all starts grows by 1 in an hour whose ln E is 0.
    is_empty = (hours.monitored.records == 0) | (hours.reference.records == 0)
    logs = compare_with_line(hours, null, monitored, reference)
    return np.where(is_inside | is_empty[:, None], np.nan, logs)


def compare_with_line(
    hours: Hours, line: Null | Lines, monitored: FloatArray, reference: FloatArray
) -> FloatArray:
    """Ln of the likelihood ratio [H, A] of rates that are bet on against the closest ones on the line.

    With several lines [G] the rates are [H, 1] and the result [H, G].
    """
    order = 1 if line.monitored_first else -1
    sides, bets = hours.sides[::order], np.broadcast_arrays(monitored, reference)[::order]
    with np.errstate(divide="ignore", invalid="ignore"):
        projected = project(line, *bets, *(side.records[:, None] for side in sides))
        terms = [
            side.favourable[:, None] * np.log(bet / at.rate)
            + (side.records - side.favourable)[:, None] * (np.log1p(-bet) - np.log(at.rest))
            for side, bet, at in zip(sides, bets, projected, strict=True)
        ]
    return np.asarray(terms[0] + terms[1])


class PreciseRate(NamedTuple):
    """A rate and 1 less the rate: near 0 or 1 a subtraction would lose digits."""

    rate: FloatArray
    rest: FloatArray


def project(
    null: Null | Lines, a: FloatArray, b: FloatArray, n_a: FloatArray, n_b: FloatArray
) -> tuple[PreciseRate, PreciseRate]:
    """Rates on the null's line with the least n_a · KL(a, rate) + n_b · KL(b, rate) (Kullback-Leibler)."""
    slope, slack = np.asarray(null.slope), np.asarray(null.slack)
    if not slack.any():
        return _project_on_ratio(slope, a, b, n_a, n_b)
    low, high = np.maximum(0.0, slack / slope), np.minimum(1.0, (1 + slack) / slope)
    # At an end of the line a rate is exactly 0 or 1, which a difference of doubles would miss.
    lowest, rest = np.where(low > 0, 0.0, -slack), np.where(high < 1, 0.0, 1 - slope + slack)
    line = _Line(slope, slack, low, high, lowest, rest, low, 1 - high)
    return line.find_rates(_find_logits(line, _Bets(a, b, n_a, n_b)))


class _Line(NamedTuple):
    """Part of a line a = slope · b - slack on which both are rates: from b = `low` to b = `high`.

    `a` and `b` are at its lower end, `rest_a` and `rest_b` 1 minus those at its upper end.
    """

    slope: FloatArray
    slack: FloatArray
    low: FloatArray
    high: FloatArray
    a: FloatArray
    rest_a: FloatArray
    b: FloatArray
    rest_b: FloatArray

    def find_rates(self, logit: FloatArray) -> tuple[PreciseRate, PreciseRate]:
        """Rates at these logits of the position on the line; logits keep the digits near either end."""
        length, odds = self.high - self.low, np.exp(logit)
        down = length / (1 + odds)
        up = odds * down
        return PreciseRate(self.a + self.slope * up, self.rest_a + self.slope * down), PreciseRate(
            self.b + up, self.rest_b + down
        )


class _Bets(NamedTuple):
    """Rates that are bet on, and records, of the sides a and b of a line."""

    a: FloatArray
    b: FloatArray
    n_a: FloatArray
    n_b: FloatArray


def _find_logits(line: _Line, bets: _Bets) -> FloatArray:
    """Logits of the position where the derivative is zero; NaN where a rate is NaN.

    The derivative increases: Newton's step is taken where it stays between the enclosing logits, else their
    middle.
    """
    logit = np.array(
        np.broadcast_to(
            _guess_logits(line, bets), np.broadcast_shapes(*(array.shape for array in (*line, *bets)))
        )
    )
    solution, positions = logit, np.arange(logit.size)
    bottom, top = np.full(logit.shape, -MAX_LOGIT), np.full(logit.shape, MAX_LOGIT)
    for _ in range(MAX_STEPS):
        value, slope = _derive(line, bets, *line.find_rates(logit))
        bottom, top = np.where(value > 0, bottom, logit), np.where(value > 0, logit, top)
        step = np.divide(value, slope, out=np.full(logit.shape, np.inf), where=slope > 0)
        newton = logit - step
        # Close to the zero the sign of the derivative is rounding.
        is_found = np.abs(step) <= MIN_STEP
        logit = np.where(is_found | ((newton > bottom) & (newton < top)), newton, (bottom + top) / 2)
        solution.flat[positions] = logit.ravel()
        is_open = np.asarray(~is_found & (top > bottom))
        if not is_open.any():
            break
        columns = [np.broadcast_to(column, is_open.shape)[is_open] for column in (*line, *bets)]
        line, bets = _Line(*columns[: len(line)]), _Bets(*columns[len(line) :])
        positions, bottom, top, logit = (
            positions[is_open.ravel()],
            bottom[is_open],
            top[is_open],
            logit[is_open],
        )
    return solution


def _guess_logits(line: _Line, bets: _Bets) -> FloatArray:
    """Logit of the middle root of the derivative, a cubic of b; inexact near the ends of the line."""
    slope, slack = line.slope, line.slack
    share_a, share_b = bets.n_a / (bets.n_a + bets.n_b), bets.n_b / (bets.n_a + bets.n_b)
    # The polynomial is b³ - 3 · square · b² + linear · b - constant; three real roots by cosines (Viète).
    square = (share_a * (1 + (bets.a + slack) / slope) + share_b * ((1 + 2 * slack) / slope + bets.b)) / 3
    linear = (
        share_a * slope * (bets.a + slack)
        + share_b * (slack * (1 + slack) + bets.b * (slope * (1 + 2 * slack)))
    ) / slope**2
    constant = share_b * bets.b * (slack * (1 + slack) / slope**2)
    width = square**2 - linear / 3
    turn = (square * (square**2 - linear / 2) + constant / 2) / width**1.5
    root = square + 2 * np.sqrt(width) * np.cos((np.arccos(np.clip(turn, -1, 1)) + 4 * np.pi) / 3)
    share = np.clip((root - line.low) / (line.high - line.low), SMALLEST_RATE, 1 - SMALLEST_RATE)
    return np.asarray(np.log(share / (1 - share)))


def _derive(line: _Line, bets: _Bets, at_a: PreciseRate, at_b: PreciseRate) -> tuple[FloatArray, FloatArray]:
    """Derivative, along the line, of what `project` minimises; and the derivative of that by the logit."""
    by_logit = (at_b.rate - line.b) * (at_b.rest - line.rest_b) / (line.high - line.low)
    value = line.slope * bets.n_a * _differentiate(bets.a, at_a) + bets.n_b * _differentiate(bets.b, at_b)
    curve = line.slope**2 * bets.n_a * _differentiate_twice(bets.a, at_a) + bets.n_b * _differentiate_twice(
        bets.b, at_b
    )
    return value, curve * by_logit


def _differentiate_twice(rate: FloatArray, at: PreciseRate) -> FloatArray:
    return rate / at.rate**2 + (1 - rate) / at.rest**2


def _differentiate(rate: FloatArray, at: PreciseRate) -> FloatArray:
    difference = np.where(rate < 0.5, at.rate - rate, (1 - rate) - at.rest)  # noqa: PLR2004 - of both forms the one with more digits
    return difference / (at.rate * at.rest)


def _project_on_ratio(
    slope: FloatArray, a: FloatArray, b: FloatArray, n_a: FloatArray, n_b: FloatArray
) -> tuple[PreciseRate, PreciseRate]:
    """As `project` on a = slope · b: with slopes above 1 the sides change places."""
    is_steep = slope > 1
    if not is_steep.any():
        return _project_below(slope, a, b, n_a, n_b)
    if is_steep.all():
        return _project_below(1 / slope, b, a, n_b, n_a)[::-1]
    rates = np.empty((2, 2, len(a), len(slope)))
    for columns in (~is_steep, is_steep):
        bet_a, bet_b = (rate[:, columns] if rate.shape[1] > 1 else rate for rate in (a, b))
        rates[..., columns] = _project_on_ratio(slope[columns], bet_a, bet_b, n_a, n_b)
    return PreciseRate(*rates[0]), PreciseRate(*rates[1])


def _project_below(
    slope: FloatArray, a: FloatArray, b: FloatArray, n_a: FloatArray, n_b: FloatArray
) -> tuple[PreciseRate, PreciseRate]:
    """As `project` on a = slope · b, slope up to 1: the root of slope · total · b² - middle · b + sums."""
    total, sums = n_a + n_b, n_a * a + n_b * b
    middle = n_a * (slope + a) + n_b * (1 + slope * b)
    # Solved for 1 - b: a sum of non-negative terms, so no digits cancel.
    rest_middle = n_a * (slope - a) + n_b * (2 * slope - 1 - slope * b)
    rest_sums = n_b * (1 - slope) * (1 - b)
    root = np.sqrt(rest_middle**2 + 4 * slope * total * rest_sums)
    at_b = 2 * sums / (middle + root)
    with np.errstate(divide="ignore", invalid="ignore"):  # of the two forms of the root one may be 0 / 0
        complement = np.where(
            rest_middle >= 0, (rest_middle + root) / (2 * slope * total), 2 * rest_sums / (root - rest_middle)
        )
    return PreciseRate(slope * at_b, 1 - slope + slope * complement), PreciseRate(at_b, complement)
