"""E-values of hours from records and their own counterfactuals."""

from dataclasses import dataclass

import numpy as np

from .hours import FloatArray
from .nulls import Direction

STAKES = np.array([0.05, 0.1, 0.2, 0.4, 0.7])
"""Shares of the capital that one record can lose at most; each is an alternative."""


@dataclass(frozen=True, slots=True, eq=False)
class PairedHours:
    """Kinds of records [K] and how many [H, K] of each an hour has.

    `monitored` [K] is the record's outcome, between 0 and 1, with the monitored value, `reference` [K] with the reference values.
    """

    monitored: FloatArray
    reference: FloatArray
    records: FloatArray


def weigh_pairs_against_fairness(hours: PairedHours, limit: float, direction: Direction) -> FloatArray:
    """Returns ln E [H, A] against the claim that the balanced ratio is inside the limit."""
    if direction is Direction.BELOW:
        return _bet(hours.records, limit * hours.reference - hours.monitored)
    return _bet(hours.records, hours.monitored / limit - hours.reference)


def weigh_pairs_against_unfairness(hours: PairedHours, limit: float, direction: Direction) -> FloatArray:
    """Returns ln E [H, A] against the claim that the balanced ratio is at the limit or beyond it."""
    if direction is Direction.BELOW:
        return _bet(hours.records, hours.monitored / limit - hours.reference)
    return _bet(hours.records, hours.reference * limit - hours.monitored)


def _bet(records: FloatArray, gains: FloatArray) -> FloatArray:
    """Returns ln of the product of 1 + stake · gain over each hour's records; NaN for an hour without records."""
    logs = records @ np.log1p(gains[:, None] * STAKES)
    return np.where(records.sum(axis=1, keepdims=True) > 0, logs, np.nan)
