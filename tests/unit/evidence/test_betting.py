"""E-values of an hour: equal to an oracle, and of expectation at most 1 wherever the claim holds."""

import math
from decimal import Decimal
from itertools import product

import numpy as np
import pytest

from app.statistics.e_values.betting import HourEstimates, compute_log_e_values, project, weigh_claims
from app.statistics.e_values.nulls import SMALLEST_RATE, Hours, Limit, Null, Scale, SideHours, UnfairSide
from tests.builders.evidence_hours import ABOVE, BELOW, simulate
from tests.builders.exact_e_values import exact_terms
from tests.builders.hours import count_hours

LIMITS = [
    BELOW,
    ABOVE,
    Limit(Scale.DIFFERENCE, UnfairSide.BELOW, -0.1, 0.1),
    Limit(Scale.DIFFERENCE, UnfairSide.ABOVE, 0.1, -0.1),
    Limit(Scale.RATIO, UnfairSide.BELOW, 0.9),
    Limit(Scale.DIFFERENCE, UnfairSide.BELOW, 0.0),
]
TABLES = 1_500
"""Here; `scripts/trial evidence` tries 10,000."""


@pytest.mark.nightly
def test_random_tables_agree_with_the_oracle() -> None:
    rng = np.random.default_rng(14)
    worst = 0.0
    for number in range(TABLES):
        limit = LIMITS[number % len(LIMITS)]
        null = limit.inside if rng.random() < 0.5 else limit.outside
        n = [int(one) for one in np.ceil(10 ** rng.uniform(0, 3, 2))]
        s = [int(rng.integers(0, count + 1)) for count in n]
        bets = rng.uniform(SMALLEST_RATE, 1 - SMALLEST_RATE, 2)
        monitored, reference = bets
        hours = count_hours([(s[0], n[0])], [(s[1], n[1])])
        ours = compute_log_e_values(hours, null, np.array([[monitored]]), np.array([[reference]]))[0, 0]
        if math.isnan(ours):
            continue
        order = [0, 1] if null.monitored_first else [1, 0]
        terms = exact_terms(((s[order[0]], n[order[0]]), (s[order[1]], n[order[1]])), null, (float(bets[order[0]]), float(bets[order[1]])))
        # Relative to the terms, because they may cancel, and a double has 16 digits of each.
        worst = max(worst, abs(float(Decimal(ours) - sum(terms))) / max(1.0, float(sum(map(abs, terms)))))
    assert worst < 1e-12


@pytest.mark.parametrize("limit", LIMITS, ids=str)
def test_the_expectation_is_at_most_1_wherever_the_claim_holds(limit: Limit) -> None:
    """By enumeration of all counts, at the boundary and within the null, for ordinary bets and bets at the clips."""
    for null, (n_a, n_b), bets in product(
        (limit.inside, limit.outside), ((12, 7), (3, 12), (1, 1)), ((0.2, 0.6), (0.5, 0.7), (SMALLEST_RATE, 1 - SMALLEST_RATE), (0.9, 0.95))
    ):
        monitored_n, reference_n = (n_a, n_b) if null.monitored_first else (n_b, n_a)
        monitored_bet, reference_bet = bets if null.monitored_first else bets[::-1]
        cells = list(product(range(monitored_n + 1), range(reference_n + 1)))
        hours = count_hours([(m, monitored_n) for m, _ in cells], [(r, reference_n) for _, r in cells])
        logs = compute_log_e_values(hours, null, np.full((len(cells), 1), monitored_bet), np.full((len(cells), 1), reference_bet))[:, 0]
        if np.isnan(logs).any():
            assert np.isnan(logs).all()
            continue
        for rate_b in np.linspace(0.001, 0.999, 60):
            edge = null.slope * rate_b - null.slack
            for rate_a in {edge, (1 + edge) / 2, 0.999}:
                if not max(edge, 0) <= rate_a <= 1 or rate_a < edge:
                    continue
                rates = (rate_a, rate_b) if null.monitored_first else (rate_b, rate_a)
                chances = [_chance(m, monitored_n, rates[0]) * _chance(r, reference_n, rates[1]) for m, r in cells]
                assert math.fsum(p * math.exp(log) for p, log in zip(chances, logs, strict=True)) <= 1 + 1e-9


def test_the_closed_form_is_where_bisection_ends() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.uniform(SMALLEST_RATE, 1 - SMALLEST_RATE, (2, 2_000, 1))
    n_a, n_b = rng.integers(1, 5_000, (2, 2_000, 1)).astype(float)
    for slope in (0.5, 0.8, 1.0, 1.25, 3.0):
        closed = project(Null(True, slope), a, b, n_a, n_b)
        halved = project(Null(True, slope, 1e-300), a, b, n_a, n_b)
        for one, other in zip(closed, halved, strict=True):
            assert np.allclose(one.rate, other.rate, rtol=0, atol=1e-9)
        assert np.all((closed[1].rate > 0) & (closed[1].rate < min(1, 1 / slope)))


def test_an_hour_does_not_choose_its_own_bet() -> None:
    hours = simulate([0.9] * 100, seed=1)
    changed = Hours(*(SideHours(side.favourable.copy(), side.records.copy()) for side in (hours.monitored, hours.reference)))
    changed.reference.favourable[60:] = 0
    for logs, of_changed in zip(weigh_claims(hours, BELOW), weigh_claims(changed, BELOW), strict=True):
        assert np.array_equal(logs[:60], of_changed[:60], equal_nan=True)


def test_nothing_is_said_without_records_of_both() -> None:
    hours = count_hours([(5, 10)] * 5 + [(0, 0)] * 2, [(10, 20)] * 5 + [(10, 20), (0, 0)])
    logs = weigh_claims(hours, BELOW)[0]

    assert not np.isnan(logs[:5]).any()
    assert np.isnan(logs[5:]).all()


@pytest.mark.parametrize("limit", LIMITS, ids=str)
@pytest.mark.parametrize("divisor", [1, 10])
def test_a_first_block_is_an_e_value_too(limit: Limit, divisor: int) -> None:
    """By enumeration; with the divisor for ten equal copies of each record, the dependence it is made for."""
    monitored, reference = 3, 4
    cells = list(product(range(monitored + 1), range(reference + 1)))
    hours = count_hours([(divisor * m, divisor * monitored) for m, _ in cells], [(divisor * r, divisor * reference) for _, r in cells])
    past = HourEstimates(np.full(len(cells), np.nan), np.ones(len(cells)))
    for null, logs in zip((limit.inside, limit.outside), weigh_claims(hours, limit, past, divisor), strict=True):
        for rate_b in np.linspace(0.01, 0.99, 15):
            rate_a = null.slope * rate_b - null.slack
            if not 0 <= rate_a <= 1:
                continue
            rates = (rate_a, rate_b) if null.monitored_first else (rate_b, rate_a)
            chances = np.array([_chance(m, monitored, rates[0]) * _chance(r, reference, rates[1]) for m, r in cells])
            values = np.where(np.isnan(logs), 1.0, np.exp(logs))
            assert (chances @ values).max() <= 1 + 1e-9


def test_an_upper_limit_that_no_rate_can_exceed_says_nothing() -> None:
    assert np.isnan(weigh_claims(simulate([1.05] * 100, seed=2, base=0.9), ABOVE)[0][1:]).all()


def _chance(successes: int, trials: int, rate: float) -> float:
    return math.comb(trials, successes) * rate**successes * (1 - rate) ** (trials - successes)
