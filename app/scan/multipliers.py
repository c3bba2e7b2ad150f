"""Multiplier of the odds that fits a set of records best."""

import numpy as np

from .cells import BoolArray, FloatArray

LOWEST = -30.0
"""Smallest logarithm of a multiplier, that of a set without favourable records."""

MAX_STEPS = 50
PRECISION = 1e-9
"""Searches end after so many Newton steps, or after a shorter one than this."""


def log_likelihood(favourable: FloatArray, records: FloatArray, expected: FloatArray, log_odds: FloatArray) -> FloatArray:
    """Ln of the likelihood [...] of a multiplier of the odds, relative to a multiplier of 1.

    It is k · ln q - Σ n · ln(1 - p + q · p), concave in ln q. `favourable` and `log_odds` are [...], `records` [..., S] by stratum;
    `expected` broadcasts with them.
    """
    shares = np.log1p(expected * np.expm1(log_odds)[..., None])
    return np.asarray(favourable * log_odds - (records * shares).sum(axis=-1))


def fit_multiplier(favourable: FloatArray, records: FloatArray, expected: FloatArray) -> FloatArray:
    """Ln q between LOWEST and 0 with the largest likelihood."""
    low, high = np.full(favourable.shape, LOWEST), np.zeros(favourable.shape)
    total = records.sum(axis=-1)
    pooled = (records * expected).sum(axis=-1) / np.maximum(total, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Exact with one stratum, close to it otherwise.
        at = np.log(favourable * (1 - pooled) / ((total - favourable) * pooled))
    at = np.clip(np.nan_to_num(at, nan=0.0, posinf=0.0, neginf=LOWEST), LOWEST, 0.0)
    if records.shape[-1] == 1:
        return np.asarray(at)
    for _ in range(MAX_STEPS):
        slope, curve = _derivatives(favourable, records, expected, at)
        low, high = np.where(slope > 0, at, low), np.where(slope < 0, at, high)
        with np.errstate(divide="ignore", invalid="ignore"):
            newton = at + slope / curve
        # A step out of the bracket is replaced by halving; NaN is never inside.
        before, at = at, np.where((newton >= low) & (newton <= high), newton, (low + high) / 2)
        if np.all(np.abs(at - before) < PRECISION):
            break
    return np.asarray(at)


def find_range(
    favourable: FloatArray, records: FloatArray, expected: FloatArray, penalty: float
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Smallest and largest ln q at which the log-likelihood exceeds the penalty, and whether it does so anywhere."""
    peak = log_likelihood(favourable, records, expected, fit_multiplier(favourable, records, expected))
    exceeds = peak > penalty + 1e-12
    left, right = np.full(favourable.shape, LOWEST), np.zeros(favourable.shape)
    some = (favourable[exceeds], records[exceeds], np.broadcast_to(expected, records.shape)[exceeds])
    # From outside: a tangent lies above a concave function, so no step passes the end of the range.
    for ends in (left, right):
        at = ends[exceeds]
        for _ in range(MAX_STEPS):
            missing = penalty - log_likelihood(*some, at)
            slope, _ = _derivatives(*some, at)
            with np.errstate(divide="ignore", invalid="ignore"):
                step = np.where(missing > 0, missing / slope, 0.0)
            at += step
            if np.all(np.abs(step) < PRECISION):
                break
        ends[exceeds] = at
    return left, right, exceeds


def _derivatives(favourable: FloatArray, records: FloatArray, expected: FloatArray, at: FloatArray) -> tuple[FloatArray, FloatArray]:
    """First derivative by ln q, and the negative second one."""
    odds = expected * np.exp(at)[..., None]
    with np.errstate(invalid="ignore"):
        rates = np.nan_to_num(odds / (1 - expected + odds), nan=0.0)
    return favourable - (records * rates).sum(axis=-1), (records * rates * (1 - rates)).sum(axis=-1)
