"""The truth of a figure, counted anew from the outcomes of its world: nothing here reads a measurement's value."""

from tests.worlds.reading import Facts
from tests.worlds.world import GroupTruth

ROUNDING = 1e-9
FEWEST = 10
"""Records of a group below which nothing is judged."""


def share_of(part: int, whole: int) -> float | None:
    """Returns the part of the whole; None of nothing."""
    return part / whole if whole else None


def _favoured(group: GroupTruth) -> float | None:
    return share_of(group.favourable, group.records)


def favoured_of_deserving(group: GroupTruth) -> float | None:
    """Returns the share of the records with a favourable label that is favoured."""
    return share_of(group.tp, group.tp + group.fn)


def favoured_of_others(group: GroupTruth) -> float | None:
    """Returns the share of the records with an unfavourable label that is favoured."""
    return share_of(group.fp, group.fp + group.tn)


def both_odds(group: GroupTruth) -> float | None:
    """Returns the mean of both shares; None where one is not there."""
    odds = (favoured_of_deserving(group), favoured_of_others(group))
    return None if None in odds else sum(odds) / 2  # type: ignore[arg-type]


def _right(group: GroupTruth) -> float | None:
    return share_of(group.tp + group.tn, group.records)


FAVOURED = {
    **dict.fromkeys(
        ("disparate_impact", "statistical_parity_difference", "difference_in_positive_proportions_in_predicted_labels"), _favoured
    ),
    **dict.fromkeys(("true_positive_rate_difference", "recall_difference", "false_negative_rate_difference"), favoured_of_deserving),
    **dict.fromkeys(("false_positive_rate_ratio", "specificity_difference"), favoured_of_others),
    "average_odds_difference": both_odds,
}
"""Of each metric that says who is favoured, the share of a group's records, among like ones, that is favoured."""

RATES = {
    **FAVOURED,
    "accuracy_difference": _right,
    "error_rate_ratio": lambda group: None if group.records == 0 else 1 - (_right(group) or 0.0),
}
OTHER_WAY_ROUND = ("false_negative_rate_difference", "specificity_difference")
"""Metrics of the share that is not favoured."""

REVERSED = frozenset(
    ("difference_in_positive_proportions_in_predicted_labels", "recall_difference", "accuracy_difference", "specificity_difference")
)
"""Differences that are reference - monitored in the share that is favoured (or right)."""


def is_ratio(metric: str) -> bool:
    """Returns whether the metric divides."""
    return metric.endswith("_ratio") or metric == "disparate_impact"


def truth(facts: Facts, monitored: str, reference: str) -> float:
    """Returns the figure's true value, of two sides by their names."""
    metric, sides = facts.of.metric, facts.world.sides
    one, other = RATES[metric](sides[monitored]), RATES[metric](sides[reference])
    assert one is not None
    assert other is not None
    if is_ratio(metric):
        return one / other
    if metric == "false_negative_rate_difference":
        return other - one
    return other - one if metric in REVERSED else one - other


def names_of(facts: Facts) -> tuple[str, str]:
    """Returns the two sides that the figure compares, by name."""
    details = facts.of.details
    return str(details.monitored), str(details.reference)


def true_value(facts: Facts) -> float:
    """Returns the true value of the figure."""
    return truth(facts, *names_of(facts))


def both_limits(facts: Facts) -> tuple[float | None, float | None]:
    """Returns the limits of the figure as the world was made, a lone one with its mirror image."""
    lower, upper = facts.world.limits_of(facts.of.metric)
    if lower is not None and upper is None:
        return lower, 1 / lower if is_ratio(facts.of.metric) else -lower
    if upper is not None and lower is None:
        return 1 / upper if is_ratio(facts.of.metric) else -upper, upper
    return lower, upper


def is_below(value: float, limit: float | None) -> bool:
    """Returns whether the value is truly below the limit."""
    return limit is not None and value < limit - ROUNDING * max(1.0, abs(limit))


def is_above(value: float, limit: float | None) -> bool:
    """Returns whether the value is truly above the limit."""
    return limit is not None and value > limit + ROUNDING * max(1.0, abs(limit))


def favoured_less(facts: Facts) -> str:
    """Returns which of the two sides is favoured less, among like records."""
    monitored, reference = names_of(facts)
    share = FAVOURED[facts.of.metric]
    one, other = share(facts.world.sides[monitored]), share(facts.world.sides[reference])
    assert one is not None
    assert other is not None
    assert one != other
    return monitored if one < other else reference
