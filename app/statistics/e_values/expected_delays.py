"""Hours until an alarm or a decision, expected at given rates and traffic."""

import math

import numpy as np
from scipy.special import ndtri

from ...base.values import frozen
from .betting import project
from .confidence import PairedHours, weigh_pairs
from .nulls import LOG_SHOWN_FAIR, Hours, Limit, Null

MAX_HOURS = 87_600.0
"""Ten years; of a longer time nothing is said."""

MIN_STRENGTH = 20.0
"""Threshold times growth below which the formula is too far from simulation."""


@frozen
class Traffic:
    """Mean records of an hour on both sides; `rate` is the reference's."""

    monitored: float
    reference: float
    rate: float


def expect_delay_within(
    limit: Limit,
    traffic: Traffic,
    monitored_rate: float,
    threshold: float,
    *,
    probability: float,
    divisor: float = 1.0,
) -> int | None:
    """Hours from a change to the alarm that comes within them with this probability, at least one.

    They are within 25 % of the delays that tests simulate. None inside the limit, where evidence grows too
    slowly for the formula, and beyond `MAX_HOURS`. Formula: growth · hours - z · sqrt(variance · hours) =
    ln(threshold · growth), since the sum over all starts is about exp(growth · hours) / growth.
    """
    growth, variance = expect_growth(limit.inside, traffic, monitored_rate)
    growth = growth / divisor
    variance = variance / divisor**2
    if threshold * growth < MIN_STRENGTH:
        return None
    spread = float(ndtri(probability)) * math.sqrt(variance)
    root = (spread + math.sqrt(spread**2 + 4 * growth * math.log(threshold * growth))) / (2 * growth)
    # Evidence is read at the end of an hour, on average half an hour after it would suffice.
    hours = 0.5 + root**2
    return math.ceil(hours) if hours < MAX_HOURS else None


@frozen
class EvidenceProgress:
    """Logarithms of an alarm's threshold and of the evidence so far; `divisor` is that of an hour's ln E."""

    log_threshold: float
    log_evidence: float
    log_fairness: float
    divisor: float = 1.0


def expect_more_hours(limit: Limit, recent: Hours, progress: EvidenceProgress) -> int | None:
    """Hours until an alarm or a proof of fairness, at the recent rates and traffic.

    None where a side has no records, no evidence grows, and beyond `MAX_HOURS`.
    """
    monitored, reference = (float(side.records.sum()) for side in recent.sides)
    if not monitored or not reference:
        return None
    rates = [float(side.favourable.sum() + 0.5) / float(side.records.sum() + 1) for side in recent.sides]
    traffic = Traffic(monitored / len(recent), reference / len(recent), rates[1])
    unfair, fair = (expect_growth(null, traffic, rates[0])[0] for null in (limit.inside, limit.outside))
    return _expect_hours(unfair, fair, progress)


def expect_more_paired_hours(limit: Limit, recent: PairedHours, progress: EvidenceProgress) -> int | None:
    """Hours until a decision on a counterfactual figure, as `expect_more_hours`."""
    if not recent.records.sum():
        return None
    mean_hour = PairedHours(
        recent.monitored, recent.reference, recent.records.sum(axis=0, keepdims=True) / len(recent)
    )
    unfair, fair = (max(float(logs.max()), 0.0) for logs in weigh_pairs(mean_hour, limit))
    return _expect_hours(unfair, fair, progress)


def _expect_hours(unfair: float, fair: float, progress: EvidenceProgress) -> int | None:
    unfair = unfair / progress.divisor
    fair = fair / progress.divisor
    if unfair > 0:
        growth = unfair
        # The sum over all starts exceeds the best start by a factor of about 1 / growth.
        missing = progress.log_threshold + math.log(min(growth, 1.0)) - progress.log_evidence
    elif fair > 0:
        growth = fair
        missing = LOG_SHOWN_FAIR - progress.log_fairness
    else:
        return None
    hours = max(missing, 0.0) / growth
    return max(1, math.ceil(hours)) if hours < MAX_HOURS else None


def expect_growth(null: Null, traffic: Traffic, monitored_rate: float) -> tuple[float, float]:
    """Mean and variance of an hour's ln E against a claim; both 0 within it, or without records of a side."""
    rates, records = (monitored_rate, traffic.rate), (traffic.monitored, traffic.reference)
    if not null.monitored_first:
        rates, records = rates[::-1], records[::-1]
    if rates[0] >= null.slope * rates[1] - null.slack or min(records) <= 0:
        return 0.0, 0.0
    projected = project(null, *(np.array(number) for number in (*rates, *records)))
    growth = variance = 0.0
    for n, rate, (null_rate, null_rest) in zip(records, rates, projected, strict=True):
        shares = ((rate, float(null_rate)), (1 - rate, float(null_rest)))
        terms = [(share, math.log(share / null_share)) for share, null_share in shares if share > 0]
        growth += n * sum(share * log for share, log in terms)
        # Of a Poisson number of terms the variance is the number times the mean square.
        variance += n * sum(share * log**2 for share, log in terms)
    return growth, variance
