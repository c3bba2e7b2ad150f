"""Words of caution for measurements that rest on so few records that no interval keeps its promise."""

from app.metrics.verdicts import MINIMUM_GROUP_SIZE

FEWEST = 5
"""With fewer records than this on either side of a rate (counted, or not), its chance of being covered goes up and down by steps.

Wilson's interval then holds the truth between 84 and 99 times in 100, depending on the truth; from 5 on between 92 and 97.
"""

MOST_LACKING = 0.1
"""The share of the records in strata that lack one of the outcomes, beyond which the conditional metrics are cautioned.

Clarify takes the share of nothing for 0, so such strata pull the figure, and the interval with it, away from the truth.
"""


def caution(smallest_group: int, fewest: int = FEWEST) -> dict[str, object]:
    """A detail that says so, or nothing: of the smallest denominator, and of the fewest records on one side of a rate."""
    if smallest_group < MINIMUM_GROUP_SIZE:
        return {
            "caution": f"rests on {smallest_group} record{'' if smallest_group == 1 else 's'} in its smallest denominator,"
            f" fewer than {MINIMUM_GROUP_SIZE}: the interval may not hold what it promises"
        }
    if fewest < FEWEST:
        return {
            "caution": f"rests on a rate with only {fewest} on one side, counted or not counted, fewer than {FEWEST}:"
            " the interval may not hold what it promises"
        }
    return {}


def caution_of_strata(lacking: float) -> dict[str, object]:
    """A detail that says how large a share of the records lies in strata that lack one of the outcomes, or nothing."""
    if lacking <= MOST_LACKING:
        return {}
    return {
        "caution": f"{lacking:.0%} of the records are in strata that lack one of the outcomes, more than {MOST_LACKING:.0%}:"
        " the interval may not hold what it promises"
    }
