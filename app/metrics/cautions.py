"""Cautions for measurements that rest on too few records for their interval to hold the truth as often as it should."""

from .verdicts import MINIMUM_GROUP_SIZE

MOST_LACKING = 0.1
"""Max share of the records in strata that lack one of the outcomes; above it the conditional metrics carry a caution.

As in SageMaker Clarify, the share of an outcome that nobody has counts as 0, so such strata move the figure and its interval away
from the truth.
"""


def caution(smallest_group: int) -> str | None:
    """Returns a caution about the smallest denominator; None where it holds enough records.

    Only the number of records counts, never their outcome: among figures that differ by outcome, those without a caution would
    be the ones that chance made large or small, and their intervals would miss.
    """
    if smallest_group >= MINIMUM_GROUP_SIZE:
        return None
    records = "1 record" if smallest_group == 1 else f"{smallest_group} records"
    return f"rests on {records} in its smallest denominator, fewer than {MINIMUM_GROUP_SIZE}: the interval may not hold what it promises"


def caution_of_strata(lacking: float) -> str | None:
    """Returns a caution with the share of the records in strata that lack one of the outcomes; None where it is small."""
    if lacking <= MOST_LACKING:
        return None
    share = f"{lacking:.0%} of the records are in strata that lack one of the outcomes"
    return f"{share}, more than {MOST_LACKING:.0%}: the interval may not hold what it promises"
