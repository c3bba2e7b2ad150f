"""E-values of hours: how much better an alternative explains an hour's counts than the closest rates that the null allows.

In shapes, H are the hours and A the alternatives.
"""

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from .hours import FloatArray, Hours, sum_before
from .nulls import SMALLEST_RATE, Limit, Lines, Null
from .unsteadiness import measure_unsteadiness

RATE_HOURS = 48
"""Hours before an hour from which the reference group's rate is estimated."""

MIN_RECENT_REFERENCE_RECORDS = 50
"""Min reference records in these hours; with fewer the hour is skipped."""

LARGEST_LOGIT = 40.0
"""The search for a projection covers logits between this and its negative."""

MOST_STEPS = 60
"""Max steps of that search: as many halvings leave less than 1e-16 of the interval. Nearly all searches end within six."""

SMALLEST_STEP = 1e-9
"""Newton's step of a logit after which a search ends: the error that remains is of the order of its square."""


_Places: TypeAlias = npt.NDArray[np.bool_]


class Past(NamedTuple):
    """Knowledge before each hour: the reference group's rate [H], NaN while too few records are known, and the divisor [H] of ln E."""

    reference: FloatArray
    divisor: FloatArray

    def since(self, hour: int) -> "Past":
        """Returns what is known before the hours from that position on."""
        return Past(self.reference[hour:], self.divisor[hour:])


def look_back(hours: Hours) -> Past:
    """Returns what is known before each hour, from at most the `unsteadiness.UNSTEADINESS_HOURS` hours before it."""
    return Past(_estimate_reference(hours), measure_unsteadiness(hours))


def weigh_against_fairness(hours: Hours, limit: Limit, past: Past | None = None) -> FloatArray:
    """Returns ln E [H, A] against the claim that the comparison is inside the limit; NaN for a skipped hour.

    Without `past`, each hour's past is the hours before it in `hours`.
    """
    known = look_back(hours) if past is None else past
    return _weigh(hours, limit.inside, limit.bet_outside(known.reference), known)


def weigh_against_unfairness(hours: Hours, limit: Limit, past: Past | None = None) -> FloatArray:
    """Returns ln E [H, A] against the claim that the comparison is at the limit or beyond it; NaN for a skipped hour."""
    known = look_back(hours) if past is None else past
    return _weigh(hours, limit.outside, limit.bet_inside(known.reference), known)


def log_e_values(hours: Hours, null: Null, monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """Returns ln E [H, A] of each hour for rates chosen before it, [H, A] and [H, 1].

    NaN where the chosen rates are within the null, so that no bet is possible, or where one of the groups has no records.

    The expectation of E is at most 1 for all rates within the null: ln of the expectation is concave in the rates, 0 at the projection,
    and decreases from there in every direction into the null.
    """
    first, second = (monitored, reference) if null.monitored_first else (reference, monitored)
    with np.errstate(invalid="ignore"):
        is_inside = first >= null.slope * second - null.slack
    # NaN, not 0: the sum over all starts grows by 1 in an hour whose ln E is 0.
    is_empty = (hours.monitored.records == 0) | (hours.reference.records == 0)
    logs = compare_with_line(hours, null, monitored, reference)
    return np.where(is_inside | is_empty[:, None], np.nan, logs)


def compare_with_line(hours: Hours, line: Null | Lines, monitored: FloatArray, reference: FloatArray) -> FloatArray:
    """Returns ln of the likelihood ratio [H, A]: of the counts at these rates, against the closest rates on the line.

    With several lines [G] the rates are [H, 1], and the result is [H, G].
    """
    sides = (hours.monitored, hours.reference) if line.monitored_first else (hours.reference, hours.monitored)
    bets = np.broadcast_arrays(*((monitored, reference) if line.monitored_first else (reference, monitored)))
    with np.errstate(divide="ignore", invalid="ignore"):
        projected = project(line, *bets, *(side.records[:, None] for side in sides))
        terms = [
            side.favourable[:, None] * np.log(bet / at.rate)
            + (side.records - side.favourable)[:, None] * (np.log1p(-bet) - np.log(at.rest))
            for side, bet, at in zip(sides, bets, projected, strict=True)
        ]
    return np.asarray(terms[0] + terms[1])


class PreciseRate(NamedTuple):
    """A rate and 1 - rate, both kept: for a rate close to 0 or 1, subtracting one from 1 loses digits of the other."""

    rate: FloatArray
    rest: FloatArray


def project(null: Null | Lines, a: FloatArray, b: FloatArray, n_a: FloatArray, n_b: FloatArray) -> tuple[PreciseRate, PreciseRate]:
    """Returns the rates on the null's line that are closest to a and b: they minimise the sum of n · KL(rate, projection)."""
    slope, slack = np.asarray(null.slope), np.asarray(null.slack)
    if not slack.any():
        return _project_on_ratio(slope, a, b, n_a, n_b)
    low, high = np.maximum(0.0, slack / slope), np.minimum(1.0, (1 + slack) / slope)
    # At an end of the line one of the two rates is exactly 0 or 1, which a difference of doubles would miss.
    edges = (
        PreciseRate(np.where(low > 0, 0.0, -slack), np.where(high < 1, 0.0, 1 - slope + slack)),
        PreciseRate(low, 1 - high),
    )
    line = _Line(slope, slack, low, high, *edges[0], *edges[1])
    return line.place(_find_logits(line, _Bets(a, b, n_a, n_b)))


class _Line(NamedTuple):
    """The part of a line a = slope · b - slack on which a and b are rates: from b = `low` to b = `high`.

    `a` and `b` are the rates at its lower end, `rest_a` and `rest_b` 1 minus them at its upper end.
    """

    slope: FloatArray
    slack: FloatArray
    low: FloatArray
    high: FloatArray
    a: FloatArray
    rest_a: FloatArray
    b: FloatArray
    rest_b: FloatArray

    def place(self, logit: FloatArray) -> tuple[PreciseRate, PreciseRate]:
        """Returns both rates at a logit of the place between the ends. On logits, rates close to either end keep their digits."""
        length, odds = self.high - self.low, np.exp(logit)
        down = length / (1 + odds)
        up = odds * down
        return PreciseRate(self.a + self.slope * up, self.rest_a + self.slope * down), PreciseRate(self.b + up, self.rest_b + down)

    def take(self, chosen: _Places) -> "_Line":
        return _Line(*(np.broadcast_to(part, chosen.shape)[chosen] for part in self))


class _Bets(NamedTuple):
    """The rates that are projected, and the records of each side."""

    a: FloatArray
    b: FloatArray
    n_a: FloatArray
    n_b: FloatArray

    def take(self, chosen: _Places) -> "_Bets":
        return _Bets(*(np.broadcast_to(part, chosen.shape)[chosen] for part in self))


def _find_logits(line: _Line, bets: _Bets) -> FloatArray:
    """Returns the logits at which the derivative along the line is zero; NaN where a rate is NaN.

    The derivative increases, so each step keeps the zero between two logits. Newton's step is taken where it stays between them, else their
    middle. Nearly all searches end with the first step.
    """
    logit = np.array(np.broadcast_to(_guess_logits(line, bets), np.broadcast_shapes(*(part.shape for part in (*line, *bets)))))
    found, places = logit, np.arange(logit.size)
    bottom, top = np.full(logit.shape, -LARGEST_LOGIT), np.full(logit.shape, LARGEST_LOGIT)
    for _ in range(MOST_STEPS):
        value, slope = _derive(line, bets, *line.place(logit))
        bottom, top = np.where(value > 0, bottom, logit), np.where(value > 0, logit, top)
        step = np.divide(value, slope, out=np.full(logit.shape, np.inf), where=slope > 0)
        newton = logit - step
        # Close to the zero the sign of the derivative is rounding, and must not send the search away.
        is_found = np.abs(step) <= SMALLEST_STEP
        logit = np.where(is_found | ((newton > bottom) & (newton < top)), newton, (bottom + top) / 2)
        found.flat[places] = logit.ravel()
        going = np.asarray(~is_found & (top > bottom))
        if not going.any():
            break
        places, line, bets = places[going.ravel()], line.take(going), bets.take(going)
        bottom, top, logit = bottom[going], top[going], logit[going]
    return found


def _guess_logits(line: _Line, bets: _Bets) -> FloatArray:
    """Returns logits close to the zero of the derivative; NaN where a rate is NaN.

    Multiplied by all its denominators, the derivative is a cubic polynomial of b. It has three real roots, of which the middle one lies
    between the ends of the line. Near the ends this root has few exact digits, so it is only a guess.
    """
    slope, slack = line.slope, line.slack
    share_a, share_b = bets.n_a / (bets.n_a + bets.n_b), bets.n_b / (bets.n_a + bets.n_b)
    # b³ - 3 · square · b² + linear · b - constant
    square = (share_a * (1 + (bets.a + slack) / slope) + share_b * ((1 + 2 * slack) / slope + bets.b)) / 3
    linear = (share_a * slope * (bets.a + slack) + share_b * (slack * (1 + slack) + bets.b * (slope * (1 + 2 * slack)))) / slope**2
    constant = share_b * bets.b * (slack * (1 + slack) / slope**2)
    width = square**2 - linear / 3
    turn = (square * (square**2 - linear / 2) + constant / 2) / width**1.5
    root = square + 2 * np.sqrt(width) * np.cos((np.arccos(np.clip(turn, -1, 1)) + 4 * np.pi) / 3)
    share = np.clip((root - line.low) / (line.high - line.low), SMALLEST_RATE, 1 - SMALLEST_RATE)
    return np.asarray(np.log(share / (1 - share)))


def _derive(line: _Line, bets: _Bets, at_a: PreciseRate, at_b: PreciseRate) -> tuple[FloatArray, FloatArray]:
    """Returns the derivative of the sum of n · KL(rate, at) along the line, and the derivative of that by the logit."""
    by_logit = (at_b.rate - line.b) * (at_b.rest - line.rest_b) / (line.high - line.low)
    value = line.slope * bets.n_a * _slope_of_entropy(bets.a, at_a) + bets.n_b * _slope_of_entropy(bets.b, at_b)
    curve = line.slope**2 * bets.n_a * _curve_of_entropy(bets.a, at_a) + bets.n_b * _curve_of_entropy(bets.b, at_b)
    return value, curve * by_logit


def _curve_of_entropy(rate: FloatArray, at: PreciseRate) -> FloatArray:
    """Returns the second derivative of KL(rate, at) by `at`."""
    return np.asarray(rate / at.rate**2 + (1 - rate) / at.rest**2)


def _slope_of_entropy(rate: FloatArray, at: PreciseRate) -> FloatArray:
    """Returns the derivative of KL(rate, at) by `at`."""
    difference = np.where(rate < 0.5, at.rate - rate, (1 - rate) - at.rest)  # noqa: PLR2004 - of both forms the one with more digits
    return np.asarray(difference / (at.rate * at.rest))


def _project_on_ratio(slope: FloatArray, a: FloatArray, b: FloatArray, n_a: FloatArray, n_b: FloatArray) -> tuple[PreciseRate, PreciseRate]:
    """Returns the projection on a = slope · b. The side whose rate is the larger on the line is computed first, the other from it."""
    is_steep = slope > 1
    if not is_steep.any():
        return _project_below(slope, a, b, n_a, n_b)
    if is_steep.all():
        return _project_below(1 / slope, b, a, n_b, n_a)[::-1]
    # Several lines [G] have rates [H, 1], which stay that small if each kind of line has arrays of its own.
    flat, steep = _project_below(slope[~is_steep], a, b, n_a, n_b), _project_below(1 / slope[is_steep], b, a, n_b, n_a)[::-1]
    found = []
    for of_flat, of_steep in zip(flat, steep, strict=True):
        rate, rest = np.empty((2, len(a), len(slope)))
        for every, one, other in ((rate, of_flat.rate, of_steep.rate), (rest, of_flat.rest, of_steep.rest)):
            every[:, ~is_steep], every[:, is_steep] = one, other
        found.append(PreciseRate(rate, rest))
    return found[0], found[1]


def _project_below(slope: FloatArray, a: FloatArray, b: FloatArray, n_a: FloatArray, n_b: FloatArray) -> tuple[PreciseRate, PreciseRate]:
    """Returns the projection on a = slope · b, where slope is at most 1: the smaller root of slope · N · b² - middle · b + sums."""
    total, sums = n_a + n_b, n_a * a + n_b * b
    middle = n_a * (slope + a) + n_b * (1 + slope * b)
    # The same equation, solved for 1 - b: here the root is of a sum of terms that are not negative, so no digits cancel.
    rest_middle = n_a * (slope - a) + n_b * (2 * slope - 1 - slope * b)
    rest_sums = n_b * (1 - slope) * (1 - b)
    root = np.sqrt(rest_middle**2 + 4 * slope * total * rest_sums)
    at_b = 2 * sums / (middle + root)
    with np.errstate(divide="ignore", invalid="ignore"):  # of the two forms of the root one may be 0 / 0
        rest = np.where(rest_middle >= 0, (rest_middle + root) / (2 * slope * total), 2 * rest_sums / (root - rest_middle))
    return PreciseRate(slope * at_b, 1 - slope + slope * rest), PreciseRate(at_b, rest)


def _estimate_reference(hours: Hours) -> FloatArray:
    """Returns the reference group's rate [H] before each hour; NaN while too few records are known."""
    records = sum_before(hours.reference.records, RATE_HOURS)
    rates = (sum_before(hours.reference.favourable, RATE_HOURS) + 0.5) / (records + 1)
    return np.where(records < MIN_RECENT_REFERENCE_RECORDS, np.nan, np.clip(rates, SMALLEST_RATE, 1 - SMALLEST_RATE))


def _weigh(hours: Hours, null: Null, monitored: FloatArray, past: Past) -> FloatArray:
    return log_e_values(hours, null, monitored, past.reference[:, None]) / past.divisor[:, None]
