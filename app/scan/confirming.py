"""Candidates and their confirmation: evidence from later hours only, with a bound on false confirmations over a whole life."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ..evidence.betting import weigh_against_fairness
from ..evidence.hours import FloatArray, Hours
from ..evidence.nulls import Limit, UnfairSide
from .scanning import Subgroup

ALPHA = 0.05
"""Max chance, over all candidates that a deployment ever has, of confirming one that is inside the limit in every later hour."""

USUAL_LIMITS: Mapping[UnfairSide, float] = MappingProxyType({UnfairSide.BELOW: 0.8, UnfairSide.ABOVE: 1.25})
"""Limits of a subgroup's favourable rate as a multiple of that of all others, where none is given."""

EXPIRY_HOURS = 720
"""Hours after which a candidate that was not confirmed expires."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A subgroup that a scan found. `number` counts the candidates of the deployment from 1; `born` is the first hour after the scan."""

    number: int
    subgroup: Subgroup
    limit: Limit
    born: int

    @property
    def log_threshold(self) -> float:
        """Ln of the evidence that confirms it, π²k² / (6 · ALPHA): the chances 6 · ALPHA / (π²k²) of all numbers sum to ALPHA."""
        return math.log(math.pi**2 * self.number**2 / (6 * ALPHA))


@dataclass(frozen=True, slots=True, eq=False)
class Followup:
    """Evidence after each later hour, as a logarithm [H], up to the confirmation, the expiry or the last hour.

    `confirmed` is the position of the confirming hour in the log, `is_expired` whether EXPIRY_HOURS have passed without one.
    """

    log_evidence: FloatArray
    confirmed: int | None
    is_expired: bool


class CandidateBook:
    """Candidates of a deployment in the order of their numbers. A number is never used again."""

    def __init__(self) -> None:
        self.candidates: list[Candidate] = []

    def open(self, subgroup: Subgroup, limit: Limit, born: int) -> Candidate:
        """Returns a new candidate under the next number."""
        candidate = Candidate(len(self.candidates) + 1, subgroup, limit, born)
        self.candidates.append(candidate)
        return candidate


def follow_candidate(candidate: Candidate, strata: Sequence[Hours]) -> Followup:
    """Follows a candidate over the hours after its birth.

    `strata` are all hours of the log, for each stratum: the subgroup as the monitored side, all other records as the reference. Hours
    before the birth are used to choose bets only. The e-values of the strata are multiplied, which is an e-value of the claim that the
    limit holds in each of them; a stratum with too few records is skipped. The evidence is the mean of this product over the bets. It may
    be looked at after each hour: by Ville's inequality the chance of ever reaching the threshold is at most 1 / threshold.
    """
    later = slice(candidate.born, candidate.born + EXPIRY_HOURS)
    # NaN is a skipped hour: a factor of 1.
    logs = sum(np.nan_to_num(weigh_against_fairness(hours, candidate.limit)[later]) for hours in strata)
    products = np.cumsum(logs, axis=0)
    evidence = np.logaddexp.reduce(products, axis=1) - math.log(products.shape[1])
    reached = np.flatnonzero(evidence >= candidate.log_threshold)
    if len(reached):
        return Followup(evidence[: reached[0] + 1], candidate.born + int(reached[0]), is_expired=False)
    return Followup(evidence, None, is_expired=len(evidence) == EXPIRY_HOURS)
