"""Words of caution for measurements that rest on so few records that no interval keeps its promise."""

from app.metrics.verdicts import MINIMUM_GROUP_SIZE

MOST_LACKING = 0.1
"""The share of the records in strata that lack one of the outcomes, beyond which the conditional metrics are cautioned.

Clarify takes the share of nothing for 0, so such strata pull the figure, and the interval with it, away from the truth.
"""


def caution(smallest_group: int) -> dict[str, object]:
    """A detail that says so of the smallest denominator, or nothing.

    It looks at how many records there are and never at their outcome: of figures that differ by what came out of them, those
    without a caution would be those that chance made large or small, and their intervals would miss.
    """
    if smallest_group >= MINIMUM_GROUP_SIZE:
        return {}
    return {
        "caution": f"rests on {smallest_group} record{'' if smallest_group == 1 else 's'} in its smallest denominator,"
        f" fewer than {MINIMUM_GROUP_SIZE}: the interval may not hold what it promises"
    }


def caution_of_strata(lacking: float) -> dict[str, object]:
    """A detail that says how large a share of the records lies in strata that lack one of the outcomes, or nothing."""
    if lacking <= MOST_LACKING:
        return {}
    return {
        "caution": f"{lacking:.0%} of the records are in strata that lack one of the outcomes, more than {MOST_LACKING:.0%}:"
        " the interval may not hold what it promises"
    }
