"""Hours and records until an unfairness is found with a given probability, by simulation."""

import math

import numpy as np

from app.base.values import frozen
from app.statistics.e_values.betting import RATE_HOURS, compute_log_e_values
from app.statistics.e_values.expected_delays import Traffic, expect_growth
from app.statistics.e_values.nulls import SMALLEST_RATE, Hours, Limit, SideHours

RUNS = 1_000
"""Simulated detectors."""

MAX_HOURS = 17_520
"""Max simulated hours, two years."""


@frozen
class Delay:
    """Hours from the change to the alarm that are enough with the given probability, and the mean records
    in them.
    """

    hours: int
    records: int


def simulate_delay(limit: Limit, traffic: Traffic, monitored_rate: float, threshold: float, *, probability: float = 0.9) -> Delay | None:
    """Delay until the alarm with that probability; None beyond MAX_HOURS.

    Records are Poisson numbers; the reference rate does not change.
    """
    if expect_growth(limit.inside, traffic, monitored_rate)[0] * MAX_HOURS < math.log(threshold) / 2:
        return None
    rng = np.random.default_rng(0)
    past = np.zeros((2, RATE_HOURS, RUNS))
    past[1] = rng.poisson(traffic.reference, (RATE_HOURS, RUNS))
    past[0] = rng.binomial(past[1].astype(np.int64), traffic.rate)
    sums = bests = np.full((RUNS, 1), -np.inf)
    is_found = np.zeros(RUNS, dtype=np.bool_)
    enough, log_threshold = math.ceil(probability * RUNS), math.log(threshold)
    for hour in range(MAX_HOURS):
        rates = (past[0].sum(axis=0) + 0.5) / (past[1].sum(axis=0) + 1)
        reference = np.clip(rates, SMALLEST_RATE, 1 - SMALLEST_RATE)
        counts = [rng.poisson(mean, RUNS) for mean in (traffic.monitored, traffic.reference)]
        favourable = [rng.binomial(count, rate) for count, rate in zip(counts, (monitored_rate, traffic.rate), strict=True)]
        # Each run is passed as an hour: none sees the others.
        runs = Hours(
            *(
                SideHours(successes.astype(np.float64), count.astype(np.float64))
                for successes, count in zip(favourable, counts, strict=True)
            )
        )
        logs = compute_log_e_values(runs, limit.inside, limit.bet_outside(reference), reference[:, None])
        is_skipped = np.isnan(logs)
        sums = np.where(is_skipped, sums, logs + np.logaddexp(0.0, sums))
        bests = np.where(is_skipped, bests, logs + np.maximum(0.0, bests))
        log_sum, log_best = (np.logaddexp.reduce(logarithms, axis=1) - math.log(logarithms.shape[1]) for logarithms in (sums, bests))
        is_found |= (log_sum >= log_threshold) & (log_best >= log_threshold / 2)
        if is_found.sum() >= enough:
            return Delay(hour + 1, round((hour + 1) * (traffic.monitored + traffic.reference)))
        past[:, hour % RATE_HOURS] = favourable[1], counts[1]
    return None
