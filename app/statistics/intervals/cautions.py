"""Cautions for measurements of too few records for their interval."""

from ..formulas.conditional_disparity import StrataOutcomes
from .verdicts import MINIMUM_GROUP_SIZE

MOST_LACKING = 0.1
"""Max share of the records in strata that lack an outcome, without a caution.

As in SageMaker Clarify, the share of an outcome that nobody has counts as 0, so such strata move the
figure and its interval away from the truth.
"""


FEWEST_OF_STRATUM = 20
"""Min mean records of strata with both groups and both outcomes, without a caution on a fit with a term
for each.
"""


def caution(smallest_group: int) -> str | None:
    """Caution about the smallest denominator, if too small.

    Only the number of records counts, never their outcome: otherwise the figures without caution would be
    those that chance made large or small.
    """
    if smallest_group >= MINIMUM_GROUP_SIZE:
        return None
    records = "1 record" if smallest_group == 1 else f"{smallest_group} records"
    return (
        f"rests on {records} in its smallest denominator, fewer than {MINIMUM_GROUP_SIZE}: the interval "
        "may not hold what it promises"
    )


def caution_of_strata(pair: StrataOutcomes) -> str | None:
    """Caution with the share by weight of a pair's records in strata that lack an outcome; None where
    small.
    """
    of_strata = pair.weights.sum(0)
    lacking = float(of_strata[of_strata.min(1) <= 0].sum() / of_strata.sum())
    if lacking <= MOST_LACKING:
        return None
    share = f"{lacking:.0%} of the records are in strata that lack one of the outcomes"
    return f"{share}, more than {MOST_LACKING:.0%}: the interval may not hold what it promises"


def caution_of_terms(pair: StrataOutcomes) -> str | None:
    """Caution on few records for each stratum: a fit with a term for each then lies too far from 1."""
    informative = (pair.weights.sum(0) > 0).all(1) & (pair.weights.sum(2) > 0).all(0)
    strata = int(informative.sum())
    records = int(pair.counts[:, informative].sum())
    if records >= FEWEST_OF_STRATUM * strata:
        return None
    return (
        f"the fit has a term for each of {strata} strata of {records / strata:.1f} records on average, fewer "
        f"than {FEWEST_OF_STRATUM}: it lies too far from 1; mantel_haenszel_odds_ratio does not"
    )
